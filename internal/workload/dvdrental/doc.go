// Package dvdrental is a DVD-rental business of 15 tables: its schema, data, and the
// operations that its benchmark measured, inserts of payments and a select with a join.
//
// Above it is the command line; below it workload/dataset. tables.sql is the schema in
// the dialect it was published in (STRING, FAMILY, INDEX within CREATE TABLE),
// tables_postgresql.sql the same for a PostgreSQL server, links.sql what follows the
// data, since stores have a manager and staff has a store. Read dvdrental.go (Set,
// Operations), then rows.go and words.go (the generated data).
//
// Invariants
//
//  1. Every foreign key of the data finds its row, whatever the scale (cli.TestDVDRental).
//  2. A payment names the customer and the staff of its rental (rental).
package dvdrental
