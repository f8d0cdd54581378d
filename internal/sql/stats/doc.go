// Package stats knows what tables hold: it analyses them, when it is asked to and when they have
// changed enough, keeps what it found in the catalog, and follows what other nodes found.
//
// Above it is sql, which asks for the statistics of a table when it plans and reports how many rows
// its transactions have changed; below it catalog (the stored form), exec and kv. Read tables.go
// (Tables), then analysis.go (which rows are read) and sample.go with extended.go (what is learned of them), and
// intxn.go (InTxn, what a transaction knows beside).
//
// Invariants:
//
//	S1. Every node plans by the newest stored statistics (Tables.Follow, set;
//	    TestStatisticsOfAllNodes in server; TestStatisticsSurviveRestart in sql).
//	S2. Statistics are no part of a transaction that uses them: reading and storing them makes
//	    nobody wait, and a collection in the background reads the past (collect, Store;
//	    TestStatisticsInTransactions in sql).
//	S3. What a transaction has collected and changed is nobody else's before its commit
//	    (InTxn.Committed, Undone; TestStatisticsInTransactions in sql).
//	S4. A table's sample has maxSample rows at most, and rows from all that were read
//	    (sample.thin).
//
// A goroutine analyses tables while there is something to do, another follows the stored
// statistics from the first session on. Tables is safe for use by any goroutine.
package stats
