package planner

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
)

// derives reports whether rows of t have anything computed from them.
func derives(t *catalog.Table) bool {
	for i := range t.Columns {
		if t.Columns[i].Generated != "" {
			return true
		}
	}
	for i := range t.Indexes {
		if !t.Indexes[i].Total() {
			return true
		}
	}
	return false
}

// derived plans what is computed from the rows of t.
func (b *builder) derived(t *catalog.Table) (*plan.Derived, error) {
	if !derives(t) {
		return nil, nil
	}
	d := &plan.Derived{Cols: b.freshRow(t)}
	var err error
	if d.Columns, err = b.computedColumns(t, d.Cols, false); err != nil {
		return nil, err
	}
	d.Predicates, err = b.predicates(t, d.Cols)
	return d, err
}

// computedColumns plans the generated columns of t over a row, or only those that rows do
// not hold.
func (b *builder) computedColumns(t *catalog.Table, row []plan.ColID, virtual bool) ([]plan.SetCol, error) {
	return b.computedWhere(t, row, func(c *catalog.Column) bool { return c.Virtual || !virtual })
}

// computeItem makes the columns of a table's row that are computed known by their names.
func (b *builder) computeItem(it *item) error {
	t := it.table
	if !slices.ContainsFunc(t.Columns, func(c catalog.Column) bool { return c.Computed() }) {
		return nil
	}
	ids := make([]plan.ColID, len(it.cols))
	for i := range ids {
		ids[i] = it.cols[i].col.ID
	}
	list, err := b.computedWhere(t, ids, (*catalog.Column).Computed)
	for _, sc := range list {
		c := &it.cols[sc.Ord]
		c.name, c.expr, c.computed = t.Columns[sc.Ord].Name, sc.Value, true
	}
	return err
}

// computeBelow makes the plan of an item of FROM compute what is computed from its rows: an
// outer join above it yields NULL where there is no row, not what is computed from NULLs.
func (b *builder) computeBelow(f *fromItem) {
	p := &plan.Project{Input: f.node}
	for _, it := range f.items {
		for i := range it.cols {
			c := &it.cols[i]
			if !c.computed {
				continue
			}
			at := slices.IndexFunc(p.Exprs, func(x plan.Expr) bool { return plan.ExprEqual(x, c.expr) })
			if at < 0 {
				at = len(p.Exprs)
				c.col.ID, c.col.Type = b.newCol(), c.expr.Type()
				p.Cols, p.Exprs = append(p.Cols, c.col), append(p.Exprs, c.expr)
			}
			c.col.ID, c.expr, c.computed = p.Cols[at].ID, nil, false
		}
	}
	if len(p.Exprs) == 0 {
		return
	}
	for _, c := range f.node.Props().Cols {
		p.Cols, p.Exprs = append(p.Cols, c), append(p.Exprs, plan.Ref(c))
	}
	f.node = p
}

func (b *builder) computedWhere(t *catalog.Table, row []plan.ColID, wanted func(c *catalog.Column) bool) ([]plan.SetCol, error) {
	var out []plan.SetCol
	for i := range t.Columns {
		c := &t.Columns[i]
		if c.Generated == "" || !wanted(c) {
			continue
		}
		clause := clauseGenerated
		if c.Hidden {
			clause = clauseIndexExpr
		}
		it := storedItem(t, t.Name, row)
		if c.Hidden { // an index may be on computed columns
			if err := b.computeItem(it); err != nil {
				return nil, err
			}
		}
		x, err := b.storedExpr(c.Generated, func(e ast.Expr) (plan.Expr, error) {
			x, err := b.expr(e, &scope{clause: clause, items: []*item{it}})
			if err != nil {
				return nil, err
			}
			return b.assign(x, c, 0)
		})
		if err != nil {
			return nil, err
		}
		out = append(out, plan.SetCol{Ord: i, Value: x})
	}
	return out, nil
}

// storedExpr parses an expression of the catalog and plans it by f. Notes are not taken of
// it: they are of the statement that it is no part of.
func (b *builder) storedExpr(text string, f func(ast.Expr) (plan.Expr, error)) (plan.Expr, error) {
	e, err := parser.ParseExpr(text)
	if err != nil {
		return nil, withoutPosition(err)
	}
	env := b.env
	b.env = env.unnoted()
	end := b.trust()
	x, err := f(e)
	end()
	b.env = env
	return x, withoutPosition(err)
}

// unnoted is env without notes.
func (env *Env) unnoted() *Env {
	if env.Notes == nil && env.Variables == nil {
		return env
	}
	out := *env
	out.Notes, out.Variables = nil, nil
	return &out
}

// predicates plans the predicates of the partial indexes of t over a row.
func (b *builder) predicates(t *catalog.Table, row []plan.ColID) ([]plan.IndexPredicate, error) {
	var out []plan.IndexPredicate
	for i := range t.Indexes {
		ix := &t.Indexes[i]
		if ix.Total() {
			continue
		}
		it, err := b.rowItem(t, t.Name, row)
		if err != nil {
			return nil, err
		}
		x, err := b.storedExpr(ix.Where, func(e ast.Expr) (plan.Expr, error) {
			return b.boolExpr(e, "WHERE", &scope{clause: clauseIndexWhere, items: []*item{it}})
		})
		if err != nil {
			return nil, err
		}
		out = append(out, plan.IndexPredicate{Index: ix.ID, Cond: x})
	}
	return out, nil
}

// noteDerived records in a scan what its indexes compute, so that conditions are
// recognised.
func (b *builder) noteDerived(n *plan.Scan) error {
	if !derives(n.Table) {
		return nil
	}
	ids := plan.IDs(n.Cols)
	list, err := b.computedColumns(n.Table, ids, true)
	if err != nil {
		return err
	}
	for _, c := range list {
		n.Computed = append(n.Computed, plan.ComputedCol{Ord: c.Ord, ID: ids[c.Ord], Value: c.Value})
	}
	n.Predicates, err = b.predicates(n.Table, ids)
	return err
}

// generatedBy returns the assignments that an assignment entails: to the generated
// columns that read what it changes. They are for what has to know which columns
// change; the executor computes them itself.
func generatedBy(t *catalog.Table, set []plan.SetCol) []plan.SetCol {
	out := set
	for i := range t.Columns {
		c := &t.Columns[i]
		if c.Generated == "" {
			continue
		}
		for _, sc := range out { // an index may be on an expression over generated columns
			if containsID(c.BaseColumns, t.Columns[sc.Ord].ID) {
				out = append(out[:len(out):len(out)], plan.SetCol{Ord: i})
				break
			}
		}
	}
	return out
}

// checkGeneratedValue refuses values for generated columns.
func checkGeneratedValue(c *catalog.Column) error {
	if c.Generated == "" {
		return nil
	}
	return pgerr.New(codeGeneratedAlways, "cannot insert a non-DEFAULT value into column \"%s\"", c.Name).
		WithDetail("Column \"%s\" is a generated column.", c.Name)
}
