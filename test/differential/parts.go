package main

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
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

// ourPartFails tells whether the error of Lichen is that of a part, which comes before what rows violate in
// PostgreSQL.
func ourPartFails(ctx context.Context, t *tester, d difference) bool {
	return t.somePartFails(ctx, d, d.ours, false)
}

// theirPartFails tells whether the error of PostgreSQL is that of a part, which comes before what rows violate in
// Lichen.
func theirPartFails(ctx context.Context, t *tester, d difference) bool {
	return t.somePartFails(ctx, d, d.theirs, false)
}

// somePartFails looks for a part that fails with an error, among those whose turn is open if it must be.
func (t *tester) somePartFails(ctx context.Context, d difference, failed answer, mustBeOpen bool) bool {
	asked := 0
	for _, text := range t.texts(d, mustBeOpen) { // the query may be that of a view or a cursor
		tokens := tokenPattern.FindAllString(text, -1)
		for _, p := range partsOf(tokens) {
			first := d.theirs.code != "" && (p.inSetOperation(tokens) || !p.decided(tokens)) // of two errors
			if mustBeOpen && !first && !p.orderIsOpen(tokens) {
				continue
			}
			byRow := false
			for _, sql := range p.alone(tokens) {
				if asked++; asked > maxParts || time.Now().After(t.explainUntil) {
					return false
				}
				alike, otherwise := t.failsAlike(ctx, d.before, sql, failed)
				if alike {
					return true
				}
				byRow = byRow || otherwise
			}
			if byRow && t.someRowFails(ctx, d.before, p.ofEachRow(tokens), failed) {
				return true
			}
		}
	}
	return false
}

// someRowFails reports whether a part fails for a row: which of several rows comes first is open.
func (t *tester) someRowFails(ctx context.Context, before, queries []string, failed answer) bool {
	return slices.ContainsFunc(queries, func(sql string) bool {
		if time.Now().After(t.explainUntil) {
			return false
		}
		alike, _ := t.failsAlike(ctx, before, sql, failed)
		return alike
	})
}

// maxParts bounds how many questions one error is worth.
const maxParts = 4000

// noEquality is the error (42883) of comparing records, which comes with the first field that can't be compared.
const noEquality = "could not identify an equality operator for type "

// isDataError reports whether an answer may be the error of a value. 0A000 and 42804 are such errors
// where PostgreSQL has them of a part, which it has read as a part of the whole without one.
func isDataError(a answer) bool {
	return strings.HasPrefix(a.code, "22") || slices.Contains([]string{"23514", "0A000", "42804"}, a.code) || strings.HasPrefix(a.message, noEquality)
}

// failsAlike reports whether a query fails in both databases with an error; otherwise reports whether
// both have errors of values of which one is another, as that of another row.
func (t *tester) failsAlike(ctx context.Context, before []string, sql string, failed answer) (alike, otherwise bool) {
	ours := t.lichen.again(ctx, before, sql)
	if !isDataError(ours) {
		return false, false
	}
	theirs := t.postgres.again(ctx, before, sql)
	if ours.code == failed.code && theirs.code == failed.code && theirs.message == failed.message {
		return true, false
	}
	return false, isDataError(theirs)
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
	tableName  = regexp.MustCompile(`^([tv]\d|vt)$`)
	aliasName  = regexp.MustCompile(`^a\d+$`)
	// functionName matches those of functions in FROM, and of queries of WITH.
	functionName = regexp.MustCompile(`^[a-z]\w*$`)
)

// alone are queries that compute a part: as a query, a value or a function in FROM. The tables whose
// columns it names are read in full.
func (p part) alone(tokens []string) (queries []string) {
	text := p.text(tokens)
	if queryStart.MatchString(text) {
		queries = append(queries, "SELECT * FROM ("+text+") p")
		if with := withHead.FindStringSubmatch(strings.Join(tokens[max(p.open-24, 0):p.open], "")); with != nil {
			queries = append(queries, "WITH RECURSIVE "+with[1]+with[2]+" AS ("+text+") SELECT * FROM "+with[1])
		}
		return queries
	}
	_, sources, ok := p.sources(tokens)
	if !ok {
		return nil
	}
	queries = p.computed(tokens, sources)
	for i, source := range sources {
		for _, side := range sidesOf(source) {
			single := slices.Clone(sources)
			single[i] = side
			queries = append(queries, p.computed(tokens, single)...)
		}
	}
	return queries
}

