package main

import (
	"regexp"
	"slices"
	"strings"
)

// maxShown bounds the lines shown of a difference.
const maxShown = 12

// difference is a line that one of two dumps has.
type difference struct {
	line  string
	mine  bool // of the first
	after string
}

// restrict are commands of psql with a key that is drawn anew for each dump.
var restrict = regexp.MustCompile(`^\\(un)?restrict `)

// plain are the lines of a dump that count: no comments, no empty ones. The rows of a COPY
// come in no order.
func plain(dump string) []string {
	var out []string
	rows := -1 // where those of a COPY begin
	for line := range strings.SplitSeq(dump, "\n") {
		line = strings.TrimRight(line, " ")
		switch {
		case rows >= 0 && line == `\.`:
			slices.Sort(out[rows:])
			rows = -1
		case rows >= 0:
		case line == "" || strings.HasPrefix(line, "--") || restrict.MatchString(line):
			continue
		case copies.MatchString(line):
			out, rows = append(out, line), len(out)+1
			continue
		}
		out = append(out, line)
	}
	return out
}

// copies are lines that rows follow.
var copies = regexp.MustCompile(`^COPY .* FROM stdin;$`)

// compare returns the lines that differ between two dumps, whose statements may come in
// another order if unordered is set: then each side's lines that the other has not.
func compare(a, b string, unordered bool) []difference {
	x, y := plain(a), plain(b)
	if slices.Equal(x, y) {
		return nil
	}
	var out []difference
	count := map[string]int{}
	for _, line := range y {
		count[line]++
	}
	for _, line := range x {
		if count[line]--; count[line] < 0 {
			out = append(out, difference{line: line, mine: true})
		}
	}
	for _, line := range y {
		if count[line] > 0 {
			count[line]--
			out = append(out, difference{line: line})
		}
	}
	if len(out) == 0 && !unordered {
		for i := range x {
			if x[i] != y[i] {
				return []difference{{line: x[i], mine: true, after: "at another place"}, {line: y[i]}}
			}
		}
	}
	return out
}

// show prints differences as diff does.
func show(list []difference) string {
	var b strings.Builder
	for i, d := range list {
		if i == maxShown {
			b.WriteString("  …\n")
			break
		}
		sign := "> "
		if d.mine {
			sign = "< "
		}
		b.WriteString("  " + sign + d.line)
		if d.after != "" {
			b.WriteString("  (" + d.after + ")")
		}
		b.WriteString("\n")
	}
	return b.String()
}
