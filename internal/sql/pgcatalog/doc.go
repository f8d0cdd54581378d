// Package pgcatalog is the catalog as PostgreSQL shows it: the relations of
// pg_catalog and information_schema, and those of lichen_internal about sessions,
// queries, transactions, locks and waits; the names of reg* values, and the functions
// that print definitions.
//
// Above it: the session, which makes a Catalog and hands it to execution (as
// operator.VirtualProvider), to functions (as call.Catalog) and to the text forms
// (as types.Names). Below it: catalog (descriptors), builtin and types (what
// exists), settings.
//
// Reading order: schema.go (the relations and their columns, read from
// tables.txt), Catalog (catalog.go), snapshot.go (what a relation's rows are
// made from), rows.go (how they are made), lookup.go (the indexes of relations, by which a part
// of the rows is made), fixed.go (rows that never change), then a file per area of relations: class.go,
// index.go, constraint.go, typ.go, proc.go, cluster.go, activity.go, report.go
// (what the nodes report of their sessions and locks) and internal.go, infoschema
// files; print.go (definitions) and names.go.
//
// tables.txt lists the columns as PostgreSQL 15 has them; types.txt the input
// and output functions and default operator classes of the types.
//
// Invariants:
//
//  1. Every relation that is listed has the columns of PostgreSQL 15, in order
//     (TestColumns).
//  2. Rows agree across relations: every oid that refers to another relation is
//     found there, or is 0 (TestReferences).
//  3. Listings pin nothing: they never wait for DDL, and may be overtaken by it (they read by
//     catalog.Collection.Peek and its like, and by Descriptors).
//  4. A lookup by an index yields the rows that reading the whole relation does, those
//     with the key: a generator makes all rows of the objects in its scope, the scope has
//     all objects with such rows, and the writer drops the others (TestCatalogIndexes in sql).
//
// Concurrency: a Catalog belongs to one session.
//
// It does not: store anything, check privileges, or plan.
package pgcatalog
