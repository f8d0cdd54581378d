// Package fs is the one file-system interface: every file a node writes (log,
// engine, spill, snapshots, backups) goes through it, so that faults and
// encryption have one place to live: fs/crypt is a file system over another one.
//
// Above it: raftlog, storage and everything else that touches a disk. Below
// it: the operating system, through Pebble's vfs, whose interfaces it aliases
// so that Pebble runs on the same file system as the log.
//
// Reading order: [FS] and [File] (aliases), [Disk] (fs.go); [MemFS] and [CrashClone],
// a disk in memory and what a power loss leaves of it (mem.go); [WithHooks], [Op] and [Hook], the layer that
// sees every operation before it happens (hook.go, hookfile.go); the faults
// built on it: [Counter], [FailAt], [PowerLoss], [Quota], [Gate] (faults.go);
// [FlipBit] (corrupt.go); [Watch], which times the operations of a running node and
// is where faults are put into it (watch.go); who holds a lock (holder.go), and whether a
// path still leads to the same file (same.go); how many files the process may open (descriptors.go); what writers owe
// a file system that encrypts ([Rewrite], rewrite.go).
//
// Invariants:
//
//  1. SyncData on a file of [Disk] is an fdatasync: data and the size needed to
//     read it are durable when it returns nil (checked by TestDiskSyncData).
//  2. A file system from [WithHooks] performs no operation its hooks have
//     refused, except the first Op.Short bytes of a write (checked by
//     hookFile.write and TestShortWrite).
//  3. After [PowerLoss] has struck, no operation that changes anything reaches
//     the file system below (checked by TestPowerLossStopsEverything).
//  4. [CrashClone] may be called at any moment, and neither it nor the operations under way wait for ever
//     (MemFS.cloning; TestCloneWhileLinking).
//
// Concurrency: a hooked file system is as safe for concurrent use as the one
// below it; hooks are called concurrently and do their own locking.
//
// It does not model a disk that lies about a completed sync, nor one that loses
// data it has already made durable; [FlipBit] stands in for the latter.
package fs
