package explain

import (
	"context"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// Relations finds relations by their names; *catalog.Collection does.
type Relations interface {
	FindRelation(ctx context.Context, database, schema, name string) (t *catalog.Table, index bool, err error)
}

// Check refuses what cannot be explained: 0A000, or 42P07 of CREATE TABLE AS if the table is there.
// With IF NOT EXISTS there is nothing to show then, and skip is the notice that says so.
func (o *Options) Check(ctx context.Context, st *ast.Explain, relations Relations) (skip *pgerr.Error, err error) {
	creates := false
	switch s := st.Stmt.(type) {
	case *ast.CreateTableAs:
		if _, ok := s.Query.(*ast.Execute); ok {
			return nil, pgerr.Unsupported("EXPLAIN of %s with EXECUTE is not supported", s.Tag()).At(st.Pos)
		}
		t, _, err := relations.FindRelation(ctx, s.Name.Catalog, s.Name.Schema, s.Name.Table)
		if err != nil {
			return nil, err
		}
		exists := pgerr.New(pgerr.DuplicateTable, "relation \"%s\" already exists", s.Name.Table)
		switch {
		case t != nil && s.IfNotExists:
			exists.Message += ", skipping"
			return exists, nil
		case t != nil:
			return nil, exists
		}
		creates = true
	case *ast.Select:
		creates = s.Into != nil
	}
	if creates && o.Analyze {
		return nil, pgerr.Unsupported("EXPLAIN ANALYZE of %s is not supported", st.Stmt.Tag()).At(st.Pos)
	}
	return nil, nil
}
