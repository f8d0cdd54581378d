package advise

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/stmtstats"
)

const (
	// minRows is how many rows a table has for which an index is recommended: fewer are read at once.
	minRows = 1000
	// minCalls is how often a statement has run for which one is.
	minCalls = 10
	// unusedFor is how long the use of indexes was counted on all nodes before one counts as unused.
	unusedFor = 24 * time.Hour
)

// Recommendation is a change of indexes.
type Recommendation struct {
	Kind      string // "create" or "drop"
	Statement string
	Reason    string
	Queries   []string // of the fingerprints that it is for
	// Weight is the time that these took together.
	Weight time.Duration
}

// Table is a table with what is known of it.
type Table struct {
	*catalog.Table
	Schema string
	Rows   float64
}

// qualified is the table's name in SQL.
func (t *Table) qualified() string { return ast.QuoteIdent(t.Schema) + "." + ast.QuoteIdent(t.Name) }

// Missing recommends indexes of a table for the full reads of fingerprints, those first that took longest.
func Missing(t *Table, all []stmtstats.StatementPlans) (out []Recommendation) {
	if t.Rows < minRows {
		return nil
	}
	type candidate struct {
		Recommendation
		calls int64
	}
	found := map[string]*candidate{}
	for i := range all {
		p := &all[i]
		if len(p.Plans) == 0 {
			continue
		}
		for _, r := range p.Plans[0].Reads { // of the plan that was seen last
			columns := keyOf(t, &r)
			if len(columns) == 0 || covered(t, columns) {
				continue
			}
			text := "CREATE INDEX ON " + t.qualified() + " (" + names(t, columns) + ")"
			c := found[text]
			if c == nil {
				c = &candidate{Recommendation: Recommendation{Kind: "create", Statement: text}}
				found[text] = c
			}
			c.calls += p.Calls
			c.Weight += time.Duration(p.Nanos)
			if len(c.Queries) < stmtstats.MaxPlans && !slices.Contains(c.Queries, p.Text) {
				c.Queries = append(c.Queries, p.Text)
			}
		}
	}
	for _, c := range found {
		if c.calls < minCalls {
			continue
		}
		c.Reason = fmt.Sprintf("all of the table, about %.0f rows, was read %d times to find the rows that a condition on %s lets through", t.Rows, c.calls, within(c.Statement))
		out = append(out, c.Recommendation)
	}
	slices.SortFunc(out, func(a, b Recommendation) int {
		return cmp.Or(cmp.Compare(b.Weight, a.Weight), strings.Compare(a.Statement, b.Statement))
	})
	return out
}

// within returns what a statement has in its last parentheses.
func within(text string) string {
	return strings.TrimSuffix(text[strings.LastIndex(text, "(")+1:], ")")
}

// keyOf returns the columns of the index that a full read of t lacks: those that are compared with one value, in the order of
// their numbers so that statements that name them otherwise get the same index, then the one with a range.
func keyOf(t *Table, r *stmtstats.Read) []catalog.ColumnID {
	if !r.Full || catalog.ID(r.Table) != t.ID {
		return nil
	}
	var out []catalog.ColumnID
	for _, id := range r.Equal {
		out = append(out, catalog.ColumnID(id))
	}
	slices.Sort(out)
	if r.Range != 0 {
		out = append(out, catalog.ColumnID(r.Range))
	}
	if slices.ContainsFunc(out, func(id catalog.ColumnID) bool { return t.ColumnByID(id) < 0 }) {
		return nil // the plan is of before a column was dropped
	}
	return out
}

// covered reports whether an index has the columns first, in whichever order.
func covered(t *Table, columns []catalog.ColumnID) bool {
	return slices.ContainsFunc(t.Indexes, func(ix catalog.Index) bool {
		if len(ix.Columns) < len(columns) || !ix.Total() || !ix.EntriesByRow() {
			return false
		}
		for _, c := range ix.Columns[:len(columns)] {
			if !slices.Contains(columns, c.Column) {
				return false
			}
		}
		return true
	})
}

func names(t *Table, columns []catalog.ColumnID) string {
	list := make([]string, len(columns))
	for i, id := range columns {
		list[i] = ast.QuoteIdent(t.Columns[t.ColumnByID(id)].Name)
	}
	return strings.Join(list, ", ")
}

// Unused recommends to drop an index that no statement has read since its use is counted, if that is long enough. It must neither
// be unique nor begin with the columns of a foreign key, whose checks read it.
func Unused(t *Table, ix *catalog.Index, uses int64, counted time.Duration) *Recommendation {
	if uses > 0 || counted < unusedFor || ix.Unique || ix.ID == t.Primary().ID {
		return nil
	}
	for i := range t.ForeignKeys {
		if len(ix.Columns) > 0 && slices.Contains(t.ForeignKeys[i].Columns, ix.Columns[0].Column) {
			return nil
		}
	}
	return &Recommendation{
		Kind: "drop", Statement: "DROP INDEX " + ast.QuoteIdent(t.Schema) + "." + ast.QuoteIdent(ix.Name),
		Reason: fmt.Sprintf("no statement has read it in the %.0f days that all nodes have counted, and each write to the table writes it", counted.Hours()/24),
	}
}
