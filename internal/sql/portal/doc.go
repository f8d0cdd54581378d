// Package portal holds the portals of sessions: statements that run a number of rows at a time, and
// cursors, which move over rows.
//
// sql executes statements and gives portals what they keep: an Execution that was suspended, or a
// Cursor. A transaction's end reaches the portals by Set (TxnEnded, TxnFailed, BeforeCommit,
// TxnCommitted). Below are prepared, which has their statements, and exec, which runs their
// programs. Read portal.go (Portal), cursor.go (Cursor), set.go (Set).
//
// Invariants:
//
//  1. What runs in a transaction ends with it; a cursor WITH HOLD has all its rows before the
//     commit (Set.TxnEnded, BeforeCommit; transactions/cursors.slt in sql).
//  2. The number of portals is bounded, and their parameters count against the memory of the
//     node (Set.Add; TestMemoryOfPortals in sql).
package portal
