// Package diag keeps what EXPLAIN ANALYZE (DEBUG) has put together of statements: bundles, zip files for who looks into why a
// statement was slow.
//
// sql fills bundles, the console hands them out. Below it is the standard library only. Read diag.go (Store, Bundle, Zip).
//
// Invariants:
//
//  1. At most MaxBundles bundles of MaxBytes in all are kept, the last ones (Store.Add; TestStore).
package diag
