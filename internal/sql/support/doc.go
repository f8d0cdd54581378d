// Package support makes the page that lists what SQL there is and what isn't:
// statement by statement, type by type, operator by operator, function by function
// (docs/sql-support.md). Nothing in it is claimed by hand: forms of statements and types
// are tried on a node, operators, functions and parameters come from their registries.
//
// Above it is the command line, which starts a node and connects (Runner); below it
// builtin, types, settings and ddl's list of what is accepted without effect.
//
// statements.txt holds the forms and a statement for each; setup.sql what those refer
// to; postgresql.txt the names of PostgreSQL 15's types and functions, to tell what is
// missing. Read page.go (Write), statements.go (what is tried), then registries.go.
//
// Invariants
//
//  1. A statement of statements.txt works, or is refused as not supported; any other
//     error is a mistake, here or there, and fails the page (outcome).
//  2. The committed page is what Write writes (cli.TestSQLSupport).
package support
