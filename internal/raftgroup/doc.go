// Package raftgroup runs one raft group: it decides which goroutine processes the group and in
// which order, what goes into an entry, who hears what became of a command, and when a leader is
// idle.
//
// Above it, replica is the Host that carries its decisions out: it applies entries, sends messages,
// begins and ends leaderships. Below it are raft, the store's raftlog and the format of entries
// (apply).
//
// # Reading order
//
//   - Group, Host: the picture of group processing (group.go), what raft asks for (ready.go), a
//     command from its proposal to its outcome (propose.go).
//   - Queue: who processes the group; deferred proposals. Proposal, Fence: what is in it.
//   - InFlight: entries between proposal and application, and who waits for them.
//   - Quiescence: when a leader is idle.
//   - LogView: the group's part of the store's log, as raft sees it.
//
// testdata/queue, testdata/inflight and testdata/group tell what happens in which case.
//
// # Invariants
//
//  1. One goroutine at a time processes a group, none before it was started. (Queue.acquire, Start;
//     testdata/queue)
//  2. A hand-off is not lost: a proposer that was told to process the group does not withdraw.
//     (Queue.Next, Withdraw; testdata/queue)
//  3. Raft learns that entries, term or vote are durable only after the sync that covers them; after
//     a write that failed it learns nothing any more. (Group.append, Group.broken)
//  4. Only entries that are committed and locally durable are applied; raft hands out no others
//     with AsyncStorageWrites. (Group.beginLeadership)
//  5. Whoever waits for a command hears of it when it was applied, or when another entry has taken
//     its place or may have. (InFlight; testdata/inflight)
//  6. A leader goes idle only when each follower whose store is there has said that it knows all to
//     be committed, looking once more after it has said that it is idle: one that missed it, or came
//     back just then, would never hear it. (Group.TickLeader; TestRestMeetsReturn,
//     TestRestTellsCommit in store)
//  7. Nothing is written for a group that was stopped once AwaitIdle has returned, not even by a
//     disk that takes its time. (Queue.AwaitIdle; TestStopWaits in store)
//  8. A command has no effect under another lease or other bounds than its fence names.
//     (InFlight.Compose; bounds: apply.Applier)
//  9. A deferred proposal waits no longer than MaxDelay, and not at all once somebody waits for it:
//     who does so flushes, and who defers has counted the flushes before looking whether somebody
//     does. (Queue.Defer; testdata/queue)
//  10. A replica leads without asking others only if no change of membership is left in its log that
//     would add a voter. (Group.Begin)
//
// # Concurrency
//
// Queue may be used from any goroutine, but for what is said to belong to the processing goroutine,
// and so may Group's Propose and those after it, Await, Post, Do, Run and Flush. All else belongs to
// the processing goroutine. Queue's mutex is a leaf, held for slice operations only.
//
// # Not here
//
// Leases and elections (package lease), the state machine, snapshots, membership.
package raftgroup
