// Package concurrency decides who may proceed at a range's leader: which
// transaction holds which lock and who waits for it, which reads must wait for
// a commit in progress, above which reads a commit must go, and which
// transactions are deadlocked.
//
// Above it, replica and eval call it before they read or propose, and kv's
// coordinator remembers which locks a transaction took; below it are only hlc, lock
// and must. It is pure: no I/O, no goroutines, no timers. Who has to wait gets
// an object with a channel, and waits or gives up on its own.
//
// # Reading order
//
//   - TxnID, Holder: who locks; package lock: how strongly.
//   - LockTable: key → holders (keyLock) and a fair queue of Waiters; lockshard.go: where a key is.
//   - Commits, Commit: commits in progress, which block reads of their keys. least.go: the lowest
//     timestamp among them; timestamp.go: the choice of one.
//   - TimestampCache: what was read when; readMark is one remembered read,
//     keyTable (tscache_keys.go) holds those of single keys, spanCache and spanMap those of spans.
//   - WriteMark (writemark.go): up to when a range was written.
//   - Reservations: spans in which nobody is to begin to write for a while.
//   - WaitGraph, Wait, BlockerSource: deadlock detection over waits of any kind.
//   - WaitReport, Deadlocks: the same over the waits of several nodes (report.go,
//     cycles.go), which dist collects.
//
// # Protocols
//
// A commit: hold the write locks; Commits.Begin; Finish and begin again after the
// commit that Commits.Earlier returns, if there is one; read the timestamp cache and
// the newest versions and choose the timestamp; Commit.SetTimestamp; refresh
// reads; propose; apply; Commit.Finish; release the locks. A read: add it to
// the timestamp cache; wait while Commits.BlockingRead or BlockingScan returns
// a commit; open the iterator. Both first publish and then look, so of a
// racing commit and read at least one sees the other.
//
// A lock wait: Acquire returns a Waiter; WaitGraph.Add at once; wait for Done,
// Wait.Victim, and a timer that calls WaitGraph.Check (first after about
// 10 ms, then at doubling intervals up to a second); then WaitGraph.Remove.
// Who leaves for another reason than Done calls Waiter.Cancel, which says
// whether the lock was granted in that very moment. A transaction whose
// request waits does nothing else meanwhile that releases locks, else
// deadlocks may be seen that are none.
//
// # Invariants
//
//  1. A stronger lock conflicts with all that a weaker one conflicts with, so
//     one strength per holder says all. (TestConflictMatrix of lock)
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
//  8. Every cycle for which a victim is chosen was there at one moment.
//     (WaitGraph.confirm)
//  9. Deadlocks chooses the same victims from the same waits in whatever order, none
//     of whom is part of no cycle, and leaves no cycle. (TestDeadlocksProperty)
//  10. Of transactions that have reserved something in a range none waits for a younger one's
//     reservation, and what is expired or given up stops nobody. (Reservations.Against;
//     TestReservations)
//  11. Of two unfinished commits of different transactions that write the same key, the one that began
//     later learns of the earlier one. (Commits.Earlier; TestCommitsModel)
//
// # Concurrency
//
// All methods of the exported types may be called concurrently. A table's
// shards, a commit set, a cache's slots and spans and a graph each have their
// own mutex, held for memory operations only. WaitGraph calls its sources with
// its mutex held, so the order is graph, then shard; no other two are nested.
//
// # Not here
//
// Locks that survive a leader (spilled or staged transactions), timeouts,
// choosing timestamps, the list of a transaction's locks, and asking other nodes for
// their waits.
package concurrency
