// Package aggfuncs declares the aggregates: count, sums and averages, extremes, variance and regression,
// collections (array_agg, string_agg, json_agg), ordered sets and hypothetical sets.
//
// Merging the accumulators of two runs of rows gives what one accumulator of all rows gives
// (TestAggregateGolden of builtin).
package aggfuncs
