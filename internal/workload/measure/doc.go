// Package measure records the latencies of a workload's operations and prints them
// in YCSB's formats: the status line while it runs and the report at its end.
//
// Above it are the workloads; below it the HdrHistogram library. Read measure.go
// (Set, Operation), then report.go; errors.go has the errors of a run.
//
// Invariants
//
//  1. Every operation that was recorded is in the report exactly once: a successful
//     one under its name, a failed one under NAME-FAILED, and either as a Return=
//     count of its name (Operation.Record).
//
// All methods may be called concurrently. The package starts no goroutines.
package measure
