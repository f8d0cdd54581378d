// Package workload holds what the benchmark workloads have in common: a client
// connection with prepared statements that repeats a statement when the server asks
// for it, and the pacing of threads.
//
// Above it are the workloads (workload/ycsb) and the command line; below it only
// pgx, since a workload is a client like any other and runs against any PostgreSQL
// server. Read conn.go (Conn), then pace.go (Pacer). What is measured is in
// workload/measure.
//
// Invariants
//
//  1. A statement that failed with a serialization failure or a deadlock is repeated
//     and counted; one that failed in any other way is reported (Conn.do).
//
// A Conn and a Pacer belong to one goroutine each. The package starts none.
package workload
