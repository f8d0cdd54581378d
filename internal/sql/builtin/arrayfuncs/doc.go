// Package arrayfuncs declares operators and functions of arrays, and what assignments to an element, a
// slice or a record's field call.
package arrayfuncs
