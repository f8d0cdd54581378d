// Package crypt encrypts the files of stores: a file system over another one, which keeps the names, sizes and
// offsets of files, and changes their bytes.
//
//	raftlog, storage, timeseries, snapshots
//	              │  plaintext
//	             FS ──► registry (ENCRYPTION_FILES): path → data key, initial counter
//	              │  │► data keys (ENCRYPTION_KEYS), encrypted by the store key of a file of the operator's
//	              ▼  ciphertext
//	    the disk (with hooks and faults in tests)
//
// Above it: server, which mounts it, and cli. Below it: fs. Files that a store does not register
// (Options.Plain) pass through.
//
// Reading order: [LoadKey] (keyfile.go), the data keys (datakeys.go), [Options], [Open], [Store] (store.go), what
// changes the registry (change.go) and its file (registry.go, record.go; docs/formats/encryption.md), what an entry
// knows (entry.go), [FS] (fs.go), reading and writing (file.go), [ReadStatus], [Leave] (status.go), writing old files anew
// (renewfiles.go). The decision
// record is docs/decisions/0024-encryption-at-rest.md.
//
// Files are encrypted with AES-CTR. The counter of a block of 16 bytes is the initial counter of its part of
// the file, which is random and of 128 bits, plus the number of the block in the file. There is no tag: who reads a
// file checks what it reads, as on a disk without encryption.
//
// Invariants:
//
//  1. No byte of a key stream covers two writes. A part of a file is written from its beginning on, each write
//     where the last one ended; a write that failed, a file that was opened again by another process, and whoever
//     overwrites, need a new part (file.write refuses all else: TestWriteOnce; checked from outside by
//     crypttest.Streams in TestRandom, raftlog.TestEncrypted and storage.TestEncryptedCrash).
//  2. A file's entry is durable before the file is there, and a part's before anything is written into it
//     (Store.make, Store.rewrite; TestCrashAnywhere).
//  3. A name is given to another file only when no crash can bring back the one that had it (Store.vacate), and an entry
//     is dropped only when no crash can bring back its file (Store.forgetGone; TestCrashAnywhere). A name that
//     a file has is not given to another in one step (Store.alias; TestNames).
//  4. A data key is durable, encrypted by the store key, before a file uses it, and stays until no file does
//     (Store.changeKeys; TestRotation).
//  5. A file that is not in the registry is not opened (FS.Open; TestUnregistered), and a registry that is damaged
//     before its last record, of another store or version, or missing where there was one is refused
//     (Store.load; TestRefusals).
//  6. An older copy of the registry in the place of the newest one is refused: the keys know the newest generation
//     (Store.renew; TestOlderRegistry).
//  7. One process has a registry (Open locks it; TestInUse).
//
// Concurrency: all is safe for concurrent use, as far as the file system below is. Writes to a file come one at a
// time (vfs.File). Store.writing is held over input and output, Store.mu and entry.mu are not, but for writes to the
// entry's own file.
//
// It does not hide names, sizes and times of files, nor that a file has changed, and does not notice a disk that was
// exchanged for an older state of itself as a whole.
package crypt
