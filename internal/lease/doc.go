// Package lease decides whether the leader of a range may serve, and which replica leads next. It counts
// the support of a lease, decides on votes and campaigns, and has the format of the locks that one
// leadership exports to the next.
//
// Above it, replica asks it before it answers a read or evaluates a write, and performs the
// elections and transfers. Below it are liveness, where support comes from, and concurrency, whose
// locks are transferred.
//
// # Reading order
//
//   - Lease, Supporter: until when a leader may answer reads. Supporters: the same for many ranges
//     whose leaders have the same supporters.
//   - Election: when a replica campaigns, and whom it votes for. Rank, Electable: in which order
//     replicas campaign, and when that is of any use.
//   - Campaigns: in which order the replicas of a store campaign.
//   - Candidates, StepDown: whom a leader asks to take its place.
//   - Gate, Transfer: what keeps requests away while row locks are exported, and the record in
//     which the next leadership finds them.
//
// Each scenario has a script in testdata/leases, testdata/elections or testdata/campaigns.
//
// # Invariants
//
//  1. A read is answered only at a timestamp below which a majority of the voters, in a joint
//     configuration of both halves, has promised to elect nobody else. (Lease.Until; testdata/leases/lease)
//  2. Support counts only under the epoch under which the supporter answered in this term: it knows
//     then whom it supports. (Supporter.support; testdata/leases/lease)
//  3. A lease that was revoked covers nothing any more, whoever supports it: its leader has offered
//     the leadership to another replica. (Lease.Until; testdata/leases/lease)
//  4. Support that begins anew counts only once all that is known to be committed is applied at the
//     leader. (Supporter.NoteAnswer; testdata/leases/lease)
//  5. Row locks are exported by a leadership when no request that changes them is inside its gate,
//     and none enters before the next leadership opens it. (Gate; testdata/leases/transfer)
//  6. While the record of a transfer is there, no leadership has changed row locks since: each that
//     imports it keeps requests away until it has removed it. (Gate.Imported, Removed;
//     testdata/leases/transfer; TestLockTransferTwice in store)
//  7. While a store supports a leader, its replica of the range neither campaigns nor votes for
//     another, unless that leader asks for it by TimeoutNow. Until all support of the node's earlier
//     incarnation has expired it votes for nobody. A leadership ends with the incarnation of its node:
//     support of a later one binds nobody to it. Store.send notes the incarnation that an answer's support
//     is given to before the answer leaves, so that no leader counts support that does not bind. (Election.callForVotes,
//     needsLeader, Supports, NoteAnswer; testdata/elections/votes, leader_dies; TestLeaderStartsAgain in store)
//  8. In a range that was split off, a store votes for nobody but the leader under whom the split came
//     into the log, as long as it gives that one the support of that time and no leader is known: the
//     leader may not have applied the split, and answer reads. (Election.supportsOther;
//     testdata/elections/split)
//  9. A replica that has voted for another, or has noticed a later term, does not campaign for a while,
//     and ignores answers to its earlier question for votes: its own term would end the new leadership,
//     with the row locks. (Election.defers; testdata/elections/votes; TestLockTransferUndisturbed in
//     store)
//  10. A replica on a node that drains campaigns after all others, and is asked last to take a leadership: it
//     would only have to transfer it again. (Rank, Candidates; testdata/elections/draining,
//     testdata/leases/stepdown)
//  11. Raft is asked to transfer a leadership in its own term only, after the record of its row locks
//     was proposed or they were given up; until then it is not reclaimed. (Lease.Reclaims;
//     testdata/leases/transfer; TestLocksSurvive in sim)
//  12. A leader that steps down by its own doing, since its log is full or it is no voter any more, asks the
//     voters to campaign until a message of a later term comes: they support its store, and would wait for it.
//     (Election.stepsDown, askCandidate; testdata/elections/timeout_now; TestDemotedLeader in store)
//  13. A merge moves the row locks of the right range while neither range exports its own: it is inside both
//     gates from before it begins until it is applied or has failed. (replica.MergeIf, isMerging;
//     TestTransferDuringMerge in store)
//
// # Concurrency
//
// Lease, Supporters and Gate may be used from any goroutine; nothing here waits for a mutex. An
// Election belongs to the goroutine that processes the raft group, but for the events that say so. The
// caller guards Campaigns with a mutex.
//
// # Not here
//
// Raft's votes and messages, the clock, and when to look again: replica and raftgroup.
package lease
