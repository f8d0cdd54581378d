// Package numfuncs declares operators and functions of numbers: smallint to bigint, float4 and float8,
// numeric and money, mathematical functions, and generate_series of numbers.
//
// Integer and float operators allocate nothing (TestNoAllocation of builtin).
package numfuncs
