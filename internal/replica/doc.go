// Package replica is one replica of one range: it serves requests as the range's
// leader, proposes their effects to raft and applies what was committed.
//
// Above it is store, which finds replicas and drives their background work;
// below it concurrency (who may proceed), eval (what a request reads), apply
// (what a command does), raftlog and storage.
//
// Read replica.go (Replica), serve.go (requests, the commit), group.go (the host of the raft group,
// which package raftgroup runs), applyentry.go (application), wait.go (waiting for locks),
// collect.go and threshold.go (garbage). Commits: commit.go (in one range), stage.go (the intents of
// a commit in several ranges), multirange.go (those of several ranges at one go),
// spill.go (transactions larger than their gateway's buffer), intents.go (loading intents, and the
// effects that package txnintent asks for), push.go (waiting for the outcome of others),
// txnrecord.go (transaction records and recovery), resolve.go (intent resolution, and its pace),
// sweep.go (intents that nobody meets), gateway.go (transactions whose gateway does not finish),
// replay.go (commits that were sent again), reserve.go
// (statements that have others wait), tasks.go (what goes on in the background). Merges: merge.go (the steps), subsume.go (what
// becomes of the range merged away, and of those who use it). Leadership: lease.go,
// locktransfer.go, resign.go (what package lease decides). Time and rest: messages.go
// (Tick, Wake, SupportChanged), election.go (campaigns). Comparing replicas: checksum.go.
//
// Time: observed.go (what transactions know of this node's clock), closed.go (closed timestamps),
// follower.go (reads without leadership), feed.go (changes as they are applied).
//
// Snapshots: snapshot.go (sending, installing what package snapshot carries), mend.go (after a crash
// in between).
//
// A commit, in short: the writes are announced as a commit in flight; the commit
// timestamp is the transaction's snapshot if nobody has read its keys since, or
// now if all that it read is still true; the command goes through the log; it is
// applied; readers that it concerns go on.
//
// Invariants:
//
//	R2. Raft addresses only replicas of the range's descriptor, or, while the replica
//	    has none, the one that wrote last (peer). A replica leads without asking others
//	    only if no change of membership is left in its log that would add a voter
//	    (raftgroup.Group.Begin).
//	R6. A commit under another leadership than its locks fails, unless that one exported them, whole,
//	    and no other has changed any since (checkLocks: epoch; lease, invariants 5 and 6;
//	    importLocks, dropTransfer, lockSection.enter). A leader that exports serves nothing any more
//	    in its term (transferLocks).
//	R7. A read is in the timestamp cache before it looks for commits in flight, a
//	    commit is announced before it looks into the timestamp cache: one of the
//	    two sees the other (Get, Scan; Commit).
//	R8. A version goes only if it can't be read any more, whatever becomes of the
//	    transactions that are undecided:
//	    - a reader below the collection threshold is refused. The leader refuses from before
//	      the command that raises the threshold is proposed, and reads check it when they
//	      have read (txnintent.Table.Protect, checkThreshold); versions go by commands later in the log
//	      (raiseThreshold, collectInline);
//	    - the version that stands for those below it is committed: no provisional version lies
//	      at or below what a command drops up to (txnintent, invariant 8), and none is
//	      written there later (same);
//	    - nothing is committed at or below the threshold: a deletion in between may have been
//	      forgotten (commitTimestamp, refresh).
//	R9. Spilled keys are in the intent table before their versions exist, so that everyone
//	    else passes over them until their transaction has committed (announceSpill).
//	R10. A transaction is decided by its record, which one request at a time changes
//	    (txnintent.Records.Enter).
//	R11. A reader waits for the outcome of intents that may have been committed at or below
//	    its timestamp (visibleIntents; txnintent, invariant 3).
//	R12. A recovery aborts only after no missing key can be staged at its timestamp
//	    any more, under this leader or the next (QueryStaged). It commits only keys that are
//	    still staged as it has counted them: no other attempt replaces those that were counted
//	    before the record says that it has begun (txnintent, invariant 5; parallelCommit.stageWrites in
//	    dist). A record that is being recovered says nothing else meanwhile (its latch).
//	R13. A record goes only when no intent of its transaction is left in any range, and an
//	    ended transaction does not begin again (deleteRecord, stage.ended). A range answers for a
//	    span only if it holds all of it, and says that nothing is left there only if it still
//	    leads within the bounds in which it was asked (holds, stillUnder: Resolve, Unspill,
//	    Spilled; deleteLocalRecord).
//	R14. A merge is applied only over the right range as it was frozen (endSubsumed), and
//	    a frozen range neither answers nor changes anything (admitWrite, enterRead,
//	    leaveRead).
//	R15. A lock of a range that is merged away is released where it went
//	    (releaseSubsumed).
//	R16. A replica rests, which is to say that nobody ticks it, only while a tick would
//	    change nothing; what ends that calls Wake afterwards (Tick, resting). No more than
//	    one tick waits to be processed, so that under load the group's time does not run
//	    ahead of its messages (Tick).
//	R17. All replicas compute a checksum over the state after the same entry, which
//	    nothing that was applied later has changed (group.Apply, beginCheck).
//	R19. The intents of a transaction are resolved by one goroutine at a time, in the
//	     leadership that knows them (txnintent.Txn.TryResolver, resolveOnce).
//	R22. What a read answers was seen under one leadership, which after the look still
//	     stood and whose lease covered the read's timestamp (enterRead, leaveRead; Lock:
//	     stillUnder). A commit whose outcome is not known is in flight no longer only when
//	     the leadership that began it answers no read any more (keepCommit, giveUp after
//	     endLeadership, stopServing). So a read waits for it or is refused; and the engine it looked
//	     at held nothing of a later leadership, whose provisional versions it could not know.
//	R23. A commit that was sent again fails, other than by sending its gateway elsewhere, only
//	     after it is known that no earlier copy of it has happened or will: none is in flight
//	     here, none is remembered nor may be forgotten, and the leadership in which that was
//	     found still stood afterwards (txnintent.ReplayFilter, answerAgain).
//	R33. A merge takes effect only if the right range has not changed since before it was
//	    asked whether the border may go (MergeIf, freeze, Renew).
//	R27. A feed begins between two entries, and everything committed above its start is in the
//	     state of that moment or told from a later entry; what is resolved is found while
//	     nothing is applied, and told after everything that was there then (beginFeed, stage,
//	     resolveFeed, take).
//	R28. Requests put into the intent table only keys within the bounds under which they were
//	    admitted, also if a split comes in between (Table.StepIf: stage.announce,
//	    announceSpill; txnintent, invariant 7, checked before a merge widens the range).
//	R29. Intents that were spilled under another leadership, or in another range, take further
//	     writes until this leadership hears of their commit, readers taking them for ones that
//	     may commit meanwhile (txnintent.State.spill; TestSpillOverRanges in sim). A spill that comes
//	     again changes nothing that was spilled since (fillHistory).
//
//	R30. A command that nobody waits for is deferred no longer than raftgroup.MaxDelay, and not
//	     at all once somebody contends for what it is about to remove: who does says so before
//	     the flush, and the command is deferred after it was looked whether somebody does,
//	     unless there was a flush since (txnintent, invariant 12; raftgroup.Queue.Defer).
//	R31. Intents are taken for committed before the record says so only after their gateway has
//	     found all staged, and they go only with, or after, the command that makes the
//	     record say so (commitRecord, resolveOnce).
//
//	R32. The command that ends a transaction tells when (txnintent, invariant 9;
//	     TestSpillSteps in sim).
//
//	R38. What is committed above certainFrom was committed under this leadership, and this node's
//	     clock had passed it before anybody heard of it: so what lies above a reading of the clock
//	     was committed after that. Commands pass the clock on when they are applied (noteCommand),
//	     spilled intents without one when they are staged (stage.announce); what comes otherwise
//	     raises certainFrom before it can be read: leaderships, merges, and intents that were
//	     written under another leadership (beginLeadership, subsume, decide; uncertain).
//	R40. A range that was split off begins with the locks and the timestamp cache of the other
//	     half only at the leader of that, and if nobody has led it in between: nobody else has read
//	     there then. What is copied is complete, since a read, or a commit that keeps something
//	     as it was, fails if it finds the border when it has noted what it read (split,
//	     inheritOther, leaveRead, stillUnder; TestSplitKeepsReads in kv).
//	     A split is not proposed beside the export of the locks, which would take those of the right
//	     half away from it (Split: lockSection; TestLocksSurvive in sim).
//	R41. Who processes a group waits for the processing of no range but such as lie to its
//	     right: the parts of a commit are taken through their groups in the order of their
//	     keys (StageBatch), and a merge subsumes the range on the right (subsume).
//	R42. A store that has made the log of a range for a split knows after a crash that the split
//	     is committed, and applies it again when it starts: the replica that was split may hear of
//	     nothing any more, but that it was removed, and without it the new range's replica, whose
//	     log has answered for it, could never be there again (prepareSplit; TestSplitStaysCommitted
//	     in store).
//
//	R43. A store whose log lacks what one of its replicas has acknowledged ends, before it casts
//	     another vote or acknowledges anything: it can't know what else it has forgotten (held;
//	     TestOlderCopy in server).
//
//	R44. The store has the replica of a range that was split off before the left half gives up its
//	     keys: in between they would be nobody's, the store would take in a snapshot of them, and
//	     the replica that was made later would take the place of one that has acknowledged more
//	     (applyTrigger; S11 of store).
//
//	R46. A reservation changes when others begin to write, never what is read or committed: it
//	     is neither handed on nor looked at by commits. Who has begun to write in its span, and
//	     who would wait for ever, goes on (awaitReserved; TestReserveAhead in sql).
//
// Locks: those of raftgroup.Queue, of tasks and those of txnintent are leaves, held for map and slice
// operations only; sweepMu comes before them. Nothing is waited for while one is held.
package replica
