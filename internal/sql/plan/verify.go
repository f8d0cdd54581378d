package plan

import (
	"fmt"

	"github.com/lichendb/lichen/internal/sql/types"
)

// Verify checks the invariants of a plan; outer are the columns of enclosing
// rows it may refer to. It is meant for tests: a violation is a bug.
func Verify(n Node, outer []ColID) error {
	v := &verifier{outer: map[ColID]int{}}
	for _, id := range outer {
		v.outer[id]++
	}
	return v.node(n)
}

type verifier struct {
	outer map[ColID]int
	ctes  []int
}

// with runs f while ids are visible as outer columns.
func (v *verifier) with(ids []ColID, f func() error) error {
	for _, id := range ids {
		v.outer[id]++
	}
	err := f()
	for _, id := range ids {
		v.outer[id]--
	}
	return err
}

func (v *verifier) node(n Node) error {
	if w, ok := n.(*With); ok {
		for _, c := range w.CTEs {
			v.ctes = append(v.ctes, c.ID)
		}
	}
	if s, ok := n.(*CTEScan); ok && !v.knows(s.ID) {
		return fmt.Errorf("scan of CTE %d (%s) that no With defines", s.ID, s.Name)
	}
	for i, c := range Children(n) {
		if err := v.with(given(n, i), func() error { return v.node(c) }); err != nil {
			return err
		}
	}
	if err := v.cols(n); err != nil {
		return err
	}
	visible := v.inputs(n)
	var err error
	VisitExprs(n, func(e *Expr) {
		if err == nil {
			err = v.expr(n, *e, visible)
		}
	})
	if err != nil {
		return err
	}
	return conditions(n)
}

// given are the columns that n sets for its child number i.
func given(n Node, i int) []ColID {
	switch n := n.(type) {
	case *Join:
		if i == 1 {
			return n.Outer
		}
	case *With:
		for _, c := range n.CTEs {
			if i--; c.Recursive != nil {
				if i == 0 {
					return []ColID{c.Round}
				}
				i--
			}
		}
	}
	return nil
}

func (v *verifier) knows(id int) bool {
	for _, x := range v.ctes {
		if x == id {
			return true
		}
	}
	return false
}

// inputs are the columns that n's expressions may refer to.
func (v *verifier) inputs(n Node) map[ColID]bool {
	m := map[ColID]bool{}
	add := func(ids []ColID) {
		for _, id := range ids {
			m[id] = true
		}
	}
	for _, c := range Children(n) {
		add(IDs(c.Props().Cols))
	}
	switch n := n.(type) {
	case *Scan:
		add(IDs(n.Cols))
	case *VirtualScan:
		add(IDs(n.Cols))
	case *IndexJoin:
		add(IDs(n.Cols))
	case *Insert:
		add(n.New)
		if n.OnConflict != nil {
			add(n.OnConflict.Old)
		}
	case *Merge:
		add(n.New)
	case *Instead:
		add(n.New)
	case *Update:
		add(n.New)
		add(n.Old)
	}
	return m
}

// cols checks that the columns an operator passes on exist below it.
func (v *verifier) cols(n Node) error {
	in := v.inputs(n)
	need := func(what string, ids ...ColID) error {
		for _, id := range ids {
			if !in[id] {
				return fmt.Errorf("%T: %s column %d is not produced by its input", n, what, id)
			}
		}
		return nil
	}
	pass := func() error { return need("output", IDs(n.Props().Cols)...) }
	switch n := n.(type) {
	case *Scan:
		if len(n.Cols) != len(n.Ords) {
			return fmt.Errorf("scan of %s: %d columns, %d positions", n.Table.Name, len(n.Cols), len(n.Ords))
		}
	case *IndexJoin:
		return need("key", n.Key...)
	case *Filter, *Barrier, *Join, *Limit, *LockRows, *Gather:
		return pass()
	case *Project:
		if len(n.Cols) != len(n.Exprs) {
			return fmt.Errorf("project: %d columns, %d expressions", len(n.Cols), len(n.Exprs))
		}
	case *Values:
		for _, r := range n.RowExprs {
			if len(r) != len(n.Cols) {
				return fmt.Errorf("values: %d columns, %d expressions", len(n.Cols), len(r))
			}
		}
	case *Sort:
		for _, k := range n.Keys {
			if err := need("sort", k.Col); err != nil {
				return err
			}
		}
		return pass()
	case *Distinct:
		if err := need("key", n.Keys...); err != nil {
			return err
		}
		return pass()
	case *GroupBy:
		return need("key", n.Keys...)
	case *SetOp:
		if err := need("left", n.LeftCols...); err != nil {
			return err
		}
		return need("right", n.RightCols...)
	case *Insert:
		if len(n.Input.Props().Cols) != len(n.Table.Columns) {
			return fmt.Errorf("insert into %s: %d input columns", n.Table.Name, len(n.Input.Props().Cols))
		}
	case *Update:
		return need("old", n.Old...)
	case *Delete:
		return need("old", n.Old...)
	case *Instead:
		return need("old", n.Old...)
	case *Merge:
		return need("old", n.Old...)
	}
	return nil
}

func (v *verifier) expr(n Node, e Expr, visible map[ColID]bool) error {
	var err error
	check := func(id ColID) {
		if err == nil && !visible[id] && v.outer[id] == 0 {
			err = fmt.Errorf("%T: %s refers to column %d, which is not visible", n, FormatExpr(e), id)
		}
	}
	Refs(e, check)
	if err != nil {
		return err
	}
	WalkExpr(e, func(x Expr) bool {
		if x.Type() == nil || x.Type().Oid == types.Unknown.Oid {
			err = fmt.Errorf("%T: %s has no type", n, FormatExpr(x))
		}
		s, ok := x.(*Subquery)
		if !ok || err != nil {
			return err == nil
		}
		ids := make([]ColID, len(s.Outer))
		for i := range ids {
			ids[i] = s.Outer[i].Col
		}
		err = v.with(ids, func() error { return v.node(s.Plan) })
		if err == nil && s.Kind != ExistsSubquery && len(s.Left) == 0 && len(s.Plan.Props().Cols) == 0 {
			err = fmt.Errorf("%T: subquery without columns", n)
		}
		return err == nil
	})
	return err
}

// conditions checks that conditions are boolean.
func conditions(n Node) error {
	var conds []Expr
	switch n := n.(type) {
	case *Scan:
		conds = append(conds, n.Filter)
	case *IndexJoin:
		conds = append(conds, n.Filter)
	case *VirtualScan:
		conds = append(conds, n.Filter)
	case *Filter:
		conds = append(conds, n.Cond)
	case *Join:
		conds = append(conds, n.On)
	}
	for _, c := range conds {
		if c != nil && c.Type().Family != types.BoolFamily {
			return fmt.Errorf("%T: condition %s has type %s", n, FormatExpr(c), c.Type().Name)
		}
	}
	return nil
}
