// Package intarrayfuncs declares the operators and functions of the extension intarray: arrays of integers as lists and as sets, and
// queries (package intquery) for what sets have.
//
// Like PostgreSQL's they take arrays of any dimensions for the list of their elements, and refuse NULLs.
//
// overloads.go lists them; lists.go and sets.go compute.
package intarrayfuncs
