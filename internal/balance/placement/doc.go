// Package placement decides where the replicas and the leader of a range belong:
// a picture of the cluster goes in, the single next action for one range comes out.
//
// Above it, balance carries the actions out, and the commands and pages that tell
// what a cluster survives or what holds up a decommission call Survives and
// Explain. Below it are kvpb and the zone configurations. It is pure: no clock, no
// goroutine, no input or output, and the same input gives the same answer.
//
// # Reading order
//
//   - Store, State, Capacity, Params, Cluster: the picture.
//   - Range, Progress: what the leader knows of its range.
//   - Action, Kind, Class, Change: an answer.
//   - goal, score: what a zone configuration asks, and how well a set of stores
//     meets it: broken constraints, then diversity of voters, then leader
//     preference, then diversity of all replicas.
//   - decision: the steps in order of urgency (decide.go), which repair.go, comply.go,
//     rebalance.go and leader.go have; scatter.go: moves that somebody asked for.
//   - survive.go, explain.go, problems.go: statements for people.
//
// # How it converges
//
// An action that repairs or complies brings a range closer to its goal. An action
// that improves raises the score of one range, which counts only where replicas
// are. An action that evens out needs a difference of at least two replicas (or
// leaders) between the stores and one of them outside the band around the mean of
// the stores that would serve the range equally well: so it lowers the sum of the
// squares, and its reverse is never due after it. Moves for load end inside the
// band of both load and count. A move off a crowded disk goes to one that is less full
// even after it, and no move for counts or load crowds a disk, or goes to one
// that is noticeably fuller if both are crowded.
//
// # Invariants
//
//  1. No action leaves two replicas of a range on one node: a further store of a node
//     gets one only in place of that on another. (decision.receivers, siblings)
//  2. No action raises the number of broken constraints, but for the removal of
//     replicas beyond the number asked for when fewer can't meet them, and while a
//     leader and its successor overlap (AddVoter with From); and a receiver meets
//     all constraints that hold for every replica.
//     (decision.mayReceive, decision.bestReceiver)
//  3. No action leaves fewer healthy voters than a quorum of the new voters, and a
//     replacement keeps the number of voters. (decision.safe)
//  4. A range that lost its quorum gets no action. (decision.lostQuorum)
//  5. Only live stores that are neither draining, decommissioning nor full receive
//     a replica. (Cluster.refuses)
//  6. A leader moves only to a live voter that is caught up. (decision.mayLead)
//  7. A leader leaves a slow disk only for one that is not, and none counts as slow
//     while most are. (decision.relieveLeader, Cluster.markSlow)
//  8. Voters are added to reach an even number only if a further one can follow.
//     (decision.addVoter)
//
// # Concurrency
//
// A Cluster is used by one goroutine at a time. Decide changes nothing in it, Apply
// does.
//
// # Not here
//
// When to act, how many actions at a time, splits and merges: package balance.
package placement
