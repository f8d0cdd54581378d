// Command differential runs generated SQL against PostgreSQL 15 and Lichen and compares
// what they answer: SQLSTATE, the names and types of the columns, and the rows,
// in order where the order is total and as multisets elsewhere.
//
//	go run ./test/differential -postgres URL -lichen URL -n 100000 -seed 1
//
// With -alone half of the statements are mutated and run on Lichen only, which must neither
// fail inside, hang nor end. With -start PROGRAM the run has a node of its own.
//
// Both databases should be empty: the program creates and drops tables in the
// schema diff. A run depends on the seed only. Each difference is printed,
// shrunk, with the seed of its round: -seed S -n 1 repeats that round alone.
//
// With -grammar DIRECTORY no database is asked: the run tells which productions of the parser's
// grammar the logic tests of the directory have and generated statements do not (grammar.go).
//
// With -relations nothing is compared with PostgreSQL: package metamorphic checks on Lichen that
// answers relate to each other as they must (relations.go).
//
// Reading order: main.go (rounds and the report), server.go (asking a database), node.go (a node
// of the run's own), compare.go, shrink.go. Statements come from internal/sql/generate; catalog.go
// adds calls of the functions and operators that both catalogs list, and casts. known.go holds the
// differences that docs/differences.md explains, explain.go, parts.go and variants.go ask the databases whether a
// difference is one of them. Errors in what one database does not compute are counted: with more than
// mostUnneeded in 10,000 statements a run fails.
package main
