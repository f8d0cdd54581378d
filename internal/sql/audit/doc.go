// Package audit tells the audit log of a node what statements have done.
//
// Above it: the session, which says what a statement was and how it ended. Below it: config/audit (the rules), access
// (what a plan does with relations).
//
//	statement ends ─▶ Statement ── Log.Tell ─▶ an event, if a rule tells any of its Accesses
//
// Reading order: audit.go (Log, Statement), does.go (what kinds of statements do).
//
// Invariants:
//
//  1. An event holds no constant of the statement's text unless the cluster setting sql.log.user_audit.constants says so, and no
//     password ever. (text; TestAuditConstants in server)
//  2. A change of the rules themselves is told whatever the rules are. (Log.Tell; TestAudit in server)
//
// A Log may be used from any goroutine. Writing an event can't fail the statement: an audit log that can't be written is told
// in the node's own log.
package audit
