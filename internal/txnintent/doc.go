// Package txnintent is the state machine of transactions' intents in a range: provisional versions, each
// with a durable lock, of transactions that commit in several ranges or have outgrown the buffer of
// their gateway.
//
// Above it is replica, which sends it events as the range's leader and performs the effects. Below it
// are concurrency, encoding, kvpb, keys and hlc. It is pure: an event results in a new state and a set of
// effects. It proposes nothing, reads no clock and starts no goroutine. A request that must wait gets a
// channel.
//
// # Reading order
//
//   - state.go: State, the leader's knowledge of one transaction's intents, and the rules of valid.
//   - step.go: events, effects, Step.
//   - read.go: what reads and refreshes of other transactions see of intents. resolve.go: the
//     fate of a version when its intent is resolved.
//   - table.go, tableread.go: Table, the intent table of a range, with its latches and waiters.
//   - record.go, records.go: transaction records, and the effects of pushes, ends and sweeps on them.
//   - latch.go: the order of a transaction's requests.
//   - finished.go: the finished-transaction cache. replay.go: commits that were sent again.
//   - codec.go: the stored forms. load.go: a new leadership loads them.
//   - testdata: a script for each scenario. The script transitions is the complete table of events by
//     status.
//
// # Lifecycle of a transaction's intents
//
//	           Spill             Stage, CommitHere            CommitImplicitly
//	New ───────────────▶ Pending ───────────────▶ Staging ───────────────▶ ImplicitlyCommitted
//	 │  Stage, Written      │                       ▲ │                      │         │
//	 ├──────────────────────┼───────────────────────┘ │ Decide               │ Decide  │
//	 │                      │ Decide                  ▼                      │         │
//	 │                      └───────────────▶ Committed, Aborted ◀───────────┘         │
//	 │ Leave, Decide                                  │ Resolve          Resolve at TS │
//	 └───────────────────────────────────────────▶ removed ◀───────────────────────────┘
//
// Spilled intents lie at a timestamp of their own, at SERIALIZABLE the snapshot. Reads of other
// transactions pass over them, and the state remembers the highest such read. Without one the
// transaction commits at the intents' timestamp. Otherwise it commits above the read, and its versions
// move there.
//
// Staged intents lie at the timestamp of the commit that they are part of. A read at or above them waits
// for the outcome.
//
//	status               kind     event             next                  effects
//	New                  -        Spill             Pending               propose
//	New                  -        Stage, Written    Staging               propose, sweep
//	New                  -        Leave, Decide     removed               remove
//	Pending              spilled  Spill             Pending               propose
//	Pending, Staging     spilled  Stage, CommitHere Staging               propose
//	Staging              staged   Stage, Written    Staging, new attempt  propose, sweep
//	Staging              staged   CommitImplicitly  ImplicitlyCommitted   publish-outcome
//	any before           any      Decide            Committed or Aborted  publish-outcome, start-resolver
//	Committed, Aborted   any      Resolve           removed               remove
//	ImplicitlyCommitted  staged   Resolve at TS     removed               remove
//	any                  any      Split             less, or removed      remove
//	any undecided        any      Wait              the same              start-pusher, flush
//	any                  any      Push              the same              notify
//
// # Parallel commit
//
// The gateway writes the record, which lists all keys, and the intents of all ranges at the
// same time, at one timestamp and as one attempt. The transaction has committed once
// all of them are written: it is implicitly committed. The commit becomes explicit when the
// record has the status committed. The intents are resolved afterwards.
//
//	gateway          range of the anchor               another range
//	   │── Stage ────▶ record: staging@20 {k, z}
//	   │               intent k@20
//	   │── Stage ───────────────────────────────────────▶ intent z@20
//	   │◀─ staged ────────┤◀──────────────────────────────────┤        committed, implicitly
//	   │── EndTxn ───▶ record: committed@20, k resolved
//	   │── Resolve ─────────────────────────────────────▶ z resolved
//	   │── EndTxn ───▶ record deleted
//
// A range that can't commit at the timestamp answers with its lowest possible one. The gateway then begins
// another attempt, which replaces the intents.
//
// If the gateway dies in between, a request that meets an intent pushes the transaction: it asks the
// leader of the record, which queries all keys (a recovery). If all are staged, the transaction has
// committed. Otherwise the query prevents the missing keys from being staged at that timestamp, and the
// transaction is aborted.
//
// # Invariants
//
//  1. A State satisfies the rules of State.valid. (Step asserts it)
//  2. A transaction is decided once: a committed one, implicitly or by its record, is never aborted,
//     and an aborted one never commits. (State.decide asserts it)
//  3. A read sees no version whose outcome is open, and misses none that may have been committed at
//     or below its timestamp. (State.read; testdata/parallel_commit, testdata/spill)
//  4. The table holds a transaction until it is Removed. Then all its waiters look again.
//     (Table.stepLocked asserts it; testdata/contention)
//  5. A recovery may count on the intents that it has found, under this leader or an earlier one: no
//     other attempt replaces them before the record is of that attempt. A recovery aborts a
//     transaction only once its missing keys can't be staged at that timestamp any more, under this
//     leader or a later one. (State.beginStage; replica.QueryStaged; testdata/recovery)
//  6. A transaction commits above all reads that have passed over its intents, and above its pushed
//     timestamp. (State.stage, commitHere; testdata/spill)
//  7. Intents lie within the range's bounds: a split removes the others from the table, and from
//     the writes that are being proposed. (State.split, written; MustLieWithin asserts it)
//  8. No intent lies at or below the collection threshold. (State.noteWrite, Table.Protect;
//     MustLieAbove asserts it; TestProtect)
//  9. A command that ends a transaction has a timestamp, and that of an abort is negative. Without one
//     the finished-transaction cache would take an abort for a commit. (EndTimestamp asserts it)
//  10. The finished-transaction cache knows what it may have forgotten. A commit that was sent again
//     fails only if no earlier copy of it has been or will be applied; the leadership that has found
//     this must still last afterwards. (Finished.MayHaveForgotten, ReplayFilter;
//     replica.answerEarlier; TestFinished)
//  11. If a transaction has no record, its abort becomes durable before anybody learns of it. Others
//     abort it only after the gateway has had time to send the record. (RecordState.Push, End;
//     testdata/recovery)
//  12. A request first contends for intents and then flushes deferred proposals, so that the
//     resolution of the intents is not deferred again. (State.contend; testdata/contention)
//  13. While the locks of a span are removed by one range deletion, no other transaction has or writes
//     intents there. (Table.BeginClear, Enter; TestClear)
//
// # Concurrency
//
// All methods of Table, Records, Finished, TxnSet and ReplayFilter may be called concurrently.
// Each has a mutex that is a leaf, held for memory operations only. A transaction's latch
// (Table.Enter) and its record's latch (Records.Enter) order the requests of the transaction. Both are
// shared by spills of different keys (latch.go), which change neither the record nor each other's
// intents. The record's is taken first: nothing waits for it with the latch of the intents held.
package txnintent
