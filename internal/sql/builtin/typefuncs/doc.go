// Package typefuncs declares the functions that PostgreSQL's types are made of and that SQL may
// call: input, output and send functions (inout.go), those that apply a length or a precision
// (length.go), and those behind B-tree operator classes and min and max (order.go). overloads.go
// lists all.
package typefuncs
