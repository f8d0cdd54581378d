// Package inspect answers INSPECT, which compares indexes with the rows of their tables and returns a row for
// each difference. It repairs nothing: REINDEX does.
//
// Above it is sql; below it ddl/backfill, which compares. Everything happens in the statement's transaction,
// so that what is written meanwhile by others shows no difference.
package inspect

import (
	"context"

	"github.com/lichendb/lichen/internal/sql/access"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/backfill"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/ddl/zoneconfig"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// maxProblems bounds the differences of one statement: where there are so many, the index is of no use.
const maxProblems = 10000

var problemColumns = []plan.Column{
	{Name: "schema_name", Type: types.Text}, {Name: "table_name", Type: types.Text}, {Name: "index_name", Type: types.Text},
	{Name: "problem", Type: types.Text}, {Name: "entry", Type: types.Text},
}

// Columns returns the columns of INSPECT; nil for any other statement.
func Columns(stmt ast.Statement) []plan.Column {
	if _, ok := stmt.(*ast.Inspect); ok {
		return problemColumns
	}
	return nil
}

// Rows runs INSPECT and returns its rows.
func Rows(ctx context.Context, e *statement.Env, st *ast.Inspect) ([][]types.Datum, error) {
	o, err := zoneconfig.FindKeyObject(ctx, e.Coll, st.Source)
	if err != nil {
		return nil, err
	}
	r := &rows{env: e}
	if o.Database == nil || o.Table != nil {
		err := r.table(ctx, o.Table, st.Source.Kind == ast.ObjIndex, o.Index)
		return r.list, err
	}
	if o.Database.ID != e.Coll.CurrentDatabase().ID {
		return nil, pgerr.Unsupported("INSPECT of another database than the current one is not supported").
			WithHint("Connect to database \"%s\".", o.Database.Name)
	}
	for _, listed := range e.Coll.Listing().Relations {
		t, err := e.Coll.TableByID(ctx, listed.ID)
		switch {
		case err == nil:
			err = r.table(ctx, t, false, nil)
		case pgerr.From(err).Code == pgerr.UndefinedTable:
			continue // dropped meanwhile
		}
		if err != nil {
			return nil, err
		}
	}
	return r.list, nil
}

// rows collects the differences.
type rows struct {
	env  *statement.Env
	list [][]types.Datum
}

// table inspects the secondary indexes of a table, or only one.
func (r *rows) table(ctx context.Context, t *catalog.Table, one bool, ix *catalog.Index) error {
	if !access.SeesKeys(r.env.Coll, t) {
		return access.DeniedRelation(t) // the keys of entries are values of columns
	}
	schema, err := r.env.Coll.SchemaByID(ctx, t.Schema)
	if err != nil {
		return err
	}
	var indexes []int
	for i := 1; i < len(t.Indexes); i++ {
		if !one || t.Indexes[i].ID == ix.ID {
			indexes = append(indexes, i)
		}
	}
	_, err = backfill.Inspect(ctx, r.env, t, indexes, func(p backfill.Problem) error {
		if len(r.list) == maxProblems {
			return pgerr.New(pgerr.DataCorrupted, "indexes of table \"%s\" differ from its rows in more than %d places", t.Name, maxProblems).
				WithHint("REINDEX TABLE makes the indexes anew.")
		}
		r.list = append(r.list, []types.Datum{
			types.NewString(schema.Name), types.NewString(t.Name), types.NewString(p.Index.Name),
			types.NewString(string(p.Kind)), types.NewString(p.Key),
		})
		return nil
	})
	return err
}
