package ddl

import (
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/types"
)

// createView is CREATE VIEW. The query is stored as text in which every
// relation has its schema and every * its columns, so that it means the same
// whatever search_path says and whatever columns are added later.
func (e *Env) createView(ctx context.Context, st *ast.CreateView) error {
	if err := checkViewQuery(st); err != nil {
		return err
	}
	q, _, err := e.noted(ctx, st.Query, nil)
	if err != nil {
		return err
	}
	v := &catalog.Table{
		Name: st.Name.Table, Owner: e.User, Kind: catalog.KindView, NextColumnID: 1, NextIndexID: 1, NextAttnum: 1,
	}
	if len(st.Cols) > len(q.Columns) {
		return pgerr.New(pgerr.SyntaxError, "CREATE VIEW specifies more column names than columns")
	}
	if err := queryColumns(v, q, st.Cols); err != nil {
		return err
	}
	if v.View, err = e.viewQuery(ctx, st.Query, q); err != nil {
		return err
	}
	if v.View.Options, err = viewOptions(st); err != nil {
		return err
	}
	if err := e.checkOptions(ctx, v); err != nil {
		return err
	}
	persistence := st.Persistence
	if uses, err := e.usesTemp(ctx, v.View); err != nil {
		return err
	} else if uses && persistence != ast.Temporary {
		e.notify("NOTICE", pgerr.New(pgerr.SuccessfulCompletion, "view \"%s\" will be a temporary view", v.Name))
		persistence = ast.Temporary
	}
	schema, err := e.targetFor(ctx, st.Name, persistence)
	if err != nil {
		return err
	}
	v.Schema, v.Database = schema.ID, schema.Database
	old, index, err := e.relation(ctx, ast.TableName{Loc: st.Name.Loc, Schema: schema.Name, Table: st.Name.Table})
	if err != nil {
		return err
	}
	if old != nil {
		if st.IfNotExists {
			e.skip(pgerr.DuplicateTable, "relation \"%s\" already exists, skipping", v.Name)
			return nil
		}
		if st.OrReplace {
			return e.replaceView(ctx, st, old, index, v)
		}
	}
	if v.ID, err = e.Coll.NewID(ctx); err != nil {
		return err
	}
	if v.Oid, err = e.Coll.NewOid(ctx); err != nil {
		return err
	}
	if err := e.addRelation(ctx, v, v.Name, false); err != nil {
		return err
	}
	return e.Coll.Put(ctx, v)
}

func checkViewQuery(st *ast.CreateView) error {
	switch {
	case st.Query.Into != nil:
		return pgerr.New(pgerr.SyntaxError, "views must not contain SELECT INTO").At(st.Pos)
	case planner.ChangesRows(st.Query):
		return pgerr.Unsupported("views must not contain data-modifying statements in WITH")
	case len(st.Query.Locking) > 0:
		return pgerr.Unsupported("row locks in views are not supported").At(st.Pos)
	}
	return nil
}

