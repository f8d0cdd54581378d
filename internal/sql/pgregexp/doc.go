// Package pgregexp matches PostgreSQL's advanced regular expressions.
//
// Compile translates an expression for Go's package regexp (translate.go; escape.go has escapes and
// brackets). What that package does not know, back references and lookaround, and what it would take
// otherwise outside of ASCII, is matched by backtracking (backtrack.go). Searches of long texts look
// whether their statement goes on (search.go).
//
// A Regexp is immutable and may be shared.
package pgregexp
