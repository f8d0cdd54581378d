package relations

import (
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/ddl/storedtext"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/types"
)

// CheckViewQuery refuses queries that no view can have.
func CheckViewQuery(st *ast.CreateView) error {
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

// ViewQuery makes the stored form of a view's query, planned as p.
func ViewQuery(ctx context.Context, e *statement.Env, q *ast.Select, p *plan.Prepared) (*catalog.View, error) {
	parsed, err := parser.ParseOne(ast.Format(q)) // a copy to change
	if err != nil {
		return nil, err
	}
	sel, ok := parsed.AST.(*ast.Select)
	if !ok {
		return nil, pgerr.Assertion("a view's query does not read as it was written")
	}
	if err := storedtext.PinNames(ctx, e, sel); err != nil {
		return nil, err
	}
	_, notes, err := Noted(ctx, e, sel, nil)
	if err != nil {
		return nil, err
	}
	for c, schema := range notes.Aggregates {
		c.Name.Schema = schema
	}
	storedtext.FixOperators(notes)
	fixColumns(sel, notes)
	storedtext.RestateLiterals(e, notes)
	if err := qualifyTables(ctx, e, sel, notes); err != nil {
		return nil, err
	}
	again, notes, err := Noted(ctx, e, sel, nil)
	if err != nil {
		return nil, err
	}
	if len(again.Columns) != len(p.Columns) {
		return nil, pgerr.Unsupported("views of this query are not supported: its stored form has other columns")
	}
	v := &catalog.View{Query: ast.Format(sel), Aggregates: len(notes.Aggregates) > 0}
	noteUses(v, sel, notes)
	return v, noteConstants(ctx, e, v, notes)
}

// PlanView plans the stored query of a view.
func PlanView(ctx context.Context, e *statement.Env, v *catalog.View) (*plan.Prepared, error) {
	st, err := parser.ParseStored(v.Query)
	if err != nil {
		return nil, err
	}
	env := storedtext.PlannerEnv(e, e.Coll)
	env.View = v
	return planner.Plan(ctx, st.AST, env)
}

// Noted plans a query, that of view v if it is stored, and says how it was understood.
func Noted(ctx context.Context, e *statement.Env, q *ast.Select, v *catalog.View) (*plan.Prepared, *planner.Notes, error) {
	env := storedtext.PlannerEnv(e, e.Coll)
	env.Notes, env.View, env.Stored = planner.NewNotes(), v, true
	p, err := planner.Plan(ctx, q, env)
	return p, env.Notes, err
}

// qualifyTables gives every relation its schema.
func qualifyTables(ctx context.Context, e *statement.Env, sel *ast.Select, notes *planner.Notes) error {
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
func noteConstants(ctx context.Context, e *statement.Env, v *catalog.View, notes *planner.Notes) error {
	var oids []uint32
	for _, c := range notes.Literals {
		if c != nil && c.T.Is(types.Regclass) && storedtext.NamesObject(c) {
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
