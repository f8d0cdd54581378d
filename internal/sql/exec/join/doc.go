// Package join joins two inputs.
//
// Above it: exec. Below it: operator, rowcontainer, scan, which looks rows up.
//
// Main types in reading order: joinOp (drives a join of any kind), candidates (what an algorithm is:
// the right rows that may match a left row), applyRight, loopRight, hashRight, mergeRight; over columns vectorHash, which stores
// the right side (buildSide) or looks up parts of it (lookups); rounds, by which a join by hash goes through
// temporary files.
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
//  4. In temporary files every left row meets each right row of its key in one round, and is returned
//     for want of a match in the last round of its partition only (rounds.next; the plant match-forgotten,
//     TestJoinsInTemporaryFiles in sql).
//
// Concurrency: an operator belongs to one goroutine.
package join
