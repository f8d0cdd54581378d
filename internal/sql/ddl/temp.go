package ddl

import (
	"context"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// tempSchema returns the session's temporary schema, which it makes if need be.
func (e *Env) tempSchema(ctx context.Context) (*catalog.Schema, error) {
	s, left, err := e.Coll.CreateTempSchema(ctx, e.User)
	if err != nil || !left {
		return s, err
	}
	// A session that had this number was not cleaned up after.
	if err := e.dropLeft(ctx, e, s.Name); err != nil {
		return nil, err
	}
	s, left, err = e.Coll.CreateTempSchema(ctx, e.User)
	if err == nil && left {
		err = pgerr.Assertion("the temporary schema of another session is still there")
	}
	return s, err
}

func dropTemp(schema string) *ast.Drop {
	return &ast.Drop{Kind: ast.ObjSchema, Names: []ast.TableName{{Table: schema}}, IfExists: true, Cascade: true}
}

// DropTemp drops a temporary schema with all it holds.
func DropTemp(ctx context.Context, e *Env, schema string) error {
	e.Notice = nil
	return e.dropSchemas(ctx, dropTemp(schema))
}

// targetFor is targetSchema of what may be temporary.
func (e *Env) targetFor(ctx context.Context, n ast.TableName, p ast.Persistence) (*catalog.Schema, error) {
	if p != ast.Temporary {
		return e.targetSchema(ctx, n)
	}
	if n.Schema != "" && n.Schema != "pg_temp" && n.Schema != e.Coll.TempSchemaName() {
		return nil, pgerr.New(pgerr.InvalidTableDefinition, "cannot create temporary relation in non-temporary schema").At(n.Pos)
	}
	return e.tempSchema(ctx)
}

// onCommit notes what the end of a transaction does to a new table.
func (e *Env) onCommit(t *catalog.Table, temporary bool, o ast.OnCommit, pos int) error {
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
func (e *Env) sameLifetime(t, ref *catalog.Table) error {
	switch temporary := e.Coll.Temporary(t); {
	case temporary == e.Coll.Temporary(ref):
		return nil
	case temporary:
		return pgerr.New(pgerr.InvalidTableDefinition, "constraints on temporary tables may reference only temporary tables")
	default:
		return pgerr.New(pgerr.InvalidTableDefinition, "constraints on permanent tables may reference only permanent tables")
	}
}

// usesTemp reports whether a view reads a temporary relation.
func (e *Env) usesTemp(ctx context.Context, v *catalog.View) (bool, error) {
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

// CommitTemp does to the session's temporary tables what their ON COMMIT says. The
// transaction commits next.
func CommitTemp(ctx context.Context, e *Env) error {
	list := e.Coll.TempOnCommit()
	if len(list) == 0 {
		return nil
	}
	if err := e.deletesTogether(ctx, list); err != nil {
		return err
	}
	e.Notice = nil
	e.nextCommand()
	d := e.newDropper(true)
	for _, t := range list {
		if t.OnCommit == catalog.DeleteRows {
			if err := e.deleteAll(ctx, t); err != nil {
				return err
			}
			continue
		}
		if err := e.Coll.LockExclusive(ctx, t.ID); err != nil {
			return err
		}
		d.target(t)
	}
	return d.run(ctx)
}

// deletesTogether returns an error if a table whose rows the commit deletes is referenced by
// one whose rows stay.
func (e *Env) deletesTogether(ctx context.Context, list []*catalog.Table) error {
	for _, t := range list {
		if t.OnCommit != catalog.DeleteRows {
			continue
		}
		for _, r := range t.References {
			from, err := e.Coll.TableByID(ctx, r.Table)
			if err != nil {
				return err
			}
			if from.OnCommit == catalog.PreserveRows {
				return pgerr.Unsupported("unsupported ON COMMIT and foreign key combination").
					WithDetail("Table \"%s\" references \"%s\", but they do not have the same ON COMMIT setting.", from.Name, t.Name)
			}
		}
	}
	return nil
}

// deleteAll deletes the rows of a table that nobody else uses, all of which the
// transaction has written itself.
func (e *Env) deleteAll(ctx context.Context, t *catalog.Table) error {
	for i := range t.Indexes {
		span := keys.IndexSpan(uint64(t.Database), uint64(t.ID), uint64(t.Indexes[i].ID))
		var page kv.ScanResult
		for start := span.Start; start != nil; start = append([]byte(nil), page.Resume...) {
			if err := e.Txn.Scan(ctx, start, span.End, kv.ScanOptions{}, &page); err != nil {
				return err
			}
			var found [][]byte
			for j := range page.Len() {
				found = append(found, append([]byte(nil), page.Key(j)...))
			}
			for _, k := range found {
				if err := e.Txn.Delete(k); err != nil {
					return err
				}
			}
			if page.Resume == nil {
				break
			}
		}
	}
	return nil
}
