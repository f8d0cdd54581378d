// Package replica is one replica of one range: it serves requests as the range's
// leader, proposes their effects to raft and applies what was committed.
//
// It carries out what pure packages decide: raftgroup (who processes the group, what goes into an entry),
// lease (who may serve, who leads next), txnintent (intents and records), concurrency (who may proceed,
// when a transaction commits), closedts (what is closed), rangestate (splits and merges) and snapshot.
// Each has its own invariants and scripts. Above it is store, which finds replicas and drives their
// background work; below it also eval (what a request reads), apply (what a command does), raftlog
// and storage.
//
// # Reading order
//
//   - replica.go: Replica. serve.go: reads, locks. commit.go, commitspilled.go: the commit in one range.
//   - group.go, messages.go: the host of the raft group. applyentry.go: application.
//   - lease.go: what begins and ends with a leadership. election.go, locktransfer.go, resign.go.
//   - stage.go, multirange.go: commits in several ranges. spill.go: transactions that outgrew their
//     gateway's buffer. longwrites.go: how many bytes are on their way at a time. intents.go, push.go,
//     resolve.go, sweep.go, txnrecord.go, gateway.go: the effects that txnintent asks for. replay.go:
//     commits that were sent again.
//   - split.go, merge.go, subsume.go: changes of the bounds. change.go: of the replicas.
//   - closed.go, follower.go, feed.go, observed.go: closed timestamps, reads of the past, changes as they
//     are applied, what transactions know of this node's clock.
//   - collect.go, threshold.go: garbage. snapshot.go, mend.go, checksum.go, lost.go (a log that lost a
//     part).
//   - wait.go, reserve.go: locks, waiting for them and for reserved spans. describe.go,
//     listlocks.go, progress.go: what others are told.
//
// # A commit in one range
//
//	Commit ── admitWrite ─► lockSection ─► beginCommit: readers see it coming
//	                                            │ chooseTimestamp: the snapshot, or now after a refresh
//	                                            ▼
//	       reply ◄── Finish ◄── applied ◄── raftgroup: one entry for all that wait, one sync
//
// # Invariants
//
//  1. What a read answers was seen under one leadership, which after the look still stood and whose
//     lease covered the read's timestamp. A commit whose outcome is not known is in flight until the
//     leadership that began it answers no read any more: a read waits for it or is refused.
//     (enterRead, leaveRead; Lock: checkFence; keep, endLeadership, stopServing)
//  2. A read is in the timestamp cache before it looks for commits in flight, a commit is announced
//     before it looks into the timestamp cache: one of the two sees the other. (Get, Scan; Commit)
//  3. A version goes only if nobody can read it any more. The leader refuses reads below the collection
//     threshold from before it is proposed, and reads check it when they have read; nothing is
//     provisional or committed at or below it. (txnintent.Table.Protect, checkThreshold, raiseThreshold,
//     chooseTimestamp, refresh)
//  4. A commit under another leadership than its locks fails, unless that one exported them, whole, and
//     no other has changed any since. (checkLocks, importLocks, dropTransfer; lease, invariants 5 and 6)
//  5. A range answers for a span only if it holds all of it, and says that nothing is left there only if
//     it still leads within the bounds in which it was asked. So a record goes only when no intent of
//     its transaction is left anywhere. (holds, checkFence: Resolve, Unspill, Spilled; deleteLocalRecord)
//  6. What is committed above certainFrom was committed under this leadership, and this node's clock had
//     passed it before anybody learned of it: what lies above a reading of the clock was committed after
//     that. Commands pass the clock on when they are applied, spilled intents without one when they
//     are staged; what comes otherwise raises certainFrom before it can be read. (noteCommand,
//     raiseCertain; uncertain)
//  7. A range that was split off begins with the locks and the timestamp cache of the other half only at
//     the leader of that, and if nobody has led it in between. What is copied is complete: a read, or
//     a commit that keeps something as it was, fails if it finds the bounds changed when it has noted
//     what it read. A lock that a split or a merge has moved is released where it went. A split is not
//     proposed beside the export of the locks. (split, inheritOther, leaveRead, releaseMoved,
//     releaseSubsumed; TestSplitKeepsReads in kv; TestLocksSurvive in sim)
//  8. A store that has made the log of a range for a split knows after a crash that the split is
//     committed, and applies it again: nobody may tell it so any more. It has the new replica before
//     the left half gives its keys up. (prepareSplit, applyTrigger; TestSplitStaysCommitted,
//     TestSplitLeavesNoGap in store)
//  9. A store whose log lacks what one of its replicas has acknowledged ends, before it votes again or
//     acknowledges anything: it can't know what else it has forgotten. (checkAcknowledged; snapshot, invariant 4;
//     TestOlderCopy in server)
//  10. A replica is quiesced only while a tick would change nothing; what ends that calls Unquiesce
//     afterwards. No more than one tick waits to be processed, so that under load the group's time does
//     not run ahead of its messages. (Tick, mayQuiesce)
//  11. A feed begins between two entries: everything committed above its start is in the state of that
//     moment or comes with a later entry. Its resolved timestamp is computed while nothing is applied,
//     and delivered after every event that waited then. (beginFeed, stage, resolveFeed, take)
//  12. All replicas compute a checksum over the state after the same entry, which nothing that was
//     applied later has changed. (group.Apply, beginCheck)
//
// # Concurrency
//
// The mutexes of raftgroup.Queue, of tasks and of txnintent are leaves, held for map and slice operations
// only; sweepMu comes before them. Nothing is waited for while one is held. Who processes a group waits
// for the processing of no range but those to its right: the parts of a commit are taken through their
// groups in the order of their keys (StageBatch), and a merge subsumes the range on the right.
package replica
