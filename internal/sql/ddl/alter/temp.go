package alter

import (
	"context"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// DropTemp drops a temporary schema with all it holds, without notices.
func DropTemp(ctx context.Context, e *statement.Env, schema string) error {
	e.Notice = nil
	return DropTempSchema(ctx, e, schema)
}

// DropTempSchema is DropTemp with notices.
func DropTempSchema(ctx context.Context, e *statement.Env, schema string) error {
	return DropSchemas(ctx, e, &ast.Drop{Kind: ast.ObjSchema, Names: []ast.TableName{{Table: schema}}, IfExists: true, Cascade: true})
}

// CommitTemp does to the session's temporary tables what their ON COMMIT says. The
// transaction commits next.
func CommitTemp(ctx context.Context, e *statement.Env) error {
	list := e.Coll.TempOnCommit()
	if len(list) == 0 {
		return nil
	}
	if err := deletesTogether(ctx, e, list); err != nil {
		return err
	}
	e.Notice = nil
	e.NextCommand()
	d := newDropper(e, true)
	for _, t := range list {
		if t.OnCommit == catalog.DeleteRows {
			if err := deleteAll(ctx, e, t); err != nil {
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
func deletesTogether(ctx context.Context, e *statement.Env, list []*catalog.Table) error {
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
func deleteAll(ctx context.Context, e *statement.Env, t *catalog.Table) error {
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
