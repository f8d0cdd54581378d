// Package join joins two inputs.
//
// Above it: exec. Below it: operator, rowcontainer, scan, which looks rows up.
//
// Main types in reading order: joinOp (drives a join of any kind), candidates (what an algorithm is:
// the right rows that may match a left row), applyRight, loopRight, hashRight, mergeRight; over columns vectorHash, which stores
// the right side (buildSide) or looks up parts of it (lookups).
//
// Invariants:
//
//  1. Every kind of join is decided in one place: an algorithm only yields candidates, and joinOp
//     evaluates the whole condition (joinOp.on).
//
//  2. The right side is not read if there is no left row, where neither is read for nothing
//     (joinOp.first).
//
//  3. A semi or anti join looks at no right row behind the first match of a left row
//     (joinOp.step, vectorHash.selectMatching; exec's TestLookupsOverColumns).
//
// Concurrency: an operator belongs to one goroutine.
package join
