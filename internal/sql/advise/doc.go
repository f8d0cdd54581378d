// Package advise says which indexes plans read, which they lack, and which nobody uses.
//
// sql calls Reads for the plans of fingerprints that it looks at. Below it is plan. Read reads.go (Reads).
//
// Invariants:
//
//  1. An index is recommended only for conditions that it would find by its key: columns compared with values that are known
//     before the table is read (comparison; TestReads).
//
// All of it is pure.
package advise
