// Package catalogfuncs declares what a statement asks of the catalog: names and definitions of objects,
// privileges, comments, sizes, the functions behind views of pg_catalog and information_schema, and
// the types that only catalogs use (aclitem, pg_lsn, xid8).
//
// Objects that do not exist in this system (partitions, replication slots) are answered as
// by a PostgreSQL that has none.
package catalogfuncs
