// Package copyio is what COPY has between its client and the rows: its options, the data that comes in
// and the lines that go out.
//
// sql's COPY calls it; copyfmt knows the formats.
//
// Invariants:
//
//  1. COPY FROM is run again after a conflict with the data that Input has kept: at most
//     maxReplay bytes, if there is memory for them (Input.keep; TestCopyRunsAgain in sql).
package copyio
