// Package quota accounts for memory: it limits the bytes that statements, sessions and
// the node hold.
//
// It is a leaf. The server makes one Pool for the node; every session makes a
// child of it, every statement a child of the session's, and every operator
// that keeps rows (sort, hash table, result buffer) an Account on the
// statement's pool.
//
// Main types in reading order: Pool, Account, ExceededError, Values (large values that only
// the garbage collector gives back).
//
// Invariants:
//
//  1. A pool's use is the sum of what its children and accounts have reserved:
//     Pool.Reserve takes the bytes at every ancestor or at none
//     (TestReserveAllOrNothing).
//  2. No pool's use exceeds its limit (Pool.take).
//  3. No pool's use is below zero: Pool.Release asserts it.
//  4. A quarter of a pool is kept for accounts that hold little: a statement that begins finds memory
//     while others hold all the rest. An account that holds more and is refused can give memory back
//     (Account.reserve, TestKeptPart).
//
// Concurrency: a Pool may be used by many goroutines; an Account belongs to one.
// An Account reserves in chunks that grow with it, so the atomic counters of the shared pools
// are touched once per 64 KiB of a large one, not once per row.
//
// It does not allocate or measure memory: callers say how much they hold.
package quota
