// Package contention lets transaction blocks that keep each other from committing follow one
// another.
//
// A block fails with 40001 if others have changed what it has read, and its client has seen some
// of that. Where many blocks read and write the same rows most of them fail, and so do their
// clients' next attempts. Such a block begins with a contention lock: a row lock that stands for
// the table where blocks like it have failed. Blocks are alike if their first statements are. They
// take the locks while a large share of them fails without, and a session does that has failed
// several times in a row.
//
// sql's statements call it, where a block begins and where it ends; below it is kv. The locks live
// in the key space of the table, where no row lies.
//
// Invariants:
//
//  1. A contention lock decides nothing: which blocks commit, and which statements wait for
//     others, is the same without. A block waits for it before it has any other lock, and at
//     most maxWait (Session.Begin; TestContention, TestContentionOfSlowClients in sql).
package contention
