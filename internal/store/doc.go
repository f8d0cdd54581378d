// Package store holds all replicas of one disk: it opens the engine and the
// log, finds the replicas in them, runs the background work they share, and
// closes everything in order.
//
// Above it dist routes requests to it; below it are replica, raftlog and
// storage. Read store.go (Store: Open, Start, Close, Lookup), bootstrap.go (what
// an empty store gets), index.go (which replica holds a key), network.go (messages between stores),
// replicas.go (replicas that are made, by messages and splits, and removed),
// ticking.go (who is ticked, and who rests), elections.go
// (who campaigns, and when), maintain.go
// (truncation of the log, garbage collection, disk checks, the clock's bound),
// snapshot.go and arrival.go (the two ends of a snapshot), disk.go (a disk that is
// full or stands still), place.go (files that are removed under a running store),
// set.go (Set: all stores of a node; a handler of messages is registered there and in network.go),
// closing.go (closed timestamps, which package closedts keeps), merge.go (logs of ranges that were merged away),
// slowdisk.go (when a disk is slow), clockfile.go (the clock's bound while the log has no room).
//
// Invariants:
//
//	S1. The log is truncated only below the durable applied index, read from the
//	    engine after a flush completed (truncateLog).
//	S2. A store is bootstrapped completely or not at all: the first range's log is
//	    durable before its descriptor, which makes it exist (bootstrap).
//	S3. The clock hands out no time past a bound that the log holds durably; of several
//	    stores of a node, the log of each whose disk answers, at least one (persistClock).
//	S4. The log of a range that was merged away, or of a replica that was removed, stays
//	    until the engine holds that durably, and until then no other replica of the range
//	    comes here: a crash before repeats the merge from both logs, or brings the replica
//	    back with its votes (destroyLogs, replicaFor; TestMovesDoNotFlush).
//	S5. A replica is removed for having been merged elsewhere only if no merge is still
//	    to be applied over it here (receiveGone, endsAt).
//	S6. The keys of a snapshot that arrives belong to no other replica and no other
//	    snapshot here, from its beginning until it is installed (admitArrival,
//	    placeFor), but for ranges that were merged into its range (absorb).
//	S7. No file of a snapshot outlives its arrival, or the store's life (arrival.end,
//	    clearSnapshots; TestSnapshotCrash).
//	S8. A snapshot becomes durable only behind the splits, merges and removals that made
//	    room for it: the durable state never has two replicas with a key
//	    (ownedDurably; TestSnapshotBehindRemoval).
//	S9. No more than maxCampaigns replicas campaign at a time, and no more than
//	    maxIdleCampaigns of ranges that nobody asks for (elections.next).
//	S11. A key that a replica here held before a split is held by some replica all the time while
//	     the split is applied, so that no other one comes for it (applyTrigger, add; prepareSplit
//	     checks; TestSplitLeavesNoGap).
//
//	S12. A store whose files were removed, moved or replaced ends within PlaceEvery and says so: what
//	     it writes into them no start would find (watchPlaces; TestMisplaced).
//
// Three goroutines do what is periodic: tickLoop, which never waits for anything and
// visits only replicas that do not rest; maintain; and collectLoop, whose commands wait
// for quorums. closing.loop closes timestamps. newsLoop tells replicas of support that began or ended, watchPlaces
// looks after the store's files. watchDisk touches no file. Open and Close are not safe for concurrent use, all else is.
package store
