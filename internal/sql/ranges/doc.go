// Package ranges executes the statements about the ranges of tables and their zones: ALTER ...
// SPLIT AT, UNSPLIT and SCATTER, SHOW RANGES, SHOW SURVIVAL, SHOW REGIONS and SHOW ZONE
// CONFIGURATION.
//
// sql calls it with an Env for each statement; it calls the Cluster that the node provides, and
// ddl for the keys that a statement names. Read env.go (Env, Rows), cluster.go (Cluster),
// change.go (what a statement changes, and when), then a file per statement.
//
// Invariants:
//
//	R1. Splits take part in no transaction. The changes to ranges of objects that a
//	    transaction made or changed happen after its commit, or never (do, Pending.Committed;
//	    ranges.slt in sql).
//	R2. A failure after the commit is a warning: the commit stands (Pending.Committed; TestSplitFailsAfterCommit in sql).
package ranges
