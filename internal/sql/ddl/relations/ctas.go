package relations

import (
	"context"
	"strconv"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/backfill"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/ddl/storedtext"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// FillFrom gives the new table the columns of the query, and its rows.
func FillFrom(ctx context.Context, e *statement.Env, b *TableBuilder, q *plan.Prepared, names []ast.Name, tablespace string, data bool) (string, error) {
	if err := QueryColumns(b.T, q, names); err != nil {
		return "", err
	}
	for i := range q.Columns {
		if err := e.MayUseType(q.Columns[i].Type); err != nil {
			return "", err
		}
	}
	ts, err := b.choosePlace(ctx, tablespace)
	if err != nil {
		return "", err
	}
	if err := b.create(ctx); err != nil {
		return "", err
	}
	if err := placeTable(ctx, e, b.T, ts); err != nil {
		return "", err
	}
	if !data {
		return "CREATE TABLE AS", nil
	}
	n, err := backfill.BuildRows(ctx, e, backfill.Spec{Table: b.T, Indexes: []int{0}, Query: q})
	return "SELECT " + strconv.FormatInt(n, 10), err
}

// QueryColumns gives t the columns of a query, under the names given for the
// first of them.
func QueryColumns(t *catalog.Table, q *plan.Prepared, names []ast.Name) error {
	if len(names) > len(q.Columns) {
		return pgerr.New(pgerr.SyntaxError, "too many column names were specified")
	}
	for i := range q.Columns {
		typ := q.Columns[i].Type
		c := catalog.Column{Name: q.Columns[i].Name, Type: typ.WithDomain(nil), Domain: typ.Domain()}
		if i < len(names) {
			c.Name = names[i]
		}
		if c.Type.Is(types.Unknown) {
			c.Type = types.Text
		}
		if err := checkColumnType(c.Name, c.Type); err != nil {
			return err
		}
		if c.Type.Declared() == types.NoCollation {
			return storedtext.ErrNoCollation(t, &c)
		}
		if err := AppendColumn(t, &c); err != nil {
			return err
		}
	}
	return nil
}
