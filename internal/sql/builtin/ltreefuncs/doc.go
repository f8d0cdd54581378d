// Package ltreefuncs declares the operators and functions of the extension ltree, over the values of package ltree.
//
// overloads.go lists them; paths.go computes with paths, queries.go compares paths with queries.
package ltreefuncs
