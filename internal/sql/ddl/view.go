package ddl

import (
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/alter"
	"github.com/lichendb/lichen/internal/sql/ddl/relations"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/privilege"
	"github.com/lichendb/lichen/internal/sql/types"
)

// createView is CREATE VIEW. The query is stored as text in which every
// relation has its schema and every * its columns, so that it means the same
// whatever search_path says and whatever columns are added later.
func createView(ctx context.Context, e *statement.Env, st *ast.CreateView) error {
	if err := relations.CheckViewQuery(st); err != nil {
		return err
	}
	q, _, err := relations.Noted(ctx, e, st.Query, nil)
	if err != nil {
		return err
	}
	v := &catalog.Table{
		Name: st.Name.Table, Owner: e.User, Kind: catalog.KindView, NextColumnID: 1, NextIndexID: 1, NextAttnum: 1,
	}
	if len(st.Cols) > len(q.Columns) {
		return pgerr.New(pgerr.SyntaxError, "CREATE VIEW specifies more column names than columns")
	}
	if err := relations.QueryColumns(v, q, st.Cols); err != nil {
		return err
	}
	if v.View, err = relations.ViewQuery(ctx, e, st.Query, q); err != nil {
		return err
	}
	if v.View.Options, err = relations.ViewOptions(st); err != nil {
		return err
	}
	if err := relations.CheckOptions(ctx, e, v); err != nil {
		return err
	}
	persistence := st.Persistence
	if uses, err := relations.UsesTemp(ctx, e, v.View); err != nil {
		return err
	} else if uses && persistence != ast.Temporary {
		e.Notify("NOTICE", pgerr.New(pgerr.SuccessfulCompletion, "view \"%s\" will be a temporary view", v.Name))
		persistence = ast.Temporary
	}
	schema, err := e.TargetFor(ctx, st.Name, persistence)
	if err != nil {
		return err
	}
	v.Schema, v.Database = schema.ID, schema.Database
	v.ACL = e.DefaultACL(v.Database, v.Schema, privilege.Table)
	old, index, err := e.Relation(ctx, ast.TableName{Loc: st.Name.Loc, Schema: schema.Name, Table: st.Name.Table})
	if err != nil {
		return err
	}
	if old != nil {
		if st.IfNotExists {
			e.Skip(pgerr.DuplicateTable, "relation \"%s\" already exists, skipping", v.Name)
			return nil
		}
		if st.OrReplace {
			return replaceView(ctx, e, st, old, index, v)
		}
	}
	if v.ID, err = e.Coll.NewID(ctx); err != nil {
		return err
	}
	if v.Oid, err = e.Coll.NewOid(ctx); err != nil {
		return err
	}
	if err := e.AddRelation(ctx, v, v.Name, false); err != nil {
		return err
	}
	return e.Coll.Put(ctx, v)
}

// replaceView is CREATE OR REPLACE VIEW of a view that exists: columns may only
// be added at the end.
func replaceView(ctx context.Context, e *statement.Env, st *ast.CreateView, old *catalog.Table, index bool, v *catalog.Table) error {
	if index || old.Kind != catalog.KindView {
		return pgerr.New(pgerr.WrongObjectType, "\"%s\" is not a view", v.Name).At(st.Name.Pos)
	}
	if err := e.Owns(old); err != nil {
		return err
	}
	if err := e.Coll.LockExclusive(ctx, old.ID); err != nil {
		return err
	}
	old, err := e.Coll.TableByID(ctx, old.ID)
	if err != nil {
		return err
	}
	if len(v.Columns) < len(old.Columns) {
		return pgerr.New(pgerr.InvalidTableDefinition, "cannot drop columns from view")
	}
	for i := range old.Columns {
		o, n := &old.Columns[i], &v.Columns[i]
		if o.Name != n.Name {
			return pgerr.New(pgerr.InvalidTableDefinition, "cannot change name of view column \"%s\" to \"%s\"", o.Name, n.Name).
				WithHint("Use ALTER VIEW ... RENAME COLUMN ... to change name of view column instead.")
		}
		if !o.Type.Is(n.Type) || o.Type.Typmod != n.Type.Typmod {
			return pgerr.New(pgerr.InvalidTableDefinition, "cannot change data type of view column \"%s\" from %s to %s",
				o.Name, types.FormatType(o.Type), types.FormatType(n.Type))
		}
		if o.Type.Collatable() && o.Type.Collation().Oid != n.Type.Collation().Oid {
			return pgerr.New(pgerr.InvalidTableDefinition, "cannot change collation of view column \"%s\" from \"%s\" to \"%s\"",
				o.Name, o.Type.Collation().Name, n.Type.Collation().Name)
		}
		n.Default = o.Default
	}
	if slices.Contains(v.View.Uses, old.ID) {
		return pgerr.New(pgerr.InvalidObjectDefinition, "infinite recursion detected in rules for relation \"%s\"", v.Name)
	}
	v.ID, v.Oid, v.Owner, v.ACL, v.Comment, v.RowArrayOid, v.Extension = old.ID, old.Oid, old.Owner, old.ACL, old.Comment, old.RowArrayOid, old.Extension
	return alter.PutRelation(ctx, e, v)
}
