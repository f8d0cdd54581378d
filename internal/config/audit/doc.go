// Package audit reads the rules that say what the audit log tells, and applies them. A rule is a line of three fields: whose
// statements it is about, what relations, and which actions are told:
//
//	# role        relation           actions
//	backup        all                none
//	+contractors  all                all
//	all           bank.*.accounts    read,write
//	all           all                ddl,role,denied
//
// Above it: config/setting (the cluster setting that holds the rules), sql/audit (what a statement does). Below it:
// config/rulelines. Reading order: audit.go, parse.go.
//
// Invariants:
//
//  1. What is not understood is an error with its line: a rule is never left out or taken for another (TestParse).
//  2. The first rule about a role and a relation decides, whatever it tells (Rules.Told; TestTold).
//
// Rules do not change.
package audit
