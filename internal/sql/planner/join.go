package planner

import (
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// newJoin makes a join with the columns of both sides. lateral are left columns
// that right uses.
func newJoin(kind plan.JoinKind, l, r plan.Node, on plan.Expr, lateral []plan.ColID) *plan.Join {
	j := &plan.Join{Kind: kind, Left: l, Right: r, On: on, Outer: lateral}
	if len(lateral) > 0 {
		j.Algo = plan.ApplyJoin
	}
	lc, rc := l.Props().Cols, r.Props().Cols
	j.Cols = make([]plan.Column, 0, len(lc)+len(rc))
	j.Cols = append(append(j.Cols, lc...), rc...)
	if kind == plan.RightJoin || kind == plan.FullJoin {
		for i := range lc {
			j.Cols[i].NotNull = false
		}
	}
	if kind == plan.LeftJoin || kind == plan.FullJoin {
		for i := range rc {
			j.Cols[len(lc)+i].NotNull = false
		}
	}
	return j
}

// splitLateral divides lateral references of a right side into those that the
// left side produces and the rest.
func splitLateral(l plan.Node, refs []plan.ColRef) (here []plan.ColID, rest []plan.ColRef) {
	cols := l.Props().Cols
	for _, r := range refs {
		if plan.FindCol(cols, r.Col) >= 0 {
			here = append(here, r.Col)
		} else {
			rest = append(rest, r)
		}
	}
	return here, rest
}

// crossJoin combines two items of a FROM list.
func crossJoin(l, r *fromItem) *fromItem {
	here, rest := splitLateral(l.node, r.lateral)
	return &fromItem{
		node:    newJoin(plan.InnerJoin, l.node, r.node, nil, here),
		lateral: append(l.lateral, rest...),
	}
}

var joinKinds = [...]plan.JoinKind{
	ast.JoinInner: plan.InnerJoin, ast.JoinLeft: plan.LeftJoin, ast.JoinRight: plan.RightJoin,
	ast.JoinFull: plan.FullJoin, ast.JoinCross: plan.InnerJoin,
}

// joinExpr plans a JOIN.
func (b *builder) joinExpr(te *ast.Join, s *scope) (*fromItem, error) {
	l, err := b.tableExpr(te.L, s)
	if err != nil {
		return nil, err
	}
	right := *s // the right side sees the left one, for LATERAL
	right.items = append(append([]*item(nil), s.items...), l.items...)
	r, err := b.tableExpr(te.R, &right)
	if err != nil {
		return nil, err
	}
	if err := checkAliases(l.items, r.items); err != nil {
		return nil, err
	}
	kind := joinKinds[te.Kind]
	if kind == plan.RightJoin || kind == plan.FullJoin {
		b.computeBelow(l)
	}
	if kind == plan.LeftJoin || kind == plan.FullJoin {
		b.computeBelow(r)
	}
	here, rest := splitLateral(l.node, r.lateral)
	if len(here) > 0 && (kind == plan.RightJoin || kind == plan.FullJoin) {
		return nil, errLateral(l.items, r.lateral)
	}
	f := &fromItem{lateral: append(l.lateral, rest...)}
	f.items = append(append(f.items, l.items...), r.items...)
	var on plan.Expr
	switch {
	case te.Natural || len(te.Using) > 0:
		on, err = b.using(te, kind, l, r, f)
	case te.On != nil:
		onScope := *s
		onScope.items, onScope.clause, onScope.sel, onScope.beside = f.items, clauseJoin, nil, s.items
		on, err = b.boolExpr(te.On, "JOIN/ON", &onScope)
	}
	if err != nil {
		return nil, err
	}
	if kind == plan.RightJoin || kind == plan.FullJoin {
		b.nullable(l)
	}
	if kind == plan.LeftJoin || kind == plan.FullJoin {
		b.nullable(r)
	}
	f.node = newJoin(kind, l.node, r.node, on, here)
	if te.Alias.Name != "" {
		if err := aliasJoin(te, f); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// errLateral refuses references to the left side of a right or full join.
func errLateral(items []*item, refs []plan.ColRef) error {
	for _, r := range refs {
		for _, it := range items {
			for i := range it.cols {
				if it.cols[i].col.ID == r.Col {
					return pgerr.New(pgerr.InvalidColumnReference, "invalid reference to FROM-clause entry for table \"%s\"", it.alias).
						WithDetail("The combining JOIN type must be INNER or LEFT for a LATERAL reference.").At(r.Pos)
				}
			}
		}
	}
	return pgerr.New(pgerr.InvalidColumnReference, "invalid reference to a FROM-clause entry to the left")
}

// nullable notes that an outer join may replace the rows of f by NULLs. Where nothing else
// tells such a row from one whose columns are NULL, a column that the join sees as true does.
func (b *builder) nullable(f *fromItem) {
	var p *plan.Project
	for _, it := range f.items {
		it.nullable = true
		if it.join || it.scalarFunc || it.present != nil || neverNull(it) != nil || !b.namesRow(it.alias) {
			continue
		}
		if p == nil {
			p = passing(f.node)
		}
		c := plan.Column{ID: b.newCol(), Name: "?column?", Type: types.Bool, NotNull: true}
		p.Cols, p.Exprs = append(p.Cols, c), append(p.Exprs, plan.NewConst(types.Bool, types.True))
		it.present = &scopeCol{col: c}
	}
	if p != nil {
		f.node = p
	}
}

// namesRow reports whether the statement may refer to whole rows of a relation.
func (b *builder) namesRow(alias ast.Name) bool {
	if b.rowNames == nil {
		b.rowNames = map[ast.Name]bool{}
		ast.Walk(b.text, func(n ast.Node) bool {
			if c, ok := n.(*ast.ColumnRef); ok && c.Star {
				b.rowNames[c.Table] = true
			} else if ok && c.Table == "" {
				b.rowNames[c.Column] = true
			}
			return true
		})
	}
	return b.rowNames[alias]
}

// aliasJoin hides the parts of (a JOIN b) AS j behind j.
func aliasJoin(te *ast.Join, f *fromItem) error {
	j := &item{alias: te.Alias.Name, relVisible: true, colsVisible: true, join: true, behind: f.items}
	for _, it := range f.items {
		if it.colsVisible {
			j.cols = append(j.cols, it.cols...)
		}
	}
	for i := range j.cols {
		j.cols[i].at, j.cols[i].home = int32(i), j
	}
	f.items = []*item{j}
	return renameCols(j, te.Alias.Cols)
}

// using plans the condition of USING and NATURAL and replaces f's items: the
// common columns come first and once; unqualified names find only the join's
// columns.
func (b *builder) using(te *ast.Join, kind plan.JoinKind, l, r, f *fromItem) (plan.Expr, error) {
	names := te.Using
	if te.Natural {
		names = commonNames(l.items, r.items)
	}
	b.env.Notes.noteUsing(te, names)
	j := &item{colsVisible: true}
	var conds []plan.Expr
	for i, n := range names {
		if containsName(names[:i], n) {
			return nil, pgerr.New(pgerr.DuplicateColumn, "column name \"%s\" appears more than once in USING clause", n)
		}
		lc, err := usingColumn(l.items, n, "left")
		if err != nil {
			return nil, err
		}
		rc, err := usingColumn(r.items, n, "right")
		if err != nil {
			return nil, err
		}
		merged, err := b.mergedColumn(kind, n, lc, rc, te.Pos)
		if err != nil {
			return nil, err
		}
		eq, err := b.operator(ast.Operator{Name: "="}, []plan.Expr{lc.ref(te.Pos), rc.ref(te.Pos)}, []int{te.Pos, te.Pos}, te.Pos)
		if err != nil {
			return nil, err
		}
		conds = append(conds, eq)
		b.env.Notes.noteMerged(te, i, lc, rc, &merged)
		j.cols = append(j.cols, merged)
	}
	var hidden []*item
	if te.UsingAlias != "" { // a relation of the merged columns
		merged := &item{alias: te.UsingAlias, cols: append([]scopeCol(nil), j.cols...), relVisible: true, join: true}
		if err := checkAliases(f.items, []*item{merged}); err != nil {
			return nil, err
		}
		hidden = append(hidden, merged)
	}
	for _, it := range f.items {
		if it.colsVisible {
			for i := range it.cols {
				if !containsName(names, it.cols[i].name) {
					j.cols = append(j.cols, it.cols[i])
				}
			}
		}
		if it.relVisible {
			it.colsVisible = false
			hidden = append(hidden, it)
		}
	}
	f.items = append([]*item{j}, hidden...)
	return plan.ConjoinAll(conds), nil
}

// mergedColumn is what a USING column means in the join's output.
func (b *builder) mergedColumn(kind plan.JoinKind, name string, l, r *scopeCol, pos int) (scopeCol, error) {
	args := []plan.Expr{l.ref(pos), r.ref(pos)}
	rightType := args[1].Type()
	t, err := b.common(args, []int{pos, pos}, "JOIN/USING")
	if err != nil {
		return scopeCol{}, err
	}
	switch {
	case kind == plan.FullJoin:
		c := scopeCol{name: name, expr: &plan.Coalesce{Args: args, T: t}}
		c.col.Type = t
		return c, nil
	case kind == plan.RightJoin, kind == plan.InnerJoin && !l.col.Type.Is(t) && rightType.Is(t):
		l, args = r, args[1:]
	}
	c := *l
	c.name = name
	if !args[0].Type().Is(t) { // of the same representation
		args[0] = &plan.Cast{Arg: args[0], T: t, Mode: plan.CastImplicit}
	}
	if _, plainRef := args[0].(*plan.ColRef); !plainRef {
		c.expr, c.home = args[0], nil
	}
	return c, nil
}

func containsName(list []ast.Name, n string) bool {
	for _, x := range list {
		if x == n {
			return true
		}
	}
	return false
}

// commonNames are the columns that NATURAL joins by, in the left side's order.
func commonNames(l, r []*item) []ast.Name {
	var out []ast.Name
	for _, it := range l {
		if !it.colsVisible {
			continue
		}
		for i := range it.cols {
			n := it.cols[i].name
			if it.cols[i].hidden || containsName(out, n) {
				continue
			}
			for _, rt := range r {
				for k := range rt.cols {
					if rt.colsVisible && !rt.cols[k].hidden && rt.cols[k].name == n && !containsName(out, n) {
						out = append(out, n)
					}
				}
			}
		}
	}
	return out
}

// usingColumn finds the one column of a name on one side.
func usingColumn(items []*item, name, side string) (*scopeCol, error) {
	var hit *scopeCol
	for _, it := range items {
		if !it.colsVisible {
			continue
		}
		for i := range it.cols {
			if it.cols[i].name != name || it.cols[i].hidden {
				continue
			}
			if hit != nil {
				return nil, pgerr.New(pgerr.AmbiguousColumn, "common column name \"%s\" appears more than once in %s table", name, side)
			}
			hit = &it.cols[i]
		}
	}
	if hit == nil {
		return nil, pgerr.New(pgerr.UndefinedColumn, "column \"%s\" specified in USING clause does not exist in %s table", name, side)
	}
	return hit, nil
}
