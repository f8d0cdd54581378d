// Package statview makes the rows of the views of lichen_internal that tell what statements and transactions have cost, who waited
// for whom, and which indexes are used.
//
//	sql (a Node of figures on each node) ─▶ Source.Nodes ─▶ Views ─▶ Rows
//
// pgcatalog has the views beside its own, and is their Source and their Rows; sql fills the figures in, on the node that is asked
// and on others. Below it are stmtstats and catalog. Read statview.go (Node, Source, Views).
//
// Invariants:
//
//  1. A user sees the figures of its own statements and those of roles that it is a member of, unless it may see all
//     (Source.MaySee; TestStatementStatistics in sql).
package statview
