// Package statementfuncs declares the functions of the extension pg_stat_statements, from which its views are made: what statements
// have cost on all nodes, as the session knows it (call.Catalog).
//
// Read overloads.go (Overloads).
package statementfuncs
