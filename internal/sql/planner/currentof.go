package planner

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin/sessionfuncs"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// A cursor is on a row of a table as long as its query does no more than to choose rows:
// then the query yields the row's primary key besides what it was asked for, and WHERE
// CURRENT OF means the row with the key that the cursor has at the time.

// addRowKey adds the key of the table's row to the rows of a query that only chooses and
// orders them.
func addRowKey(p *plan.Prepared) {
	sc := rowsOf(p.Root)
	if sc == nil {
		return
	}
	var key []plan.Column
	for _, k := range sc.Table.Primary().Columns {
		key = append(key, sc.Cols[sc.Table.ColumnByID(k.Column)])
	}
	passOn(p.Root, key)
	p.RowTable, p.RowKey = sc.Table, len(key)
	p.Columns = append(slices.Clip(p.Columns), key...)
}

// rowsOf returns the scan whose rows a query yields, nil if they are not those of a table.
func rowsOf(n plan.Node) *plan.Scan {
	switch n := n.(type) {
	case *plan.Scan:
		return n
	case *plan.Project, *plan.Filter, *plan.Barrier, *plan.Sort, *plan.Limit, *plan.LockRows:
		return rowsOf(plan.Children(n)[0])
	case *plan.With:
		return rowsOf(n.Body)
	}
	return nil
}

// passOn makes the nodes above a scan pass on its columns.
func passOn(n plan.Node, cols []plan.Column) {
	switch n := n.(type) {
	case *plan.Project:
		passOn(n.Input, cols)
		n.Cols, n.Exprs = slices.Clip(n.Cols), slices.Clip(n.Exprs)
		for _, c := range cols {
			if plan.FindCol(n.Cols, c.ID) < 0 {
				n.Cols, n.Exprs = append(n.Cols, c), append(n.Exprs, plan.Ref(c))
			}
		}
	case *plan.Filter, *plan.Barrier, *plan.Sort, *plan.Limit, *plan.LockRows:
		in := plan.Children(n)[0]
		passOn(in, cols)
		n.Props().Cols = in.Props().Cols
	case *plan.With:
		passOn(n.Body, cols)
		n.Cols = n.Body.Props().Cols
	}
}

// currentOf plans WHERE CURRENT OF: the primary key of a row of t, whose columns are cols,
// is the one that the cursor has.
func (b *builder) currentOf(c *ast.CurrentOf, t *catalog.Table, cols []plan.Column) (plan.Expr, error) {
	cursor, err := b.cursorName(c)
	if err != nil {
		return nil, err
	}
	var cond plan.Expr
	for i, k := range t.Primary().Columns {
		col := cols[t.ColumnByID(k.Column)]
		value := &plan.Call{Fn: sessionfuncs.CurrentOf(col.Type), T: col.Type, Args: []plan.Expr{
			plan.CopyExpr(cursor),
			plan.NewConst(types.Oid, types.NewInt(int64(t.Oid))),
			plan.NewConst(types.Int4, types.NewInt(int64(i))),
		}}
		eq, err := b.operator(ast.Operator{Name: "="}, []plan.Expr{plan.Ref(col), value}, []int{c.Pos, c.Pos}, c.Pos)
		if err != nil {
			return nil, err
		}
		cond = plan.Conjoin(cond, eq)
	}
	return cond, nil
}

// cursorName is the name of the cursor of WHERE CURRENT OF: that in a variable of this name, if there is one.
func (b *builder) cursorName(c *ast.CurrentOf) (plan.Expr, error) {
	if v := b.env.Variables; v != nil {
		x, err := v.Find([]ast.Name{ast.Name(c.Cursor)})
		if err != nil {
			return nil, err
		}
		if x != nil && x.Type().Oid == types.Refcursor.Oid {
			return x, nil
		}
	}
	return plan.NewConst(types.Text, types.NewString(c.Cursor)), nil
}
