package sql_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
)

// TestDeepExpressions computes expressions as deep as the parser takes them, over columns and
// parameters, by rows and by columns.
func TestDeepExpressions(t *testing.T) {
	n := newNode(t, fs.NewMem())
	defer closeNode(t, n)
	s := n.session(t)
	defer s.Close()
	mustExec(t, s, "CREATE TABLE d (k INT PRIMARY KEY, b BOOL, s TEXT)")
	mustExec(t, s, "INSERT INTO d VALUES (1, true, 'x'), (2, false, NULL)")
	const depth = 3900
	nested := func(open, inner, end string, levels int) string {
		return strings.Repeat(open, levels) + inner + strings.Repeat(end, levels)
	}
	for _, vectorize := range []string{"on", "off"} {
		mustExec(t, s, "SET vectorize = "+vectorize)
		for _, q := range []struct{ text, want string }{
			{"SELECT sum(" + nested("k + ", "1", "", depth) + ") FROM d", strconv.Itoa(3*depth + 2)},
			{"SELECT count(*) FROM d WHERE " + nested("NOT ", "b", "", depth), "1"},
			{"SELECT max(length(" + nested("s || ", "s", "", depth) + ")) FROM d", strconv.Itoa(depth + 1)},
			{"SELECT count(*) FROM d WHERE " + nested("k = 7 OR b AND (", "true", ")", depth/4), "1"},
			{"SELECT sum(" + nested("abs(", "k", ")", depth/4) + ") FROM d", "3"},
			{"SELECT sum(" + nested("CASE WHEN b THEN k ELSE ", "5", " END", depth/4) + ") FROM d", "6"},
		} {
			if got := answer(t, s, q.text); got != q.want {
				t.Errorf("vectorize %s: %.40s…: %s instead of %s", vectorize, q.text, got, q.want)
			}
		}
	}
}
