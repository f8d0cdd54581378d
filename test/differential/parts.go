package main

import (
	"context"
	"regexp"
	"slices"
	"strings"
)

// unneeded is the known difference of errors in what one of the databases does not compute.
const unneeded = "errors in parts of a query that yield nothing"

// mostUnneeded is how many of them are taken as plans that differ, in 10,000 statements; a run
// with more fails.
const mostUnneeded = 10

// tooManyUnneeded reports whether a run met more of them than plans explain.
func (t *tester) tooManyUnneeded() bool {
	const few = 5 // in a short run
	return t.known[unneeded] > max(few, t.asked*mostUnneeded/10000)
}

// partFails tells whether a part of the statement, asked by itself, fails in both databases with the
// error that one of them reports of the whole, so that the other did not come to it; where both
// report one, each of them does. Where Lichen reports it, the part must be one whose turn SQL
// leaves open: in FROM, in a condition or in WITH, and not where CASE or COALESCE decide whether
// it is computed.
func partFails(ctx context.Context, t *tester, d difference) bool {
	for _, failed := range []answer{d.theirs, d.ours} {
		if failed.code != "" && (!isDataError(failed) || !t.somePartFails(ctx, d, failed, failed.code == d.ours.code)) {
			return false
		}
	}
	return true
}

// somePartFails looks for a part that fails with an error, among those whose turn is open if it must be.
func (t *tester) somePartFails(ctx context.Context, d difference, failed answer, mustBeOpen bool) bool {
	asked := 0
	for _, text := range append([]string{d.sql}, d.before...) { // the query may be that of a view or a cursor
		tokens := tokenPattern.FindAllString(text, -1)
		for _, p := range partsOf(tokens) {
			if mustBeOpen && !p.orderIsOpen(tokens) {
				continue
			}
			for _, sql := range p.alone(tokens) {
				if asked++; asked > maxParts {
					return false
				}
				if t.failsAlike(ctx, d.before, sql, failed) {
					return true
				}
			}
		}
	}
	return false
}

// maxParts bounds how many questions one error is worth.
const maxParts = 400

// isDataError reports whether an answer is the error of a value.
func isDataError(a answer) bool {
	return strings.HasPrefix(a.code, "22") || a.code == "23514" || a.code == "0A000" && unitError.MatchString(a.message)
}

var unitError = regexp.MustCompile(`^unit ".*" not supported for type `)

// failsAlike reports whether a query fails in both databases with an error.
func (t *tester) failsAlike(ctx context.Context, before []string, sql string, failed answer) bool {
	ours := t.lichen.again(ctx, before, sql)
	if ours.code != failed.code {
		return false
	}
	theirs := t.postgres.again(ctx, before, sql)
	return theirs.code == failed.code && theirs.message == failed.message
}

// part is what stands within a pair of parentheses, between two tokens.
type part struct{ open, end int }

// partsOf lists the parts of a statement, inner ones first.
func partsOf(tokens []string) (parts []part) {
	var open []int
	for i, tok := range tokens {
		switch {
		case tok == "(":
			open = append(open, i)
		case tok == ")" && len(open) > 0:
			parts = append(parts, part{open[len(open)-1], i})
			open = open[:len(open)-1]
		}
	}
	return parts
}

var (
	queryStart = regexp.MustCompile(`^(SELECT|WITH|VALUES)\b`)
	qualifier  = regexp.MustCompile(`^([a-z]\w*)\.`)
	tableName  = regexp.MustCompile(`^[tv]\d$`)
)

// alone are queries that compute a part: as a query, a value or a function in FROM. The tables whose
// columns it names are read in full.
func (p part) alone(tokens []string) (queries []string) {
	text := strings.TrimSpace(strings.Join(tokens[p.open+1:p.end], ""))
	if queryStart.MatchString(text) {
		return []string{"SELECT * FROM (" + text + ") p"}
	}
	from, ok := p.tables(tokens)
	if !ok {
		return nil
	}
	queries = append(queries, "SELECT ("+text+")"+from)
	if p.open > 0 {
		call := tokens[p.open-1] + "(" + text + ")"
		queries = append(queries, "SELECT "+call+from)
		if from == "" {
			queries = append(queries, "SELECT * FROM "+call+declared(tokens[p.end+1:]))
		}
	}
	if from == "" {
		queries = append(queries, "SELECT * FROM ROWS FROM ("+text+")")
	}
	return queries
}

// declared is the list of columns that follows a function in FROM, if there is one.
func declared(tokens []string) string {
	return columnList.FindString(strings.Join(tokens[:min(len(tokens), 24)], ""))
}

var columnList = regexp.MustCompile(`^ AS \w+ ?\([^()]*\)`)

// tables is the FROM clause of what a part names, false if that are not tables alone.
func (p part) tables(tokens []string) (from string, ok bool) {
	var list []string
	for _, tok := range tokens[p.open+1 : p.end] {
		m := qualifier.FindStringSubmatch(tok)
		if m == nil || slices.Contains(list, m[1]) || slices.Contains(tokens[p.open+1:p.end], m[1]) { // or an alias within the part
			continue
		}
		list = append(list, m[1])
	}
	for i, name := range list {
		if tableName.MatchString(name) {
			continue
		}
		at := slices.Index(tokens, name)
		if at < 2 || !tableName.MatchString(tokens[at-2]) {
			return "", false
		}
		list[i] = tokens[at-2] + " " + name
	}
	if len(list) == 0 {
		return "", true
	}
	return " FROM " + strings.Join(list, ", "), true
}

// clauses are the words that a clause of a query begins with; open are those whose parts SQL gives no
// order to.
var (
	clauses  = []string{"SELECT", "FROM", "WHERE", "ON", "HAVING", "GROUP", "ORDER", "LIMIT", "VALUES", "RETURNING", "SET", "WITH"}
	open     = []string{"FROM", "WHERE", "ON", "HAVING", "WITH"}
	deciders = []string{"coalesce", "COALESCE"}
)

// orderIsOpen reports whether SQL leaves open if and when a part is computed.
func (p part) orderIsOpen(tokens []string) bool {
	depth, cases, clause, isOpen := 0, 0, "", false
	for i := p.open - 1; i >= 0; i-- {
		tok := tokens[i]
		switch {
		case tok == ")":
			depth++
		case tok == "(" && depth > 0:
			depth--
		case depth > 0:
		case tok == "(": // what follows is around the part
			if i > 0 && slices.Contains(deciders, tokens[i-1]) {
				return false
			}
			clause = ""
		case tok == "END":
			cases++
		case tok == "CASE":
			if cases--; cases < 0 {
				return false
			}
		case clause == "" && slices.Contains(clauses, tok):
			clause = tok
			isOpen = isOpen || slices.Contains(open, tok)
		}
	}
	return isOpen
}
