// Package gather has other nodes run parts of a plan where their rows are, and puts together what they answer.
//
// Above it: exec. Below it: operator, scan, fragment (what travels), kv (delegated reads).
//
// Read gather.go (the operator), stream.go (what one node does for it).
//
//	spans of the scan ──operator.Fragments.Divide──► node 1: spans │ node 2: spans │ …
//	                                           │ one request after the other, each answered by rows and
//	                                           ▼ where the node has stopped
//	consumer ◄── an answer of each node in turn; the next one is under way meanwhile
//
// A request stands for itself (fragment.Request): it names the spans that are left, and its answer says which of them
// are done. So a node that dies, or whose ranges move, costs the request that is under way and nothing else: what is
// left is read from here.
//
// Invariants:
//
//  1. A row counts exactly once: the spans of an answer are done when it is taken, and only then
//     (stream.take; TestNodeDies, TestRangesMove in server).
//
//  2. All that counts was read in one snapshot: the transaction records an answer, or has it done again if
//     its snapshot has moved meanwhile (kv.Delegated).
//
//  3. No more than two answers of a node are here at once, the one that is read and the next. Their memory is
//     reserved before the first request (window, gatherOp.keep; TestDistributedMemory in sql).
//
//  4. The order of rows depends on the data and where they lie, never on which node is faster (gatherOp.next; TestDistributedQueries in sql).
//
// Concurrency: an operator belongs to one goroutine; each request has one that waits for its answer, and that touches
// nothing else of the operator.
package gather
