// Package store manages all replicas of one disk. It opens the engine and the log, loads the
// replicas, runs their shared background work, and closes everything in order.
//
// Above it dist routes requests to it; below it are replica, raftlog and storage. Read store.go
// (Store: Open, Start, Close, Lookup), bootstrap.go (an empty store's first data), index.go (from
// key to replica), network.go (messages between stores), replicas.go (creation and removal of
// replicas), ticking.go (ticks and quiescence), elections.go (order of campaigns), maintain.go (log
// truncation, garbage collection, flushes), snapshot.go and arrival.go (the two ends of a
// snapshot), disk.go (a full or stalled disk), slowdisk.go (a slow disk), place.go (files that are
// removed under a running store), set.go (Set: all stores of a node; messages are registered there
// and in network.go), closing.go (closed timestamps, by package closedts), merge.go (logs of merged
// ranges), clockfile.go (the clock's bound while the log has no room).
//
// Invariants:
//
// S1. The log is truncated only below the durable applied index, read from the engine after a flush
// completed (truncateLog).
//
// S2. A store is bootstrapped completely or not at all: the first range's log is durable before its
// descriptor, which makes it exist (Store.Bootstrap).
//
// S3. The clock returns no time above a bound that a log has durably: of a node's stores, each one
// whose disk answers, and at least one (persistClock).
//
// S4. The log of a replica whose range was merged away, or that was removed, is retained until its
// end is durable in the engine; until then the range gets no other replica here. A crash before
// that repeats the merge from both logs, or brings the replica back with its votes (destroyLogs,
// replicaFor; TestMovesDoNotFlush).
//
// S5. A replica whose range was merged elsewhere is removed only if no merge is still to be applied
// over it here: one that its log knows of, and that the left range's replica here has not outlived
// (Superseded, mayBeSubsumed; TestStaleBesideLeft, TestMergeStillToBeApplied).
//
// S6. From its first part until it is installed, the keys of an incoming snapshot belong to no
// other replica and no other snapshot here, but for ranges that were merged into its range
// (admitArrival, placeFor, absorb).
//
// S7. No file of a snapshot outlives its arrival or the process (arrival.end, clearSnapshots;
// TestSnapshotCrash).
//
// S8. A snapshot becomes durable only after the splits, merges and removals that made room for it:
// the durable state never has two replicas with the same key (ownedDurably;
// TestSnapshotBehindRemoval).
//
// S9. At most maxCampaigns replicas campaign at a time, and at most maxIdleCampaigns of ranges
// whose leader nobody waits for (elections.next).
//
// S10. While a split is applied, each key has a replica here at every moment, so that no other
// replica of it is created (applyTrigger, add; prepareSplit checks; TestSplitLeavesNoGap).
//
// S11. A store whose files were removed, moved or replaced ends within PlaceEvery with an error
// that says so: no start would find its later writes (watchPlaces; TestMisplaced).
//
// S12. Messages create and remove replicas only once the replicas of the disk are in the index: a log
// whose replica is not loaded yet is not taken for that of a replica that is gone (loaded;
// TestMessagesBeforeStart).
//
// Periodic work has three goroutines: tickLoop, which never blocks and visits only replicas that
// are not quiesced; maintain; and collectLoop, whose commands wait for quorums. closing.loop closes
// timestamps, supportLoop notifies replicas of changed support, watchPlaces checks the store's files,
// and watchDisk does no I/O. Open and Close are not safe for concurrent use; everything else is.
package store
