package generate

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// kind is what a production writes, and what it leaves room for.
type kind uint8

const (
	expression kind = 1 << iota
	relation
	query
	statement
)

// productions lists what the generator writes: the kind of each, and the kinds that it is
// written around. Every production of a kind may stand wherever the kind is asked for, but for
// those in forbidden.
func productions() map[string][2]kind {
	m := map[string][2]kind{}
	for _, p := range expressions() {
		m[p.name] = [2]kind{expression, p.holds}
	}
	for _, p := range relations() {
		m[p.name] = [2]kind{relation, p.holds}
	}
	for _, p := range queries() {
		m[p.name] = [2]kind{query, p.holds}
	}
	for _, p := range statements() {
		m[p.name] = [2]kind{statement, p.holds}
	}
	return m
}

// computed are the expressions that a select list's aggregates and windows may stand in.
var computed = []string{"operator", "CASE", "COALESCE", "array", "row", "cast"}

// forbidden returns which nestings SQL does not have, or the generator does not want.
func forbidden(outer, inner string) bool {
	switch inner {
	case "aggregate", "grouping":
		return outer != "grouped" && !slices.Contains(computed, outer)
	case "window call":
		return outer != "windowed" && !slices.Contains(computed, outer)
	case "column", "whole row":
		// Without a FROM there are only columns of queries around.
		if slices.Contains([]string{"VALUES", "VALUES in FROM", "SELECT without FROM", "set operation"}, outer) {
			return true
		}
	case "outer column":
		return slices.Contains([]string{"INSERT", "ON CONFLICT", "UPDATE", "DELETE", "MERGE", "several ALTER actions", "sequence under LIMIT"}, outer)
	}
	if outer == "several ALTER actions" { // expressions of DDL hold no queries, nor rows
		return inner == "whole row" || inner == "equal expressions" || strings.HasSuffix(inner, "query") || inner == "EXISTS"
	}
	// Functions in FROM have no operands of type boolean.
	if boolean := []string{"EXISTS", "IN query", "quantified query", "quantified row query", "row of a query", "row IN query"}; strings.HasPrefix(outer, "function") || outer == "ROWS FROM" {
		if slices.Contains(boolean, inner) || outer == "ROWS FROM" && (inner == "array" || inner == "row") {
			return true
		}
	}
	return inner == "whole row" && slices.Contains([]string{"function", "function of rows", "ROWS FROM", "WITH RECURSIVE", "equal expressions"}, outer)
}

// Coverage counts which productions were written right inside which others.
type Coverage struct {
	pairs map[[2]string]int
}

// NewCoverage returns an empty Coverage.
func NewCoverage() *Coverage { return &Coverage{pairs: map[[2]string]int{}} }

func (c *Coverage) add(outer, inner string) { c.pairs[[2]string{outer, inner}]++ }

// Merge adds what another has counted.
func (c *Coverage) Merge(other *Coverage) {
	for p, n := range other.pairs {
		c.pairs[p] += n
	}
}

// Never lists the nestings that the grammar has and that were not written, and how many it has.
func (c *Coverage) Never() (never []string, possible int) {
	all := productions()
	for outer, o := range all {
		var missed []string
		for inner, i := range all {
			if o[1]&i[0] == 0 || forbidden(outer, inner) {
				continue
			}
			possible++
			if c.pairs[[2]string{outer, inner}] == 0 {
				missed = append(missed, inner)
			}
		}
		slices.Sort(missed)
		for _, inner := range missed {
			never = append(never, outer+" > "+inner)
		}
	}
	slices.Sort(never)
	return never, possible
}

// Report writes how many nestings were met, and which never.
func (c *Coverage) Report(w io.Writer) {
	never, possible := c.Never()
	fmt.Fprintf(w, "%d of %d nestings of productions were generated\n", possible-len(never), possible)
	if len(never) > 0 {
		fmt.Fprintf(w, "never: %s\n", strings.Join(never, "; "))
	}
}
