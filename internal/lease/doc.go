// Package lease decides whether the leader of a range may serve, and who leads after it: it counts
// the support that a lease rests on, orders the candidates of an election or a step-down, and holds
// what one leadership exports to the next.
//
// Above it, replica asks it before it answers a read or evaluates a write, and performs the
// elections and transfers. Below it are liveness, where support comes from, and concurrency, whose
// locks are transferred.
//
// # Reading order
//
//   - Lease, Supporter: until when a leader may answer reads. Supporters: the same for many ranges
//     whose leaders have the same supporters.
//   - Order, Rank, Electable: who stands for election, and when that is of any use.
//   - Candidates, StepDown: whom a leader asks to take its place.
//   - Gate, Transfer: what keeps requests away while row locks are exported, and the record in
//     which the next leadership finds them.
//
// testdata/lease, testdata/stepdown and testdata/transfer tell what happens in which case.
//
// # Invariants
//
//  1. A read is answered only at a timestamp below which a majority of the voters, in a joint
//     configuration of both halves, has promised to elect nobody else. (Lease.Until; testdata/lease)
//  2. Support counts only under the epoch under which the supporter answered in this term: it knows
//     then whom it supports. (Supporter.support; testdata/lease)
//  3. A lease that was revoked covers nothing any more, whoever supports it: its leader has offered
//     the leadership to another replica. (Lease.Until; testdata/lease)
//  4. Support that begins anew counts only once all that is known to be committed is applied at the
//     leader. (Supporter.NoteAnswer; testdata/lease)
//  5. Row locks are exported by a leadership when no request that changes them is inside its gate,
//     and none enters before the next leadership opens it. (Gate; testdata/transfer)
//  6. While the record of a transfer is there, no leadership has changed row locks since: each that
//     imports it keeps requests away until it has removed it. (Gate.Imported, Removed;
//     testdata/transfer; TestLockTransferTwice in store)
//
// # Concurrency
//
// Lease, Supporters and Gate may be used from any goroutine; nothing here waits for a mutex. A
// StepDown belongs to the goroutine that processes the raft group.
//
// # Not here
//
// Raft's votes and messages, the clock, and when to look again: replica and raftgroup.
package lease
