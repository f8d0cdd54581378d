// Package raftgroup runs one raft group. It decides which goroutine processes the group, which commands
// share an entry, what outcome each proposer receives, and when a leader is idle.
//
// Above it, replica is the Host, which performs its decisions: it applies entries, sends messages,
// begins and ends leaderships. Below it are raft, the store's raftlog and the format of entries
// (apply).
//
// # Reading order
//
//   - Group, Host: the diagram of group processing (group.go), the processing of a Ready (ready.go), a
//     command from its proposal to its outcome (propose.go).
//   - Queue: the processing goroutine, deferred proposals. Proposal, Fence: the elements of the queue.
//   - InFlight: entries between proposal and application, and their waiting proposers.
//   - Quiescence: when a leader is idle.
//   - LogView: the group's part of the store's log, as raft sees it.
//   - LongWrites: the limit that the long writes of all groups of a store share.
//
// testdata/queue, testdata/inflight and testdata/group have a script for each scenario.
//
// # Invariants
//
//  1. One goroutine at a time processes a group, none before it was started. (Queue.acquire, Start;
//     testdata/queue)
//  2. A hand-off is not lost: a proposer that was chosen as the processing goroutine can't withdraw.
//     (Queue.Next, Withdraw; testdata/queue)
//  3. Raft receives the acknowledgement of entries, term or vote only after the sync that covers them,
//     and no acknowledgement after a failed write. (Group.append, Group.broken)
//  4. Only entries that are committed and locally durable are applied: with AsyncStorageWrites raft
//     emits no others. (Group.beginLeadership)
//  5. A waiting proposer is notified when its command was applied, or when another entry has replaced
//     it or may have. (InFlight; testdata/inflight)
//  6. A leader goes idle only when each follower on a live store has acknowledged the whole log as
//     committed. It checks this again after it has become idle: otherwise a follower that returned in
//     between would never learn the commit index. (Group.TickLeader; TestRestMeetsReturn,
//     TestRestTellsCommit in store)
//  7. Once AwaitIdle has returned for a stopped group, nothing is written for it any more, however slow
//     the disk is. (Queue.AwaitIdle; TestStopWaits in store)
//  8. A command has no effect under another lease or other bounds than those of its fence.
//     (InFlight.Compose; bounds: apply.Applier)
//  9. A deferred proposal waits at most MaxDelay, and not at all once it has a waiter: a waiter
//     flushes, and Defer fails if a flush came after the caller's check for waiters. (Queue.Defer;
//     testdata/queue)
//  10. A replica elects itself only if its log contains no pending change of membership that would add
//     a voter. (Group.Begin)
//
// # Concurrency
//
// Safe for concurrent use are the methods of Queue, except those marked as belonging to the processing
// goroutine, and of Group the Propose methods, Await, Post, Do, Run, Flush and Resign. All others belong
// to the processing goroutine. Queue's mutex is a leaf, held for slice operations only.
//
// # Not here
//
// Leases and elections (package lease), the state machine, snapshots, membership.
package raftgroup
