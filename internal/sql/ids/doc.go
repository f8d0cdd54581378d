// Package ids gives numbers that no other node gives: those of unique_rowid(), and those that
// transactions have in SQL, with what became of each transaction.
//
// A number is a tick of the clock above the bits of the node, so that numbers rise. sql asks
// other nodes for what their transactions did (Question, Answer); the key-value layers know
// transactions by other ids.
//
// Invariants:
//
//  1. Numbers of a node rise, also where its clock stands still or goes back (Unique.Next,
//     Txns.Next; TestUniqueID).
//  2. A snapshot names as seen only transactions whose effects its statement sees, and no node
//     gives a number below its end afterwards (Txns.unseen, raise; TestTransactionSnapshots and
//     TestTransactionsOfOtherNodes in sql).
package ids
