package main

import (
	"context"
	"regexp"
	"strings"
)

// shrinkBudget bounds how many statements shrinking one difference may run.
const shrinkBudget = 300

var tokenPattern = regexp.MustCompile(`(?s)E?'(?:[^'\\]|''|\\.)*'|"[^"]*"|[\pL_][\pL\pN_.$]*|\d+(?:\.\d+)?|::|[-+*/<>=~!@#%^&|?]+|\s+|.`)

// shrink leaves pieces out of a statement as long as the same difference shows.
func (t *tester) shrink(ctx context.Context, d difference) difference {
	list := tokenPattern.FindAllString(d.sql, -1)
	budget := shrinkBudget
	for n := max(1, len(list)/2); n > 0; n /= 2 {
		for i := 0; i+n <= len(list) && budget > 0; {
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
