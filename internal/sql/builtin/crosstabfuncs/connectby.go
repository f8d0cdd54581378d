package crosstabfuncs

import (
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// maxTreeDepth bounds how deep connectby follows a tree.
const maxTreeDepth = 5000

// tree is a call of connectby.
type tree struct {
	result
	relation, key, parent, order string
	delimiter                    string
	branches, ordered            bool // columns for the branch and for a serial number
	maxDepth                     int64
	serial                       int64
}

// connectby makes the function that follows a tree down from a row; with an order among siblings, its rows are numbered.
func connectby(ordered bool) maker {
	return func(c *call.Context, columns []types.FieldDef, a []types.Datum) ([][]types.Datum, error) {
		t := tree{
			result:   result{c: c, columns: columns},
			relation: a[0].Str(), key: a[1].Str(), parent: a[2].Str(), delimiter: "~", ordered: ordered,
		}
		rest := a[3:]
		if ordered {
			t.order, rest = rest[0].Str(), rest[1:]
		}
		start := rest[0].Str()
		t.maxDepth = rest[1].Int()
		if t.branches = len(rest) == 3; t.branches {
			t.delimiter = rest[2].Str()
		}
		if err := t.checkColumns(); err != nil {
			return nil, err
		}
		if err := t.row(value{text: start}, value{null: true}, 0, start); err != nil {
			return nil, err
		}
		err := t.below(start, start, 1)
		return t.rows, err
	}
}

// checkColumns refuses columns of other types than a tree has.
func (t *tree) checkColumns() error {
	n := 3
	if t.branches {
		n++
	}
	serial := n
	if t.ordered {
		n++
	}
	is := func(at int, want *types.T) bool { return t.columns[at].Type.Is(want) }
	switch {
	case len(t.columns) != n:
		return invalidReturn("Query-specified return tuple has wrong number of columns.")
	case !is(0, t.columns[1].Type):
		return invalidReturn("First two columns must be the same type.")
	case !is(2, types.Int4):
		return invalidReturn("Third column must be type %s.", types.Int4.SQLName)
	case t.branches && !is(3, types.Text):
		return invalidReturn("Fourth column must be type %s.", types.Text.SQLName)
	case t.ordered && !is(serial, types.Int4):
		return pgerr.New(pgerr.DatatypeMismatch, "query-specified return tuple not valid for Connectby: %s column must be type %s",
			map[int]string{3: "fourth", 4: "fifth"}[serial], types.Int4.SQLName)
	}
	return nil
}

// row adds a row.
func (t *tree) row(key, parent value, level int, branch string) error {
	row := []value{key, parent, {text: strconv.Itoa(level)}}
	if t.branches {
		row = append(row, value{text: branch})
	}
	if t.ordered {
		t.serial++
		row = append(row, value{text: strconv.FormatInt(t.serial, 10)})
	}
	return t.add(row)
}

// below adds what is below a key.
func (t *tree) below(key, branch string, level int) error {
	if t.maxDepth > 0 && int64(level) > t.maxDepth {
		return nil
	}
	if level > maxTreeDepth {
		return pgerr.New(pgerr.StatementTooComplex, "stack depth limit exceeded")
	}
	text := "SELECT " + t.key + ", " + t.parent + " FROM " + t.relation + " WHERE " + t.parent + " = " + ast.QuoteLiteral(key) +
		" AND " + t.key + " IS NOT NULL AND " + t.key + " <> " + t.parent
	if t.ordered {
		text += " ORDER BY " + t.order
	}
	var found [][]value
	err := query(t.c, text, t.checkTypes, func(r []value) error {
		found = append(found, r)
		return nil
	})
	if err != nil {
		return err
	}
	within := t.delimiter + branch + t.delimiter
	for _, r := range found {
		next := branch
		if !r[0].null {
			if strings.Contains(within, t.delimiter+r[0].text+t.delimiter) {
				return pgerr.New(pgerr.InvalidRecursion, "infinite recursion detected")
			}
			next += t.delimiter + r[0].text
		}
		if err := t.row(r[0], r[1], level, next); err != nil {
			return err
		}
		if !r[0].null {
			if err := t.below(r[0].text, next, level+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkTypes refuses keys of other types than the first columns.
func (t *tree) checkTypes(ts []*types.T) error {
	switch {
	case len(ts) < 2:
		return invalidReturn("Query must return at least two columns.")
	case !t.columns[0].Type.Is(ts[0]):
		return invalidReturn("SQL key field type %s does not match return key field type %s.", types.FormatType(t.columns[0].Type), types.FormatType(ts[0]))
	case !t.columns[1].Type.Is(ts[1]):
		return invalidReturn("SQL parent key field type %s does not match return parent key field type %s.",
			types.FormatType(t.columns[1].Type), types.FormatType(ts[1]))
	}
	return nil
}
