// Package writebuffer holds the writes of a transaction in the memory of its gateway (buffer.go, chunked.go).
//
// Invariants:
//
// B1. A statement sees the newest write of each key by the statements before it, and Truncate undoes
// exactly the writes behind a position: the buffer answers as a list of all writes would
// (TestBufferModel).
//
// B2. Cursor.History yields every version that a rollback to its position or later would make
// visible again (TestBufferModel).
//
// B3. Keys share no block of memory with values, so that a key that is retained retains no value. A
// large buffer gives its memory up (Drop; TestBufferMemory).
package writebuffer
