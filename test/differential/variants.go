package main

import (
	"context"
	"regexp"
	"slices"
	"strings"
)

// maxActions bounds the actions of an ALTER TABLE whose subsets are asked.
const maxActions = 6

// eachErrorIsReal tells whether both databases report each of the two errors of an ALTER TABLE for some of its actions, in one
// statement or in one each, so that only which of them comes first differs.
func eachErrorIsReal(ctx context.Context, t *tester, d difference) bool {
	table, actions := actionsOf(d.sql)
	if len(actions) < 2 || len(actions) > maxActions {
		return false
	}
	var theirs, ours bool
	for subset := 1; subset < 1<<len(actions); subset++ {
		var some []string
		for i, a := range actions {
			if subset>>i&1 == 1 {
				some = append(some, a)
			}
		}
		for _, sql := range [][]string{{table + strings.Join(some, ",")}, each(table, some)} {
			p, l := t.postgres.again(ctx, d.before, sql...), t.lichen.again(ctx, d.before, sql...)
			if p.code != l.code && !(isViolation(p) && isViolation(l)) { // of rows' violations either may come first
				continue
			}
			theirs = theirs || p.code == d.theirs.code && p.message == d.theirs.message
			ours = ours || l.code == d.ours.code && l.message == d.ours.message
			if theirs && ours {
				return true
			}
		}
	}
	return false
}

// each are statements of one action each: what one of them changes the next ones see, which they may not within one
// statement.
func each(table string, actions []string) (list []string) {
	for _, a := range actions {
		list = append(list, table+a)
	}
	return list
}

// isViolation reports whether an answer is that rows violate a constraint.
func isViolation(a answer) bool { return strings.HasPrefix(a.code, "23") }

var alterTable = regexp.MustCompile(`^ALTER TABLE (?:IF EXISTS )?(?:ONLY )?\w+ `)

// actionsOf parts an ALTER TABLE into what stands before its actions, and these.
func actionsOf(sql string) (table string, actions []string) {
	table = alterTable.FindString(sql)
	if table == "" {
		return "", nil
	}
	depth, action := 0, ""
	for _, tok := range tokenPattern.FindAllString(sql[len(table):], -1) {
		switch tok {
		case "(", "[":
			depth++
		case ")", "]":
			depth--
		case ",":
			if depth == 0 {
				actions, action = append(actions, action), ""
				continue
			}
		}
		action += tok
	}
	return table, append(actions, action)
}

// viewQuery matches the definition of a view: its name and its query.
var viewQuery = regexp.MustCompile(`(?s)^CREATE (?:TEMP |MATERIALIZED )*VIEW (\w+) ?(?:\([\w, ]*\))? AS (.*)`)

// texts are the statement, what ran before it, and the queries of the views that it reads, as they
// would stand in FROM. If open, views count only where SQL leaves open when they are read.
func (t *tester) texts(d difference, open bool) []string {
	list := append([]string{d.sql}, d.before...)
	taken := map[string]bool{}
	for i := 0; i < len(list); i++ {
		tokens := tokenPattern.FindAllString(list[i], -1)
		for _, def := range slices.Concat(t.setup, d.before) {
			view := viewQuery.FindStringSubmatch(def)
			if view != nil && !taken[view[1]] && readsView(tokens, view[1], open) {
				taken[view[1]] = true
				list = append(list, "FROM ("+view[2]+")")
			}
		}
	}
	return list
}

// readsView reports whether a view is named, if open where SQL leaves open when it is read.
func readsView(tokens []string, name string, open bool) bool {
	return slices.ContainsFunc(positions(tokens), func(i int) bool {
		return tokens[i] == name && (!open || part{i, i}.orderIsOpen(tokens))
	})
}

// withoutCase tells whether the databases differ as they do when one of the results of a CASE stands
// in its place, so that they do not differ in which result CASE chooses, and a part explains it then.
func withoutCase(ctx context.Context, t *tester, d difference) bool {
	tokens := tokenPattern.FindAllString(d.sql, -1)
	for _, r := range caseResults(tokens) {
		v := d
		v.sql = strings.Join(tokens[:r.begin], "") + "(" + strings.Join(tokens[r.open:r.end], "") + ")" + strings.Join(tokens[r.after:], "")
		v.theirs, v.ours = t.postgres.again(ctx, d.before, v.sql), t.lichen.again(ctx, d.before, v.sql)
		same := v.ours.code == d.ours.code && v.ours.message == d.ours.message && v.theirs.code == d.theirs.code && v.theirs.message == d.theirs.message
		if same && (partFails(ctx, t, v) || anotherPlan(ctx, t, v)) {
			return true
		}
	}
	return false
}

// caseResult is a result of the CASE from begin up to after, from open up to end.
type caseResult struct{ begin, open, end, after int }

// caseResults lists the results of each CASE.
func caseResults(tokens []string) (list []caseResult) {
	type level struct {
		begin, open int // open is 0 outside of results
		results     []caseResult
	}
	var levels []level
	for i, tok := range tokens {
		if tok == "CASE" {
			levels = append(levels, level{begin: i})
			continue
		}
		if len(levels) == 0 || !slices.Contains([]string{"WHEN", "THEN", "ELSE", "END"}, tok) {
			continue
		}
		l := &levels[len(levels)-1]
		if l.open > 0 {
			l.results = append(l.results, caseResult{begin: l.begin, open: l.open, end: i})
			l.open = 0
		}
		switch tok {
		case "THEN", "ELSE":
			l.open = i + 1
		case "END":
			for _, r := range l.results {
				r.after = i + 1
				list = append(list, r)
			}
			levels = levels[:len(levels)-1]
		}
	}
	return list
}
