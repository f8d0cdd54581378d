// Package dataset loads tables with generated rows and runs statements on them, for
// the workloads that have a schema of their own.
//
// Above it are those workloads (workload/dvdrental, workload/ecommerce); below it
// workload (connections) and workload/measure (latencies, report). Read row.go (Row),
// then load.go (Set, Init), then run.go (Operation, Run).
//
// Invariants
//
//  1. A row depends on the seed, its table and its number only: equal seeds and sizes
//     give equal tables, whatever the number of threads (newRow; TestSameRows).
//  2. A table is loaded when all rows of it are, or Init returns an error (loadTable).
//  3. Every operation is recorded once; a run with failed operations returns an error
//     after its report (runner.finish).
//
// Each thread has its own connection; threads share the counters and the measurements.
package dataset
