// Package intquery is the type query_int of PostgreSQL's extension intarray: a condition on which integers a set has.
//
// Read boolquery for its operators.
package intquery

import (
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/sql/boolquery"
)

// Query is a condition.
type Query struct{ q *boolquery.Query[int32] }

// maxDigits bounds an integer with its sign.
const maxDigits = 15

var syntax = boolquery.Syntax[int32]{Scan: scan, Missing: boolquery.ErrSyntax, Blanks: " "}

// Parse reads a query. step is called with the number of bytes of each integer.
func Parse(s string, step func(int) error) (*Query, error) {
	q, err := syntax.Parse(s, step)
	if err != nil {
		return nil, err
	}
	return &Query{q}, nil
}

// Matches reports whether the condition holds for a set that has the integers which has reports.
func (q *Query) Matches(has func(n int32) bool) bool {
	return q.q.Matches(func(n *int32) bool { return has(*n) })
}

// Condition returns the condition itself.
func (q *Query) Condition() *boolquery.Query[int32] { return q.q }

// scan reads an integer as C does: one that begins with 0 is octal as far as its digits are.
func scan(s string) (n int32, rest string, err error) {
	end := 0
	for end < len(s) && ('0' <= s[end] && s[end] <= '9' || end == 0 && s[end] == '-') {
		end++
	}
	if end == 0 {
		return 0, s, boolquery.ErrNone
	}
	if end > maxDigits {
		return 0, s, boolquery.ErrSyntax
	}
	sign, digits := "", s[:end]
	if digits[0] == '-' {
		sign, digits = "-", digits[1:]
	}
	base := 10
	if strings.HasPrefix(digits, "0") {
		base = 8
		if i := strings.IndexAny(digits, "89"); i >= 0 {
			digits = digits[:i]
		}
	}
	if digits == "" { // a sign alone
		return 0, s[end:], nil
	}
	v, err := strconv.ParseInt(sign+digits, base, 32)
	if err != nil {
		return 0, s, boolquery.ErrSyntax
	}
	return int32(v), s[end:], nil
}

// AppendText appends the text of a query.
func (q *Query) AppendText(dst []byte) []byte {
	return q.q.AppendText(dst, func(dst []byte, n *int32) []byte { return strconv.AppendInt(dst, int64(*n), 10) })
}
