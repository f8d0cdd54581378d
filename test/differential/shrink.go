package main

import (
	"context"
	"regexp"
	"strings"
	"time"

	"github.com/lichendb/lichen/internal/sql/generate"
)

// shrinkBudget and shrinkTime bound how many statements shrinking one difference may run, and for how long.
const (
	shrinkBudget = 300
	shrinkTime   = 3 * time.Second
)

var tokenPattern = regexp.MustCompile(`(?s)E?'(?:[^'\\]|''|\\.)*'|"[^"]*"|[\pL_][\pL\pN_.$]*|\d+(?:\.\d+)?|::|[-+*/<>=~!@#%^&|?]+|\s+|.`)

// mutate changes a few tokens of a statement: leaves them out, repeats them, exchanges
// them, or puts something else in their place.
func mutate(r generate.Rand, sql string) string {
	list := tokenPattern.FindAllString(sql, -1)
	for range 1 + r.IntN(4) {
		if len(list) < 2 {
			break
		}
		i, k := r.IntN(len(list)), r.IntN(len(list))
		switch r.IntN(5) {
		case 0:
			list = append(list[:i:i], list[i+1:]...)
		case 1:
			list = append(list[:i:i], append([]string{list[k], " "}, list[i:]...)...)
		case 2:
			list[i], list[k] = list[k], list[i]
		case 3:
			list[i] = r.Pick("NULL", "0", "-1", "9223372036854775807", "1e308", "''", "'{}'", "*", "(SELECT 1)", "ROW(1, NULL)", "ARRAY[1, NULL]", "default", "'infinity'", "2147483648", "(", ")", "DISTINCT", "OVER ()", "::text")
		default:
			n := min(r.IntN(8), len(list)-i)
			list = append(list[:i+n:i+n], list[i:]...)
		}
	}
	return strings.Join(list, "")
}

// shrink leaves pieces out of a statement as long as the same difference shows.
func (t *tester) shrink(ctx context.Context, d difference) difference {
	list := tokenPattern.FindAllString(d.sql, -1)
	budget, until := shrinkBudget, time.Now().Add(shrinkTime)
	for n := max(1, len(list)/2); n > 0; n /= 2 {
		for i := 0; i+n <= len(list) && budget > 0 && time.Now().Before(until); {
			rest := append(list[:i:i], list[i+n:]...)
			s := d.statement
			s.sql = strings.Join(rest, "")
			budget--
			theirs, ours := t.isolated(ctx, s)
			if compare(s, theirs, ours) == d.what && theirs.code != "42601" {
				list, d.sql, d.theirs, d.ours = rest, s.sql, theirs, ours
			} else {
				i++
			}
		}
	}
	return d
}
