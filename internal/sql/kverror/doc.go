// Package kverror turns errors of the key-value layers into what a client sees: an SQLSTATE, a message
// and what to do.
//
// Above it is sql, where statements and their parse end; below it kvpb and quota, whose errors it
// knows.
//
// Invariants:
//
//  1. What may have happened is never reported as if it had not, whatever led to it (Translate;
//     TestKVErrors).
package kverror
