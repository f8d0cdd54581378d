// Package sqlnode is the SQL part of a node: the catalog, the SQL server, and what SQL sees of
// the cluster. It stands on the key-value part (kvnode) and connects both with the SQL parts of
// the other nodes.
//
// Above it is node, which adds membership and the service for clients, and sim, which opens sessions on nodes of
// a simulated cluster. Below it are sql and kvnode.
//
//	New ─▶ questions of other nodes are answered, with an error before Open
//	Open ─▶ catalog loaded, gateway registered, SQL server there (again until it succeeds)
//	Start ─▶ dropped data and forgotten temporary schemas are swept up
//	(what runs by Options.Go ends, sessions are closed) ─▶ Close
//
// Read node.go (Node, Options), catalog.go (how catalogs agree on changes), nodes.go (sessions,
// locks and cancellations on other nodes), ranges.go (statements about ranges), fragments.go (parts of other nodes' queries), settings.go,
// clean.go (the space of what was dropped).
//
// # Invariants
//
//  1. No session begins before the node is registered as one that serves SQL: the others tell it
//     of every change of the catalog from then on. (Open; Server returns nil until then;
//     TestOpenAgain, TestChangesReachOthers)
//  2. A question of another node is answered by an open SQL server or fails. (answer;
//     TestQuestions)
//  3. The record of a split is written before the range is split, and dropped data loses its
//     records before its rows: no merge undoes a split, no record outlives its table. (SplitAt,
//     ClearSpan; TestSplitRecords)
package sqlnode
