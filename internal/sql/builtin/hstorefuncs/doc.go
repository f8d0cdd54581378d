// Package hstorefuncs declares the operators and functions of the extension hstore, over the values of package hstore.
//
// overloads.go lists them; build.go makes values, read.go takes them apart, json.go turns them into JSON, record.go fills rows
// from them.
package hstorefuncs
