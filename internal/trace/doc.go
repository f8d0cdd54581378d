// Package trace records what a statement does: its spans, on the node of its client and on the other nodes that take part in it,
// and how long it waits for other transactions.
//
//	New ─▶ With (the context) ─▶ Start … End ─▶ Trace.Finish ─▶ Spans, Text
//	                               │      ▲
//	                    rpc sends Remote, └ and adds what comes back with the answer (Span.Include)
//
// Statements are traced that somebody asked about (EXPLAIN ANALYZE (DEBUG)), that were chosen for export, or whose kind was slow a
// moment ago. For all others the cost is a look at the context where a request is made.
//
// It is a leaf: whatever a statement passes through may use it. Read trace.go (Trace, Span), context.go (Start), wire.go (the bytes
// between nodes), text.go (for people), waits.go, statement.go (what is exported).
//
// Invariants:
//
//  1. A trace has at most as many spans as it was made for, and each text of one has a limit; what is left out is counted
//     (Trace.addLocked; TestLimits).
//  2. What comes from another node lies within the span of the call that brought it, whatever the other node's clock says
//     (Span.Include; TestInclude).
//  3. What tells values of rows is in Record.Keys and Record.Err only, so that who exports spans can leave it out
//     (TestTracesExported in server).
//
// A Trace is safe for concurrent use. A Span belongs to one goroutine.
package trace