// replaceView is CREATE OR REPLACE VIEW of a view that exists: columns may only
// be added at the end.
func (e *Env) replaceView(ctx context.Context, st *ast.CreateView, old *catalog.Table, index bool, v *catalog.Table) error {
	if index || old.Kind != catalog.KindView {
		return pgerr.New(pgerr.WrongObjectType, "\"%s\" is not a view", v.Name).At(st.Name.Pos)
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
	v.ID, v.Oid, v.Owner, v.Comment, v.RowArrayOid = old.ID, old.Oid, old.Owner, old.Comment, old.RowArrayOid
	return e.putRelation(ctx, v)
}

// viewQuery makes the stored form of a view's query, planned as p.
func (e *Env) viewQuery(ctx context.Context, q *ast.Select, p *plan.Prepared) (*catalog.View, error) {
	parsed, err := parser.ParseOne(ast.Format(q)) // a copy to change
	if err != nil {
		return nil, err
	}
	sel, ok := parsed.AST.(*ast.Select)
	if !ok {
		return nil, pgerr.Assertion("a view's query does not read as it was written")
	}
	if err := e.pinNames(ctx, sel); err != nil {
		return nil, err
	}
	_, notes, err := e.noted(ctx, sel, nil)
	if err != nil {
		return nil, err
	}
	fixColumns(sel, notes)
	e.restateLiterals(notes)
	if err := e.qualifyTables(ctx, sel, notes); err != nil {
		return nil, err
	}
	again, notes, err := e.noted(ctx, sel, nil)
	if err != nil {
		return nil, err
	}
	if len(again.Columns) != len(p.Columns) {
		return nil, pgerr.Unsupported("views of this query are not supported: its stored form has other columns")
	}
	v := &catalog.View{Query: ast.Format(sel)}
	noteUses(v, sel, notes)
	return v, e.noteConstants(ctx, v, notes)
}

// planView plans the stored query of a view.
func (e *Env) planView(ctx context.Context, v *catalog.View) (*plan.Prepared, error) {
	st, err := parser.ParseStored(v.Query)
	if err != nil {
		return nil, err
	}
	env := e.plannerEnv(e.Coll)
	env.View = v
	return planner.Plan(ctx, st.AST, env)
}

// noted plans a query, that of view v if it is stored, and says how it was understood.
func (e *Env) noted(ctx context.Context, q *ast.Select, v *catalog.View) (*plan.Prepared, *planner.Notes, error) {
	env := e.plannerEnv(e.Coll)
	env.Notes, env.View, env.Stored = planner.NewNotes(), v, true
	p, err := planner.Plan(ctx, q, env)
	return p, env.Notes, err
}

// qualifyTables gives every relation its schema.
func (e *Env) qualifyTables(ctx context.Context, sel *ast.Select, notes *planner.Notes) error {
	var err error
	ast.Walk(sel, func(n ast.Node) bool {
		ref, ok := n.(*ast.TableRef)
		if !ok || err != nil {
			return err == nil
		}
		if r := notes.Relations[ref]; r != nil && r.View != nil {
			var s *catalog.Schema
			if s, err = e.Coll.SchemaByID(ctx, r.View.Schema); err == nil {
				ref.Name.Catalog, ref.Name.Schema = "", s.Name
			}
		}
		return err == nil
	})
	return err
}

// noteConstants notes the relations that are constants in the query of v.
func (e *Env) noteConstants(ctx context.Context, v *catalog.View, notes *planner.Notes) error {
	var oids []uint32
	for _, c := range notes.Literals {
		if c != nil && c.T.Is(types.Regclass) && namesObject(c) {
			oids = append(oids, uint32(c.D.Int()))
		}
	}
	slices.Sort(oids)
	for _, oid := range oids {
		t, err := e.Coll.TableByOid(ctx, oid)
		if pgerr.CodeOf(err) == pgerr.UndefinedTable { // just a number
			continue
		}
		if err != nil {
			return err
		}
		if !slices.Contains(v.Uses, t.ID) {
			v.Uses, v.UsesColumns, v.NextColumnIDs = append(v.Uses, t.ID), append(v.UsesColumns, nil), append(v.NextColumnIDs, t.NextColumnID)
		}
	}
	return nil
}

// noteUses notes the relations that the query of v reads, with what it reads of them.
func noteUses(v *catalog.View, sel *ast.Select, notes *planner.Notes) {
	ast.Walk(sel, func(n ast.Node) bool {
		ref, _ := n.(*ast.TableRef)
		r := notes.Relations[ref]
		if ref == nil || r == nil || r.View == nil || r.View.ID.IsVirtual() || slices.Contains(v.Uses, r.View.ID) {
			return true
		}
		t := r.View
		var cols []catalog.ColumnID
		for i := range t.Columns {
			if notes.Reads[planner.ColumnSource{Table: t.Oid, Attnum: t.Columns[i].Attnum}] {
				cols = append(cols, t.Columns[i].ID)
			}
		}
		v.Uses, v.UsesColumns = append(v.Uses, t.ID), append(v.UsesColumns, cols)
		v.NextColumnIDs = append(v.NextColumnIDs, t.NextColumnID)
		if notes.Keys[t] {
			v.Keys = append(v.Keys, t.ID)
		}
		return true
	})
}
