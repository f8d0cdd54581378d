package relations

import (
	"context"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// OnCommit notes what the end of a transaction does to a new table.
func OnCommit(e *statement.Env, t *catalog.Table, temporary bool, o ast.OnCommit, pos int) error {
	if o != ast.OnCommitDefault && !temporary {
		return pgerr.New(pgerr.InvalidTableDefinition, "ON COMMIT can only be used on temporary tables").At(pos)
	}
	switch o {
	case ast.OnCommitDelete:
		t.OnCommit = catalog.DeleteRows
	case ast.OnCommitDrop:
		t.OnCommit = catalog.DropTable
	default:
		return nil
	}
	e.Coll.NoteOnCommit(t)
	return nil
}

// sameLifetime refuses a foreign key between a temporary and a permanent table.
func sameLifetime(e *statement.Env, t, ref *catalog.Table) error {
	switch temporary := e.Coll.Temporary(t); {
	case temporary == e.Coll.Temporary(ref):
		return nil
	case temporary:
		return pgerr.New(pgerr.InvalidTableDefinition, "constraints on temporary tables may reference only temporary tables")
	default:
		return pgerr.New(pgerr.InvalidTableDefinition, "constraints on permanent tables may reference only permanent tables")
	}
}

// UsesTemp reports whether a view reads a temporary relation.
func UsesTemp(ctx context.Context, e *statement.Env, v *catalog.View) (bool, error) {
	for _, id := range v.Uses {
		t, err := e.Coll.TableByID(ctx, id)
		if err != nil {
			return false, err
		}
		if e.Coll.Temporary(t) {
			return true, nil
		}
	}
	return false, nil
}