// sidesOf are the sides of a set operation in FROM, each with the alias of the whole: what a condition on the
// result reads may be computed for the rows of either side, before they are compared.
func sidesOf(source string) (list []string) {
	tokens := tokenPattern.FindAllString(source, -1)
	open := slices.Index(tokens, "(")
	if open < 0 || tokens[0] != "LATERAL" {
		return nil
	}
	whole := opening(tokens, open)
	for _, p := range partsOf(tokens) {
		if p.open > open && p.end < whole.end && nested(tokens[open+1:p.open]) == 0 && queryStart.MatchString(p.text(tokens)) &&
			(setOperation(tokens[open+1:p.open], -1) || setOperation(tokens[p.end+1:whole.end], 1)) {
			list = append(list, "LATERAL ("+p.text(tokens)+")"+strings.Join(tokens[whole.end+1:], ""))
		}
	}
	if len(list) > 0 && strings.Contains(strings.Join(tokens[whole.end-4:whole.end], ""), "LIMIT") {
		return nil
	}
	return list
}

// setOperation reports whether the word of a set operation comes first on one side of a query.
func setOperation(tokens []string, step int) bool {
	if step < 0 {
		tokens = slices.Clone(tokens)
		slices.Reverse(tokens)
	}
	for _, tok := range tokens {
		if word := strings.TrimSpace(tok); word != "" && word != "ALL" && word != "DISTINCT" {
			return slices.Contains(setOperations, word)
		}
	}
	return false
}

// nested is how deep within parentheses the end of tokens is.
func nested(tokens []string) (depth int) {
	for _, tok := range tokens {
		depth += nesting(tok, "(", ")")
	}
	return depth
}

// withHead matches what stands before the query of a WITH.
var withHead = regexp.MustCompile(`(\w+)( ?\([\w, ]*\))? AS (?:(?:NOT )?MATERIALIZED )?$`)

func (p part) text(tokens []string) string {
	return strings.TrimSpace(strings.Join(tokens[p.open+1:p.end], ""))
}

// computed are queries that compute a part over what stands in FROM.
func (p part) computed(tokens, sources []string) (queries []string) {
	from, text := "", p.text(tokens)
	if len(sources) > 0 {
		from = " FROM " + strings.Join(sources, ", ")
	}
	queries = append(queries, "SELECT ("+text+")"+from)
	if p.open > 0 {
		call := tokens[p.open-1] + "(" + text + ")"
		inFrom := strings.Join(append(slices.Clone(sources), call), ", ") + declared(tokens[p.end+1:])
		queries = append(queries, "SELECT "+call+from, "SELECT * FROM "+inFrom)
	}
	if from == "" {
		queries = append(queries, "SELECT * FROM ROWS FROM ("+text+")")
	}
	return queries
}

// maxRows bounds how many rows of a source a part is computed for one by one.
const maxRows = 24

// ofEachRow are queries that compute a part for single rows of each source whose columns it names.
func (p part) ofEachRow(tokens []string) (queries []string) {
	names, sources, ok := p.sources(tokens)
	if queryStart.MatchString(p.text(tokens)) || !ok {
		return nil
	}
	for i, source := range sources {
		for row := range maxRows {
			single := slices.Clone(sources)
			single[i] = fmt.Sprintf(`LATERAL (SELECT * FROM %s ORDER BY %s::text COLLATE "C" LIMIT 1 OFFSET %d) %s`, source, names[i], row, names[i])
			queries = append(queries, p.computed(tokens, single)...)
		}
	}
	return queries
}

// declared is the list of columns that follows a function in FROM, if there is one.
func declared(tokens []string) string {
	return columnList.FindString(strings.Join(tokens[:min(len(tokens), 24)], ""))
}

var columnList = regexp.MustCompile(`^ AS (\w+ ?)?\([^()]*\)`)

// maxSources bounds the FROM clause of a part.
const maxSources = 4

