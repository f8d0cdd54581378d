// Package ycsb is the Yahoo! Cloud Serving Benchmark's core workload against any
// PostgreSQL server, with YCSB's property names, key and field generators, and
// report, so that its figures compare with those of YCSB's JDBC binding.
//
// Above it is the command line; below it workload (connections) and
// workload/measure (latencies, report). Read properties.go (Properties), config.go
// (Config), generator.go (the distributions), client.go (the operations), copy.go
// (loading by COPY), run.go (Init, Run).
//
// Invariants
//
//  1. A property is used, reported as ignored, or refused; none is dropped in
//     silence (ParseConfig).
//  2. A key is requested only after its insert was acknowledged (keyCounter).
//  3. Every operation is recorded once with what it returned; a run with failed
//     operations returns an error after its report (runner.finish).
//
// Each thread has its own connection, random source and choosers; threads share the
// counters of keys and the measurements. Equal seeds and thread counts give each
// thread the same random numbers.
//
// It doesn't do YCSB's other workload classes, measurement types other than
// histograms, or measurement by intended start time.
package ycsb
