// Package nullserver answers the PostgreSQL protocol without a database: every
// statement gets a canned reply at once. What it serves per second is the most
// that any server could, with the same client on the same machine; the measures
// R and W of the design are throughputs in proportion to it.
//
// Above it are benchmarks; below it pgwire/wire. Read nullserver.go (Server), then
// canned.go (the replies).
//
// Invariant:
//
//	N1. A reply has the form that pgbench's built-in scripts expect of a
//	    PostgreSQL server, in all query modes (TestPgbenchMessages).
//
// One goroutine serves a connection. It does no more of the protocol than
// benchmark clients need: no COPY, no cursors, no errors, and it knows no types
// but int4, as text.
package nullserver
