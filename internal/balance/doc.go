// Package balance keeps the ranges that this node leads where they belong and of the
// right size: it finds the ones that need something done, has it done, and paces
// itself so that serving is not disturbed.
//
// Above it, rebalance builds a Queue and fills its interfaces: Ranges, Stores and
// Changer. Below it is placement, which decides where replicas belong. Every node
// runs one queue; the queues of different nodes don't talk to each other.
//
// # Reading order
//
//   - RangeInfo, Ranges, Stores, Changer: what the queue sees and does.
//   - Options: limits and times, each named.
//   - Queue, Step, Run: scan, start, finish (queue.go); task: one thing to do
//     (task.go); pacer: what may start when (pacer.go).
//   - LoadSplitter: counts a range's requests and finds the key that halves them.
//   - splitWhy, Mergeable: when to split and merge (resize.go).
//   - Status, Stats: for people and for metrics.
//
// # How it works
//
// A scan looks at all led ranges and lists tasks by priority: repairs first, then
// splits, then what the configuration asks, then balance, then merges. A task is
// only a hint: when its turn comes the range is looked at afresh. Moves that were
// made since the stores were measured are added to the measurements. Where several
// leaders see the same imbalance each acts with a chance that lets about as many act
// as are needed (placement.Action.Headroom). While a scan of many ranges has found nothing to do,
// nobody asks for anything and the stores have what they had, few scans are made (isIdle).
//
// # Invariants
//
//  1. At most one task per range runs at a time. (Queue.next)
//  2. At most MaxChanges membership changes, splits and merges and MaxTransfers
//     transfers run at a time, of moves that can wait at most one, and after it there
//     is a delay. (pacer.admit, pacer.delay)
//  3. Snapshots for balance start only within the byte budget, those for repairs at
//     most one burst beyond it. (pacer.admit)
//  4. After n failures in a row a range is left alone for min(2ⁿ⁻¹·BackoffMin, BackoffMax).
//     (Queue.finish)
//  5. What a load split makes is not merged again before it is far less busy and
//     MergeAfter has passed. (Queue.mayMerge, Mergeable, Options.fill)
//
// # Concurrency
//
// Step and Run may not be used at the same time; every other method of Queue may be
// called at any time. The queue's mutex is held for memory operations and calls of
// Ranges.Led, Ranges.Get and Stores, which must not call back. LoadSplitter.Record
// may be called concurrently with everything and never waits.
//
// # Not here
//
// How a membership change, a transfer, a split or a merge is carried out.
package balance
