// Package aggregate groups rows and computes aggregates of the groups.
//
// Above it: exec, and window, which computes aggregates over frames. Below it: operator,
// rowcontainer, builtin (the accumulators).
//
// Main types in reading order: Call (a compiled aggregate call), State (an aggregate of one group),
// groupOp (by a hash table, or group after group where equal keys are adjacent; groupsets.go has
// grouping sets).
//
// Invariants:
//
//  1. The memory of groups and of their states is reserved before it is used, and given back at Close
//     (groupOp.newStates, State.Close; exec's TestMemoryLimit).
//
//  2. An accumulator that may hold on to its arguments gets copies of them (Call.keeps).
//
// Concurrency: an operator belongs to one goroutine.
package aggregate
