// Package readset holds what a transaction has read, as a bounded number of spans (readset.go).
//
// Invariants:
//
// S1. Every key read is covered until Reset, or until a Truncate to a position before its read
// (TestCovers).
//
// S2. There are never more than maxSpans spans (add; TestMerges).
//
// S3. A condensed span covers no table that was not read, as long as the tables are fewer than
// maxCondensed. So writes beside the transaction by its own session, for example of a sequence, do
// not count as changes of its reads (condense; TestCovers).
package readset
