// Package txnintent is the state machine of transactions' intents in a range: provisional versions, each
// with a durable lock, of transactions that commit in several ranges or have outgrown the buffer of
// their gateway.
//
// Above it is replica, which sends it events as the range's leader and performs the effects; below it
// are concurrency, kvpb and hlc. It is pure: an event results in a new state and a list of effects. It
// proposes nothing, reads no clock and starts no goroutine. A request that must wait gets a channel.
//
// # Reading order
//
//   - state.go: State, what the leader knows of one transaction's intents, and valid.
//   - step.go: events, effects, Step.
//   - read.go: how reads and refreshes of others take intents; resolve.go: what becomes of a
//     version when its intent goes.
//   - table.go, queries.go: Table, the intent table of a range, with its latches and waiters.
//   - record.go, records.go: transaction records, and what pushes, ends and sweeps do to them.
//   - finished.go: the finished-transaction cache; replay.go: commits that were sent again.
//   - codec.go: the stored forms; load.go: a new leadership loads them.
//   - testdata: a story per file. transitions is the complete table of what follows from what.
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
// Spilled intents lie at a timestamp of their own, at SERIALIZABLE the snapshot, where the transaction
// commits if nobody has read past them. Others pass over them and remember the highest read that did;
// the transaction commits above it, and its versions move there.
// Staged intents lie where the transaction commits, if it does: a read at or above them waits.
//
//	status               kind     event             next                  effects
//	New                  -        Spill             Pending               propose
//	New                  -        Stage, Written    Staging               propose, sweep
//	New                  -        Leave, Decide     removed               remove
//	Pending              spilled  Spill             Pending               propose
//	Pending, Staging     spilled  Stage, CommitHere Staging               propose
//	Staging              staged   Stage, Written    Staging, a new epoch  propose, sweep
//	Staging              staged   CommitImplicitly  ImplicitlyCommitted   announce
//	any before           any      Decide            Committed or Aborted  announce, start-resolver
//	Committed, Aborted   any      Resolve           removed               remove
//	ImplicitlyCommitted  staged   Resolve at TS     removed               remove
//	any                  any      Split             less, or removed      remove
//	any undecided        any      Wait              the same              start-pusher, flush
//	any                  any      Push              the same              notify
//
// # Parallel commit
//
// The gateway writes the record, which lists all keys, and the intents of all ranges at the
// same time, at one timestamp and as one attempt (epoch). The transaction has committed when
// all of them are there: that is the implicit commit. It becomes explicit when the record says
// so, and the intents are resolved afterwards.
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
// another attempt, which replaces the intents. If the gateway dies in between, a request that finds an
// intent pushes: it asks the leader of the record, which queries all keys (a recovery). If all are staged,
// the transaction has committed. Otherwise the query prevents the missing keys from being staged at that
// timestamp, and the transaction is aborted.
//
// # Invariants
//
//  1. No other combination exists than State.valid says. (Step asserts it)
//  2. A transaction is decided once: what has committed, implicitly or by its record, is never
//     aborted, nor the reverse. (State.decide asserts it)
//  3. No read sees a version whose outcome is open, or misses one that may have been committed
//     at or below it. (State.read; testdata/parallel_commit, testdata/spill)
//  4. The table holds a transaction as long as it is not Removed, and everybody who waits for
//     it then looks again. (Table.stepLocked asserts it; testdata/contention)
//  5. Intents that a recovery has found, or may have under another leader, are not replaced
//     by another attempt unless the record knows of that. A recovery aborts only after no missing
//     key can be staged at its timestamp any more, under this leader or the next.
//     (State.beginStage; replica.QueryStaged; testdata/recovery)
//  6. A transaction commits above all reads that went past its intents, and above what it was
//     pushed to. (State.stage, commitHere; testdata/spill)
//  7. Intents lie within the range's bounds: a split takes the rest out of the table, and out
//     of what is being proposed. (State.split, written; MustLieWithin asserts it)
//  8. No intent lies at or below the collection threshold. (State.announce, Table.Protect;
//     MustLieAbove asserts it; TestProtect)
//  9. A command that ends a transaction says when, an abort by a negative time: without a time
//     an abort would be remembered as a commit. (EndTimestamp asserts it)
//  10. How a transaction ended is forgotten only with notice. A commit that was sent again fails
//     only after it is known that no earlier copy of it has happened or will, and the leadership in
//     which that was found still stood afterwards. (Finished.MayHaveForgotten, ReplayFilter;
//     replica.answerEarlier; TestFinished)
//  11. Where there is no record an abort is made durable before anybody learns of it, and not
//     before the gateway has had time to send the record. (RecordState.Push, End;
//     testdata/recovery)
//  12. Who contends for intents says so before it has deferred commands flushed, so that their
//     resolution is not deferred again. (State.contend; testdata/contention)
//  13. While the locks of a span are removed as one, the transaction they belong to is the only one
//     that has, or writes, intents there. (Table.BeginClear, Enter; TestClear)
//
// # Concurrency
//
// All methods of Table, Records, Finished, TxnSet and ReplayFilter may be called concurrently.
// Each has a mutex that is a leaf, held for memory operations only. A transaction's latch
// (Table.Enter) and its record's (Records.Enter) order requests of the transaction: the
// record's is taken first. Nothing waits for a record with the latch of the intents held.
package txnintent