// sources are what a part names in FROM, with the names: tables, and queries and functions in FROM with what
// these name. It is false if there is anything else, or too much.
func (p part) sources(tokens []string) (names, sources []string, ok bool) {
	left := foreignNames(tokens[p.open+1 : p.end])
	for len(left) > 0 {
		name := left[0]
		left = left[1:]
		if slices.Contains(names, name) {
			continue
		}
		source := sourceOf(name, tokens, p)
		if source == nil || len(names) == maxSources {
			return nil, nil, false
		}
		names, sources = append(names, name), append(sources, strings.Join(source, ""))
		left = append(left, foreignNames(source)...)
	}
	if len(sources) == 0 && tokens[0] == "ALTER" { // what USING reads
		if words := strings.Fields(alterTable.FindString(strings.Join(tokens, ""))); len(words) > 0 {
			sources = words[len(words)-1:]
			names = sources
		}
	}
	slices.Reverse(sources) // what a source names comes before it
	slices.Reverse(names)
	return names, sources, true
}

// foreignNames are the tables and aliases that tokens name and do not define.
func foreignNames(tokens []string) (names []string) {
	for i, tok := range tokens {
		name := ""
		if m := qualifier.FindStringSubmatch(tok); m != nil && m[1] != "pg_catalog" { // which is a schema
			name = m[1]
		} else if aliasName.MatchString(tok) && !defines(tokens, i) {
			name = tok // a row
		}
		defined := func(i int) bool { return tokens[i] == name && (defines(tokens, i) || namesWith(tokens, i)) }
		if name != "" && !slices.ContainsFunc(positions(tokens), defined) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func positions(tokens []string) []int {
	list := make([]int, len(tokens))
	for i := range list {
		list[i] = i
	}
	return list
}

// defines reports whether the token at i is the alias of what stands before it in FROM.
func defines(tokens []string, i int) bool {
	i = beforeAlias(tokens, i)
	return i >= 0 && (tokens[i] == ")" || tableName.MatchString(tokens[i]) || withNamed(tokens, i) >= 0)
}

// withNamed is the position of the name of a query of WITH that the token at i reads, -1 if there is none.
func withNamed(tokens []string, i int) int {
	if !functionName.MatchString(tokens[i]) {
		return -1
	}
	return slices.IndexFunc(positions(tokens[:i]), func(j int) bool { return tokens[j] == tokens[i] && namesWith(tokens, j) })
}

// withClause is the WITH clause in which the token at i names a query, nil if it can't be told where it ends.
func withClause(tokens []string, i int) []string {
	start, depth := i, 0
	for ; start >= 0 && (tokens[start] != "WITH" || depth > 0); start-- {
		depth += nesting(tokens[start], ")", "(")
	}
	end := i
	for ; end < len(tokens) && (tokens[end] != "SELECT" || depth > 0); end++ {
		if depth += nesting(tokens[end], "(", ")"); depth < 0 {
			return nil
		}
	}
	if start < 0 || end == len(tokens) {
		return nil
	}
	return tokens[start:end]
}

// nesting is 1 for what opens, -1 for what closes.
func nesting(token, opens, closes string) int {
	switch token {
	case opens:
		return 1
	case closes:
		return -1
	}
	return 0
}

// namesWith reports whether the token at i is the name of a query of WITH.
func namesWith(tokens []string, i int) bool {
	return withTail.MatchString(strings.Join(tokens[i+1:min(i+24, len(tokens))], ""))
}

// withTail matches what follows the name of a query of WITH.
var withTail = regexp.MustCompile(`^ ?(\([\w, ]*\))? AS ((NOT )?MATERIALIZED )?\((SELECT|WITH|VALUES)`)

// beforeAlias is the position of the last token of what has an alias.
func beforeAlias(tokens []string, i int) int {
	for i--; i >= 0 && (strings.TrimSpace(tokens[i]) == "" || slices.Contains(aliasWords, tokens[i])); i-- {
	}
	return i
}

// aliasWords may stand before an alias.
var aliasWords = []string{"AS", "WITH", "ORDINALITY"}

// sourceOf is what stands in FROM under a name, with its alias and the names of its columns: a table, a query
// or a function. It is nil if there is none outside of p.
func sourceOf(name string, tokens []string, p part) []string {
	if tableName.MatchString(name) {
		return []string{name}
	}
	for i, tok := range tokens {
		if tok != name || i > p.open && i < p.end || !defines(tokens, i) {
			continue
		}
		last := beforeAlias(tokens, i)
		if named := withNamed(tokens, last); named >= 0 {
			return readWith(tokens, named, name)
		}
		if tokens[last] != ")" {
			return []string{tokens[last], " ", name}
		}
		q, end := closing(tokens, last), i
		if i+1 < len(tokens) && tokens[i+1] == "(" {
			end = opening(tokens, i+1).end
		}
		switch before := strings.TrimSpace(strings.Join(tokens[max(q.open-4, 0):q.open], "")); {
		case before == "ROWS FROM":
			return append([]string{"ROWS FROM "}, tokens[q.open:end+1]...)
		case q.open > 0 && functionName.MatchString(tokens[q.open-1]):
			return tokens[q.open-1 : end+1]
		}
		return append([]string{"LATERAL "}, tokens[q.open:end+1]...)
	}
	return nil
}

// readWith reads the query of WITH whose name is the token at i, under an alias.
func readWith(tokens []string, i int, alias string) []string {
	with := withClause(tokens, i)
	if with == nil {
		return nil
	}
	read := append([]string{"LATERAL ", "("}, with...)
	return append(read, "SELECT", " ", "*", " ", "FROM", " ", tokens[i], ")", " ", alias)
}

// closing and opening are the parts whose parentheses stand at a position.
func closing(tokens []string, at int) part {
	list := partsOf(tokens)
	return list[slices.IndexFunc(list, func(p part) bool { return p.end == at })]
}

func opening(tokens []string, at int) part {
	list := partsOf(tokens)
	return list[slices.IndexFunc(list, func(p part) bool { return p.open == at })]
}

// clauses are the words that a clause of a query begins with; open are those whose parts SQL gives no
// order to.
var (
	clauses  = []string{"SELECT", "FROM", "WHERE", "ON", "HAVING", "GROUP", "ORDER", "LIMIT", "VALUES", "RETURNING", "SET", "WITH"}
	open     = []string{"FROM", "WHERE", "ON", "HAVING", "WITH"}
	deciders = []string{"coalesce", "COALESCE"}
)

// inSetOperation reports whether a part is in one of the sides of UNION, INTERSECT or EXCEPT, which may come
// in any order.
func (p part) inSetOperation(tokens []string) bool {
	return between(tokens[:p.open], -1) || between(tokens[p.end+1:], 1)
}

// between reports whether a set operation stands around what is on one side of tokens, which step leads
// away from.
func between(tokens []string, step int) bool {
	at, depth := 0, 0
	if step < 0 {
		at = len(tokens) - 1
	}
	for ; at >= 0 && at < len(tokens); at += step {
		switch tok := tokens[at]; {
		case tok == "(":
			depth += step
		case tok == ")":
			depth -= step
		case depth == 0 && slices.Contains(setOperations, tok):
			return true
		}
		depth = max(depth, 0)
	}
	return false
}

var setOperations = []string{"UNION", "INTERSECT", "EXCEPT"}

// orderIsOpen reports whether SQL leaves open if and when a part is computed. The operand and the first
// condition of a CASE are computed whenever that is.
func (p part) orderIsOpen(tokens []string) bool {
	decided, isOpen := p.turn(tokens)
	return isOpen && !decided
}

// decided reports whether CASE or COALESCE decide if a part is computed.
func (p part) decided(tokens []string) bool {
	decided, _ := p.turn(tokens)
	return decided
}

// turn tells whether CASE or COALESCE decide if a part is computed, and whether a clause around it leaves that open.
func (p part) turn(tokens []string) (decided, isOpen bool) {
	depth, cases, branches, clause := 0, 0, 0, ""
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
				return true, false
			}
			clause, branches = "", 0
		case tok == "END":
			cases++
		case cases == 0 && slices.Contains([]string{"WHEN", "THEN", "ELSE"}, tok):
			branches++
		case tok == "CASE":
			if cases == 0 && branches > 1 {
				return true, false
			}
			if cases == 0 {
				branches = 0
			}
			cases = max(cases-1, 0)
		case clause == "" && slices.Contains(clauses, tok):
			clause = tok
			isOpen = isOpen || slices.Contains(open, tok)
		}
	}
	return false, isOpen
}
