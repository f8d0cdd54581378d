// Package tempstore keeps what statements do not find memory for: files of records that are written
// once, read, and forgotten when the statement ends.
//
// Above it: the containers of rows. Below it: fs.
//
// Main types in reading order: Store (the temporary files of a node), Space (the file of one statement
// or cursor, opened when it is first written to), Stream (records in blocks of that file), Reader.
//
// A stream takes blocks of its space as it grows and gives them back when it is freed, so a statement
// has one open file however many runs and partitions it writes. A block's place, length and checksum
// are kept in memory: no file outlives the process that wrote it.
//
// Invariants:
//
//  1. The files of all spaces together take at most Options.MaxBytes, and there are at most maxFiles
//     (Store.grow, Store.create; TestLimit).
//
//  2. A space that is closed has no file, whatever failed before; what a crash has left is removed by
//     Open (Space.Close, Open; TestFaults, TestOpenRemovesFiles).
//
//  3. A reader returns the bytes that were appended or an error (block.verify; TestDamage).
//
//  4. With Options.Encrypt nothing that was appended is in a file as it is, and no two writes share a key stream,
//     also where one takes the place of the other (blockCipher.encrypt; TestEncrypted).
//
// Concurrency: a Store is used by all; a Space with its streams and readers belongs to one goroutine.
package tempstore
