// Package lease decides whether the leader of a range may serve, and which replica leads next. It counts
// the support of a lease, decides about votes and campaigns, and defines the format of the locks that one
// leadership exports to the next.
//
// Above it, replica asks it before it answers a read or evaluates a write, and carries out the
// elections and transfers. Below it are liveness, where support comes from, and concurrency, whose
// locks are transferred.
//
// # Reading order
//
//   - Lease, Supporter: until when a leader may answer reads. Supporters: the same for many ranges
//     whose leaders have the same supporters.
//   - Election: when a replica campaigns, and for whom it votes. Rank, Electable: in which order
//     replicas campaign, and which of them could win.
//   - Campaigns: in which order the replicas of a store campaign.
//   - Candidates, StepDown: which replicas a leader asks to take its place.
//   - LockGate, Transfer: the gate that excludes requests while row locks are exported, and the record
//     in which the next leadership finds the locks.
//
// Each scenario has a script in testdata/leases, testdata/elections or testdata/campaigns.
//
// # Invariants
//
//  1. A read is answered only at a timestamp below which a majority of the voters has promised to elect
//     no other leader. In a joint configuration both halves must have. (Lease.Until; testdata/leases/lease)
//  2. Support counts only under the epoch under which the supporter has answered in this term, since it
//     then knows which leader it supports. (Supporter.support; testdata/leases/lease)
//  3. A revoked lease covers nothing, whoever supports it: its leader has offered the leadership to
//     another replica. (Lease.Until; testdata/leases/lease)
//  4. Support that begins again counts only once the leader has applied everything that it knows to be
//     committed. (Supporter.NoteAnswer; testdata/leases/lease)
//  5. A leadership exports its row locks only while no request that changes them is inside its gate, and
//     none enters before the next leadership opens it. (LockGate; testdata/leases/transfer)
//  6. While the record of a transfer exists, no leadership has changed row locks since: each leadership
//     that imports it excludes requests until it has removed it. (LockGate.Imported, Removed;
//     testdata/leases/transfer; TestLockTransferTwice in store)
//  7. While a store supports a leader, its replica of the range neither campaigns nor votes for another
//     one, unless that leader asks for it by TimeoutNow. It votes for nobody until all support of the
//     node's earlier incarnation has expired. A leadership ends with the incarnation of its node: support
//     for a later incarnation binds nobody to it. Before an answer is sent, store.Store.send notes the
//     incarnation that its support is given to, so that no leader counts support that does not bind.
//     (Election.callForVotes, needsLeader, Supports, NoteAnswer; testdata/elections/votes, leader_dies;
//     TestLeaderStartsAgain in store)
//  8. In a range that was split off, a store votes only for the leader under which the split was logged,
//     as long as it still gives that leader the same support and no leader is known: that leader may not
//     have applied the split, and may answer reads. (Election.supportsOther; testdata/elections/split)
//  9. A replica that has voted for another one, or has noticed a later term, does not campaign for a while
//     and ignores answers to its earlier MsgPreVote: its own term would end the new leadership, and lose
//     its row locks. (Election.defers; testdata/elections/votes; TestLockTransferUndisturbed in store)
//  10. A replica on a draining node campaigns after all others, and is the last to be offered a leadership:
//     it would only have to transfer it again. (Rank, Candidates; testdata/elections/draining,
//     testdata/leases/stepdown)
//  11. Raft transfers a leadership only in its own term, and only after the record of its row locks was
//     proposed or the locks were given up. Until then the leader does not reclaim it. (Lease.Reclaims;
//     testdata/leases/transfer; TestLocksSurvive in sim)
//  12. A leader that steps down because its log is full or it is no longer a voter asks the voters to
//     campaign, until a message of a later term arrives: they support its store, and would wait for it.
//     (Election.stepsDown, askCandidate; testdata/elections/timeout_now; TestDemotedLeader in store)
//  13. A merge moves the row locks of the right range while neither range exports its own: it is inside
//     both gates from before it begins until it is applied or has failed. (replica.MergeIf, replica.isMerging;
//     TestTransferDuringMerge in store)
//
// # Concurrency
//
// Any goroutine may use Lease, Supporters and LockGate. Nothing here waits for a mutex. An Election belongs
// to the goroutine that processes the raft group, except for the events and methods that say otherwise.
// The caller guards Campaigns with a mutex.
//
// # Not here
//
// Raft's votes and messages, and the clock: replica and raftgroup.
package lease
