// Package distribution estimates by what ANALYZE has found of a table: of the values of a column (histogram.go), and of those of several
// columns together, for which CREATE STATISTICS asks (combined.go). differ.go says when that has changed so much that plans are to be
// made anew.
//
// It knows columns and values, not plans: the optimizer, which is above it, finds them in conditions.
//
// Concurrency: functions of their arguments, which they do not change.
package distribution
