// Package eventlog keeps what happened in a cluster that its operators want to look back at: nodes that came and went, changes
// of tables, roles and settings.
//
//	Add ─▶ queue ─▶ Run ─▶ a record for each event, in the system's keys ─▶ List, on any node
//
// Add waits for nothing, so that no statement is slower for it: an event is there a moment after what it tells. One that can't be
// written within writeTimeout is dropped, as is one for which the queue has no room; the next that is written tells how many.
//
// Above it: server, and sql by a function. Below it: kv. Read eventlog.go.
//
// Invariants:
//
//  1. At most MaxKept events are kept, and what each node has added since it looked last (Log.prune; TestKept).
//  2. An event that was dropped is counted in the next (Log.write; TestDropped).
//
// A Log is safe for concurrent use; Run is called once.
package eventlog
