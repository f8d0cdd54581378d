package statement

import (
	"context"

	"github.com/lichendb/lichen/internal/sql/access"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/privilege"
)

// tempSchema returns the session's temporary schema, which it makes if need be.
func (e *Env) tempSchema(ctx context.Context) (*catalog.Schema, error) {
	if e.Coll.TempSchemaName() == "" {
		if err := access.MustUseDatabase(e.Coll, e.Coll.CurrentDatabase(), privilege.Temporary); err != nil {
			return nil, pgerr.New(pgerr.InsufficientPrivilege, "permission denied to create temporary tables in database \"%s\"", e.Coll.CurrentDatabase().Name)
		}
	}
	s, left, err := e.Coll.CreateTempSchema(ctx)
	if err != nil || !left {
		return s, err
	}
	// A session that had this number was not cleaned up after.
	if err := e.DropLeft(ctx, e, s.Name); err != nil {
		return nil, err
	}
	s, left, err = e.Coll.CreateTempSchema(ctx)
	if err == nil && left {
		err = pgerr.Assertion("the temporary schema of another session is still there")
	}
	return s, err
}

// TargetFor is TargetSchema of what may be temporary.
func (e *Env) TargetFor(ctx context.Context, n ast.TableName, p ast.Persistence) (*catalog.Schema, error) {
	if p != ast.Temporary {
		return e.TargetSchema(ctx, n)
	}
	if n.Schema != "" && n.Schema != "pg_temp" && n.Schema != e.Coll.TempSchemaName() {
		return nil, pgerr.New(pgerr.InvalidTableDefinition, "cannot create temporary relation in non-temporary schema").At(n.Pos)
	}
	return e.tempSchema(ctx)
}
