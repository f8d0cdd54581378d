package main

import (
	"regexp"
	"slices"
	"strings"
)

var (
	viewName  = regexp.MustCompile(`^(v\d|vt)$`)
	fromWords = []string{"FROM", "JOIN", ",", "USING"}
)

// fenced are variants of a statement in which OFFSET 0 keeps the planner of PostgreSQL from moving conditions and joins
// across the bounds of its queries and views: all of them at once, then each by itself.
func fenced(sql string) (variants []string) {
	tokens := tokenPattern.FindAllString(sql, -1)
	var bounds []part // open and end are the tokens before and behind a query or view
	for _, p := range partsOf(tokens) {
		if strings.HasPrefix(p.text(tokens), "SELECT") {
			bounds = append(bounds, p)
		}
	}
	for i, tok := range tokens {
		if viewName.MatchString(tok) && i+2 < len(tokens) && aliasName.MatchString(tokens[i+2]) && slices.Contains(fromWords, tokens[beforeAlias(tokens, i)]) {
			bounds = append(bounds, part{i - 1, i + 1})
		}
	}
	if len(bounds) > 1 {
		variants = append(variants, withFences(tokens, bounds))
	}
	for _, b := range bounds {
		variants = append(variants, withFences(tokens, []part{b}))
	}
	return variants
}

// withFences is the statement with a fence around each of the parts.
func withFences(tokens []string, parts []part) string {
	tokens = slices.Clone(tokens)
	for _, p := range parts {
		before, behind := "SELECT * FROM (", ") fenced OFFSET 0"
		if tokens[p.open] != "(" { // a view
			before, behind = "(SELECT * FROM ", " OFFSET 0)"
		}
		tokens[p.open] += before
		tokens[p.end] = behind + tokens[p.end]
	}
	return strings.Join(tokens, "")
}
