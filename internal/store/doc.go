// Package store manages all replicas of one disk. It opens the engine and the log, loads the
// replicas, runs their shared background work, and closes everything in order.
//
// Above it, dist routes requests to it. Below it are replica, raftlog and storage.
//
// Reading order:
//
//   - store.go: Store (Open, Start, Close, Lookup). bootstrap.go: the first data of an empty store.
//     set.go: Set, all stores of a node. index.go: from a key to a replica.
//   - network.go: messages between stores. replicas.go: creation and removal of replicas. merge.go: logs
//     of merged ranges. snapshot.go, arrival.go: the two ends of a snapshot.
//   - ticking.go: ticks and quiescence. elections.go: the campaigns. closing.go: closed
//     timestamps (package closedts).
//   - maintain.go: log truncation, garbage collection, flushes.
//   - disk.go, diskhealth.go: a full or stalled disk. slowdisk.go: a slow disk. place.go: files that are
//     removed under a running store. clockfile.go: the clock's bound while the log has no room.
//
// Invariants:
//
// S1. The log is truncated only below the durable applied index, which is read from the engine after
// a flush has completed (truncateLog).
//
// S2. A store is bootstrapped completely or not at all: the first range's log is durable before its
// descriptor, which makes it exist (Store.Bootstrap).
//
// S3. The clock returns no time above a bound that is durable in the log of at least one store of the
// node. The bound goes to every store whose disk answers (persistClock).
//
// S4. A store keeps the log of a replica that was subsumed or removed until the replica's end is
// durable in the engine. Until then the range gets no other replica here. A crash before that repeats
// the merge from both logs, or brings the replica back with its votes (destroyLogs, replicaFor;
// TestMovesDoNotFlush).
//
// S5. A replica whose range was merged elsewhere is removed only if no merge that needs it can still
// be applied here. Such a merge is in the replica's log, and the replica of the left range here has not
// passed it (Superseded, mayBeSubsumed; TestStaleBesideLeft, TestMergeStillToBeApplied).
//
// S6. From the first part of an incoming snapshot until its installation, its keys belong to no other
// replica and no other snapshot here, except for ranges that were merged into its range (admitArrival,
// placeFor, absorb).
//
// S7. No file of a snapshot outlives its arrival or the process (arrival.end, clearSnapshots;
// TestSnapshotCrash).
//
// S8. A snapshot becomes durable only after the splits, merges and removals that made room for it:
// the durable state never has two replicas with the same key (ownedDurably;
// TestSnapshotBehindRemoval).
//
// S9. At most lease.MaxCampaigns replicas campaign at a time. At most lease.MaxIdleCampaigns of them
// belong to ranges whose leader nobody waits for (lease.Campaigns: start; testdata/campaigns in lease).
//
// S10. While a split is applied, each key has a replica here at every moment, so that no other
// replica of it is created (replica.applyTrigger, Store.add; prepareSplit checks; TestSplitLeavesNoGap).
//
// S11. A store whose files were removed, moved or replaced ends within PlaceEvery with an error
// that says so: no start would find its later writes (watchPlaces; TestMisplaced).
//
// S12. Messages create and remove replicas only once the replicas of the disk are in the index.
// Otherwise a log whose replica is not loaded yet would be taken for that of a removed replica (loaded;
// TestMessagesBeforeStart).
//
// Goroutines: tickLoop never blocks, and visits only replicas that are not quiesced. maintain truncates
// and flushes. collectLoop waits for quorums. closing.loop closes timestamps, supportLoop notifies
// replicas of changed support, watchPlaces checks the store's files, and watchDisk does no I/O. Open
// and Close are not safe for concurrent use. Everything else is.
package store
