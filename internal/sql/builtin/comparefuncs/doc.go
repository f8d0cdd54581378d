// Package comparefuncs declares the comparisons of all types (= <> < <= > >=), of records by value and
// by image, and what belongs to comparing: num_nulls, the order of enums, hash functions.
//
// SixOperators and IntComparisons declare the comparisons of a type whose package lies above.
package comparefuncs
