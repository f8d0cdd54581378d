// Package concurrency isolates requests from one another at a range's leader. It has the lock
// table with its wait queues, the commits in flight that reads wait for, the timestamp cache
// that commits stay above, and deadlock detection.
//
// Above it, replica calls it before it reads or proposes, and kv's coordinator keeps the list of
// a transaction's locks. Below it are only hlc, keys, lock and must. It is pure: no I/O, no
// goroutines, no timers. A request that must wait gets an object with a channel, and decides itself
// when to give up.
//
// # Reading order
//
//   - TxnID, Holder (txn.go): a transaction. Package lock has the strengths of locks.
//   - LockTable: the holders of each key (keyLock) and its fair queue of Waiters, in the hash
//     tables of lockshard.go. lockrun.go has the locks of one transaction on many keys that nobody
//     else asks for.
//   - Commits, Commit: commits in flight, which block reads of their keys. least.go finds the lowest
//     timestamp among them, timestamp.go chooses the timestamp of one.
//   - TimestampCache: the latest reads. A readMark remembers those of one key or span, keyTable
//     (tscache_keys.go) holds the marks of single keys, spanCache and spanMap those of spans.
//   - WriteMark (writemark.go): the latest writes of a range.
//   - Reservations: spans in which other transactions are asked not to begin writes for a while.
//   - WaitGraph, Wait, BlockerSource: deadlock detection over waits of any kind on one node.
//   - WaitLog, EndedWait (waitlog.go): the last waits that have ended, for operators.
//   - WaitReport, Deadlocks (report.go, cycles.go): the same over the waits of several nodes, which
//     dist collects.
//
// # Protocols
//
// A commit beside a read:
//
//	commit                                      read
//	holds the write locks
//	Commits.Begin           ── publishes ──     TimestampCache.AddKey or AddSpan
//	if Commits.Earlier returns one: Finish,
//	  wait for that one, and Begin again
//	TimestampCache.GetKeys  ──── looks ────     BlockingRead or BlockingScan: waits for what they return
//	chooses its timestamp                       opens the iterator
//	Commit.SetTimestamp
//	refreshes its reads, proposes, is applied
//	Commit.Finish
//	releases the locks
//
// Both publish before they look. So of a commit and a read that race, at least one sees the
// other: the commit moves above the read, or the read waits for the commit.
//
// A lock wait:
//
//	Acquire returns a Waiter ─▶ WaitGraph.Add ─▶ wait for Done, Wait.Victim or a timer ─▶ WaitGraph.Remove
//	                                                     ▲                      │
//	                                                     └── WaitGraph.Check ◀──┘ after 10 ms, then at
//	                                                                              doubling intervals up to 1 s
//
// A request that leaves before Done calls Waiter.Cancel. Cancel tells it whether the lock was
// granted in the meantime. While a request of a transaction waits, the transaction releases no locks:
// otherwise the graph may find a deadlock where there is none.
//
// # Invariants
//
//  1. A stronger lock conflicts with all strengths that a weaker one conflicts with, so
//     that one strength per holder is enough. (TestConflictMatrix in lock)
//  2. No two transactions hold conflicting strengths on a key. (keyLock.hold)
//  3. A key with waiters has holders, and each waiter is blocked by a holder
//     or a waiter before it: no wake-up is lost. (keyLock.advance; checkTable
//     in tests)
//  4. The lock count is the number of holdings and waiters; at the limit new
//     ones are refused and held ones stay. (LockTable.reserve; checkTable)
//  5. A commit's keys are sorted, its timestamp is set once and it finishes
//     once. (Commits.Begin, Commit.SetTimestamp, Commit.Finish)
//  6. A readMark's second timestamp is not above its latest. (TestReadMark)
//  7. TimestampCache.GetKey(key, self) is not below any read of key by another
//     transaction that was added before the call. (TestTimestampCacheModel)
//  8. Every cycle for which a victim is chosen existed as a whole at one moment.
//     (WaitGraph.confirm)
//  9. The victims that Deadlocks chooses do not depend on the order of the reports. Each is part
//     of a cycle, and without them there is none. (TestDeadlocksProperty)
//  10. Of two transactions with reservations in a range, the older one never waits for the younger
//     one's. A reservation that has expired or was given up blocks nobody. (Reservations.Against;
//     TestReservations)
//  11. Of two unfinished commits of different transactions that write the same key, the one that began
//     later learns of the earlier one. (Commits.Earlier; TestCommitsModel)
//  12. A key of a lockRun is in no other run and in no hash table. (LockTable.acquireRun, leaveRun; checkRun in tests)
//
// # Concurrency
//
// All methods of the exported types may be called concurrently. A table's
// shards, a commit set, a cache's slots and spans and a graph each have their
// own mutex, held for memory operations only. WaitGraph calls its sources with
// its mutex held, so the order is graph, then shard. To change runs all shards of a table are locked, in their
// order (LockTable.lockAll); no other two are nested.
//
// # Not here
//
// Locks that outlive a leadership (txnintent, lease), timeouts and the carrying out of waits
// (replica), the list of a transaction's locks (kv/coord), and the exchange of waits between
// nodes (dist).
package concurrency
