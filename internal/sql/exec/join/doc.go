// Package join joins two inputs.
//
// Above it: exec. Below it: operator, rowcontainer.
//
// Main types in reading order: joinOp (drives a join of any kind), candidates (what an algorithm is:
// the right rows that may match a left row), applyRight, loopRight, hashRight, mergeRight.
//
// Invariants:
//
//  1. Every kind of join is decided in one place: an algorithm only yields candidates, and joinOp
//     evaluates the whole condition (joinOp.on).
//
//  2. The right side is not read if there is no left row, where neither is read for nothing
//     (joinOp.first).
//
// Concurrency: an operator belongs to one goroutine.
package join
