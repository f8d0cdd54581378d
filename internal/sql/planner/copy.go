package planner

import (
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/privilege"
)

// copyStmt plans COPY.
func (b *builder) copyStmt(st *ast.Copy) (plan.Node, []plan.Column, error) {
	n := &plan.Copy{Stmt: st, From: st.From}
	if st.Query != nil {
		root, cols, err := b.statement(st.Query)
		if err != nil {
			return nil, nil, err
		}
		if len(cols) == 0 {
			return nil, nil, pgerr.New(pgerr.FeatureNotSupported, "COPY query must have a RETURNING clause").At(st.Query.Position())
		}
		n.Input, n.Columns = root, cols
		return n, nil, nil
	}
	if st.From {
		err := b.copyFrom(st, n)
		return n, nil, err
	}
	t, err := b.copiedTable(st)
	if err != nil {
		return nil, nil, err
	}
	if t.Kind == catalog.KindView {
		return nil, nil, pgerr.New(pgerr.WrongObjectType, "cannot copy from view \"%s\"", t.Name).
			WithHint("Try the COPY (SELECT ...) TO variant.").At(st.Pos)
	}
	ords, err := copyColumns(st, t)
	if err != nil {
		return nil, nil, err
	}
	n.Table, n.Input = t, b.scan(t, t.Name)
	g, err := b.guards(t, st.Table.Name)
	if err != nil {
		return nil, nil, err
	}
	if g != nil {
		wall := barrier(n.Input)
		n.Input = wall
		if err := b.restrict(g, wall, ast.PolicySelect); err != nil {
			return nil, nil, err
		}
	}
	u := b.uses(t, privilege.Select)
	for _, ord := range ords {
		u.read(ord)
		n.Columns = append(n.Columns, n.Input.Props().Cols[ord])
	}
	return n, nil, nil
}

// copiedTable is the table that COPY names. Errors don't point at it, as in PostgreSQL.
func (b *builder) copiedTable(st *ast.Copy) (*catalog.Table, error) {
	name := st.Table.Name
	name.Loc = ast.Loc{}
	return b.resolveTable(name)
}

// copyColumns resolves the column list; without one it is what * stands for, but for
// generated columns.
func copyColumns(st *ast.Copy, t *catalog.Table) ([]int, error) {
	var out []int
	for i := range t.Columns {
		if len(st.Cols) == 0 && t.Columns[i].InStar() && t.Columns[i].Generated == "" {
			out = append(out, i)
		}
	}
	for _, name := range st.Cols {
		ord, ok := t.ColumnByName(name)
		switch {
		case !ok:
			return nil, t.UndefinedColumn(name)
		case t.Columns[ord].Generated != "":
			return nil, pgerr.New(pgerr.InvalidColumnReference, "column \"%s\" is a generated column", name).
				WithDetail("Generated columns cannot be used in COPY.")
		case containsInt(out, ord):
			return nil, pgerr.New(pgerr.DuplicateColumn, "column \"%s\" specified more than once", name)
		}
		out = append(out, ord)
	}
	return out, nil
}

// copiedInto returns an error unless rows can be copied into t, and the triggers that do it if t is a view.
func (b *builder) copiedInto(st *ast.Copy, t *catalog.Table) (instead *plan.Triggers, err error) {
	switch {
	case t.Kind != catalog.KindView:
		return nil, checkWritable(t, st.Table.Name, "copy to")
	case firesInstead(t, changeInsert):
		return b.triggers(t, ast.OnInsert, nil)
	}
	return nil, pgerr.New(pgerr.WrongObjectType, "cannot copy to view \"%s\"", t.Name).
		WithHint("To enable copying to a view, provide an INSTEAD OF INSERT trigger.")
}

// copyFrom plans an Insert of the rows that the client will send.
func (b *builder) copyFrom(st *ast.Copy, n *plan.Copy) error {
	b.modifies = true
	t, err := b.copiedTable(st)
	if err != nil {
		return err
	}
	instead, err := b.copiedInto(st, t)
	if err != nil {
		return err
	}
	ords, err := copyColumns(st, t)
	if err != nil {
		return err
	}
	if g, err := b.guards(t, st.Table.Name); err != nil {
		return err
	} else if g != nil {
		return pgerr.New(pgerr.FeatureNotSupported, "COPY FROM not supported with row-level security").WithHint("Use INSERT statements instead.")
	}
	u := b.uses(t, privilege.Insert)
	for _, ord := range ords {
		u.Inserts.Add(ord)
	}
	rows := &plan.CopyRows{Ords: ords, OneByOne: st.Where != nil}
	for _, ord := range ords {
		c := &t.Columns[ord]
		rows.Cols = append(rows.Cols, plan.Column{ID: b.newCol(), Name: c.Name, Type: c.Type})
	}
	p := &plan.Project{Input: rows}
	for ord := range t.Columns {
		c := &t.Columns[ord]
		out := plan.Column{ID: b.newCol(), Name: c.Name, Type: c.Type}
		var x plan.Expr
		if i := indexOf(ords, ord); i >= 0 {
			out.ID, x = rows.Cols[i].ID, plan.Ref(rows.Cols[i])
		} else if x, err = b.defaultExpr(c); err != nil {
			return err
		}
		p.Cols, p.Exprs = append(p.Cols, out), append(p.Exprs, x)
	}
	var input plan.Node = p
	if st.Where != nil {
		it, err := b.rowItem(t, t.Name, plan.IDs(p.Cols))
		if err != nil {
			return err
		}
		cond, err := b.boolExpr(st.Where, "WHERE", &scope{clause: clauseWhere, items: []*item{it}})
		if err != nil {
			return err
		}
		input = filter(p, cond)
	}
	n.Table, n.Columns = t, rows.Cols
	if instead != nil {
		n.Input = &plan.Instead{Alias: t.Name, Input: input, New: plan.IDs(p.Cols), Triggers: instead}
		return nil
	}
	ins := &plan.Insert{Table: t, Input: input, New: plan.IDs(p.Cols)}
	if ins.Checks, err = b.checks(t, ins.New); err != nil {
		return err
	}
	if err := b.finishInsert(ins); err != nil {
		return err
	}
	n.Input = ins
	return nil
}
