// Package consistency finds replicas of a range that do not hold the same.
//
// Above it is kvnode, which runs it, and cli, which asks for checks (lichen debug check). Below
// it is replica, which takes the checksums: all replicas of a range take theirs at the same
// index of the log.
//
// Read checker.go (Checker, which asks for checksums), verdict.go (what they mean).
//
// # Invariants
//
//  1. Replicas are compared at one index of the log. (replica.AskChecksums; Checker.Check)
//  2. Nothing is mended: which replica is right is not for a check to say, and what made them
//     differ must not be covered up. (Checker.Check has no effect but its report)
//  3. A replica that did not answer neither differs nor proves anything: one checksum of several
//     replicas is Unchecked. (RangeCheck.judge; testdata/verdicts)
//  4. The background takes checkRound for all ranges that a node leads, whatever their number,
//     with minCheckInterval in between. (Checker.Run)
//
// A Checker may be used by any number of goroutines.
package consistency
