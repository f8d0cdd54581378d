// Package raftgroup runs one raft group on top of etcd's raft. It decides which goroutine processes the
// group, which commands share an entry, what outcome each proposer gets, and when a leader is idle.
//
// Its Host, package replica, carries out the decisions: it applies entries, sends messages, begins and
// ends leaderships. Below it are raft, the store's log (raftlog) and the format of entries (apply).
//
// # Reading order
//
//   - Group, Host: the diagram of group processing (group.go), the processing of a Ready (ready.go), a
//     command from its proposal to its outcome (propose.go).
//   - Queue: the processing goroutine, deferred proposals. Proposal, Fence: the elements of the queue.
//   - InFlight: entries between proposal and application, and the proposers who wait for them.
//   - Quiescence: when a leader is idle.
//   - LogView: the group's part of the store's log, as a raft.Storage.
//   - LongWrites: the bytes of long writes that all groups of a store may have in flight.
//
// Each scenario has a script in testdata/queue, testdata/inflight or testdata/group.
//
// # Invariants
//
//  1. At most one goroutine processes a group at a time, and none before the group was started.
//     (Queue.acquire, Start; testdata/queue)
//  2. A hand-off is never lost: a proposer that was made the processing goroutine can't withdraw.
//     (Queue.Next, Withdraw; testdata/queue)
//  3. Raft learns that entries, a term or a vote are durable only after the sync that covers them, and
//     learns nothing after a failed write. (Group.append, Group.broken)
//  4. Only entries that are committed and locally durable are applied: with AsyncStorageWrites raft
//     emits no others. (Group.beginLeadership)
//  5. A waiting proposer is notified when its command has been applied, and when another entry has
//     replaced it or may have. (InFlight; testdata/inflight)
//  6. A leader goes idle only when each follower on a live store has acknowledged that the whole log is
//     committed. It checks again after it has gone idle: a follower that returned in between would
//     otherwise never learn the commit index. (Group.TickLeader; TestRestMeetsReturn,
//     TestRestTellsCommit in store)
//  7. Once AwaitIdle has returned for a stopped group, nothing is written for it any more, however slow
//     the disk is. (Queue.AwaitIdle; TestStopWaits in store)
//  8. A command takes effect only under the lease and the bounds of its fence. (InFlight.Compose for the
//     lease, apply.Applier for the bounds)
//  9. A deferred proposal waits at most MaxDelay, and not at all once somebody waits for it: the waiter
//     flushes, and Defer fails if a flush came after its caller had looked for waiters. (Queue.Defer;
//     testdata/queue)
//  10. An only voter elects itself only when its log holds no change of membership that is not applied
//     yet, since that change may add a voter. (Group.Begin)
//
// # Concurrency
//
// Any goroutine may call Group's Propose methods (but ProposeConfChange), Await, Post, Do, Run, Flush and
// Resign, and all methods of Queue except Enter, Own, Next, Inputs, Batch, Finish and FinishAll. The rest
// belongs to the processing goroutine. Queue's mutex is a leaf, held only for operations on slices.
//
// # Not here
//
// Leases and elections (package lease), the state machine, snapshots, membership.
package raftgroup
