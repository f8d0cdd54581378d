// Package replica implements one replica of one range. As the leader of the range it evaluates
// requests and proposes their effects to raft; as any replica it applies what raft commits.
//
// Other packages decide, without side effects and each with its own invariants and scripts:
//
//   - raftgroup: which goroutine processes the group, and which commands share an entry
//   - lease: whether the replica may serve, and which replica leads next
//   - txnintent: the state of intents and transaction records
//   - concurrency: lock queues, the timestamp cache, commit timestamps
//   - closedts: closed timestamps and follower reads
//   - rangefeed, rangefeed/processor: the feeds of the replica
//   - rangestate: splits, merges and changes of the replicas
//   - snapshot: the contents of a snapshot, and recovery from a crash during its installation
//
// This package carries the decisions out. Package store above it finds replicas and schedules their
// background work. Below it are eval (reads), apply (the effect of a command), raftlog and storage.
//
// # Reading order
//
//   - replica.go: the type Replica. serve.go: reads and locks. commit.go, commitspilled.go: the commit
//     of a transaction in one range. announce.go: how commands that write the same keys follow one another.
//   - group.go, messages.go: the replica as the host of its raft group. quiescence.go: ticks, and rest without
//     them. applyentry.go: application.
//   - lease.go: the beginning and the end of a leadership. election.go, locktransfer.go, resign.go.
//   - stage.go, multirange.go: commits in several ranges. spill.go: transactions that outgrow the
//     buffer of their gateway. intentcursor.go: the intents on many keys. intents.go, push.go,
//     resolve.go, release.go, sweep.go, txnrecord.go, abandoned.go: the effects of txnintent. resent.go: commits
//     that were sent again.
//   - split.go, merge.go, subsume.go: changes of the bounds. change.go, removal.go: changes of the
//     membership.
//   - closed.go, follower.go, feed.go, observed.go: closed timestamps, follower reads, feeds, and what a
//     transaction's earlier readings of this node's clock make certain.
//   - collect.go, threshold.go: garbage collection. snapshot.go, repairlog.go: snapshots. checksum.go:
//     consistency checks. lost.go: detection of a log that lost entries.
//   - wait.go, reserve.go: waiting for locks and reservations. describe.go, progress.go:
//     inspection.
//
// # A commit in one range
//
//	Commit ── admitWrite ─► lockSection ─► beginCommit, checkConflicts: readers of the keys wait from now on
//	                                            │ chooseTimestamp: the snapshot, or now after a refresh
//	                                            ▼
//	       reply ◄── Finish ◄── applied ◄── raftgroup: one entry for all waiting commands, one sync
//
// # Invariants
//
//  1. A read is answered only if the leadership that admitted it still stands after the read, and its
//     lease covers the read's timestamp. A commit whose outcome is unknown stays in flight as long as the
//     leadership that began it may answer reads: a read waits for the commit or is refused.
//     (enterRead, leaveRead; Lock: checkFence; onAbandon, endLeadership, stopServing)
//  2. A read enters the timestamp cache before it looks for commits in flight, and a commit is announced
//     before it looks into the timestamp cache. So at least one of the two sees the other. (getAt,
//     scanAt; commit.attempt)
//  3. A version is collected only when no read can need it. The leader refuses reads below the
//     collection threshold before it proposes the threshold, and every read checks the threshold again
//     at its end. No version at or below the threshold is provisional, and none is committed later.
//     (txnintent.Table.Protect, checkThreshold, raiseThreshold, chooseTimestamp, refresh)
//  4. A commit under another leadership than that of its locks fails, unless the earlier leadership
//     exported its lock table completely and no leadership in between has changed a lock. (checkLocks,
//     importLocks, dropTransfer; lease, invariants 5 and 6)
//  5. A range answers for a span only if it holds the whole span. This includes the reads and the spilled
//     writes of a commit, whose gateway may not know of a split yet. A range reports a span free of intents
//     only if it still leads, within the bounds that it had when the request began. So a record is deleted
//     only when its transaction has no intents left in any range. (holds, checkFence: Resolve, Unspill,
//     Spilled; commit.admit, TestCommitAfterSplitElsewhere, TestCommitOfSpillAfterSplitElsewhere in store;
//     deleteLocalRecord)
//  6. A version above certainFrom was committed under this leadership, and this node's clock had passed
//     its timestamp before anybody learned of the commit. So a version above a reading of the clock was
//     committed after that reading. Commands forward the clock when they are applied; spilled intents,
//     which have no command at their commit timestamp, forward it when they are staged. Versions from
//     elsewhere raise certainFrom before they become readable. (noteCommand, raiseCertain; uncertain)
//  7. A range that was split off inherits locks and the timestamp cache only at the leader of the left
//     half, and only as its first leader. The copy is complete: a read, or a commit that protects its
//     reads, checks the bounds after it has entered the timestamp cache, and fails if they have changed.
//     The release of a lock that a split or a merge has moved follows the lock. No split is proposed
//     while the locks are being exported. (split, inheritOther, leaveRead, releaseMoved,
//     releaseSubsumed; TestReleaseFollows; TestSplitKeepsReads in kv; TestLocksSurvive in
//     sim)
//  8. A store that has created the log of a split's right half remembers across a crash that the split is
//     committed. It applies the split again even if no leader sends it the commit index. It creates the
//     right replica before the left half gives up its keys. (prepareSplit, applyTrigger;
//     TestSplitStaysCommitted, TestSplitLeavesNoGap in store)
//  9. A store whose log lacks an entry that one of its replicas has acknowledged stops before it votes or
//     acknowledges again, since votes may be lost as well. (checkAcknowledged; snapshot,
//     invariant 4; TestOlderCopy in server)
//  10. A replica is quiesced only while a tick would change nothing. Whatever ends this state calls
//     Unquiesce afterwards. At most one tick of a group waits to be processed, so that under load the
//     group's time does not run ahead of its messages. (Tick, mayQuiesce)
//  11. All replicas compute a checksum over the state after the same entry; later entries do not
//     change it. (group.Apply, beginCheck; checksum)
//  12. A former voter is destroyed only when most voters of the next configuration know durably that it has
//     no vote any more. So the removal of a voter first makes it a learner, and a change of its own then
//     removes the learner. (describeChange, removeOutgoing; TestPowerLossAfterRemoval in store)
//  13. The rows that a transaction has read count as unchanged, without another read, only if no other
//     transaction can have a version at or above its read timestamp: everything from before this
//     leadership lies at or below certainFrom, and every command is noted with its transaction before it
//     becomes readable: in the area (keys.Area) of its keys if it only writes versions of one, in all areas
//     otherwise. (noteCommand, unwrittenSince)
//  14. Of two transactions whose commands write the same key, the later one is proposed when the earlier one
//     is applied and its intents are resolved. While the outcome of a command is unknown, its keys stay
//     announced, and the intents of its transaction are not resolved. (checkConflicts, keepAnnounced; resolveOnce,
//     rollBackIntents; TestStageBehindAborted, TestAbortWaitsForOutcome in store)
//
// # Concurrency
//
// The mutexes of raftgroup.Queue, of tasks and of txnintent are leaves, held only for operations on maps
// and slices. sweepMu is acquired before them. No goroutine waits while it holds one of these mutexes.
//
// A goroutine that processes a group may wait only for the groups of ranges further to the right, so no
// cycle can form. It does so in two cases: the parts of a multi-range batch enter their groups in key
// order (StageBatch), and a merge subsumes the range on the right (subsume).
package replica
