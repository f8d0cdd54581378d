package vecexpr

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/vector"
)

// Expr computes an expression for the rows of a frame.
type Expr interface {
	// Eval returns a vector with the values at the positions of f.Sel, which it cuts if a row
	// fails. The vector lives until the next Eval, and is not to be changed.
	Eval(f *Frame) *vector.Vector
}

// Pred is a condition of which only matters whether it is true.
type Pred interface {
	// Select appends to out, which has room, the rows of sel for which the condition is true. It
	// cuts f.Sel if a row fails; no row behind that is appended.
	Select(f *Frame, sel, out vector.Selection) vector.Selection
}

// Compiler compiles expressions over the columns of a scope.
type Compiler struct {
	Rows  *expr.Compiler
	Scope expr.Scope
}

// Expr compiles an expression.
func (c Compiler) Expr(e plan.Expr) (Expr, error) {
	switch e := e.(type) {
	case *plan.ColRef:
		if pos := c.Scope.Find(e.Col); pos >= 0 {
			return column(pos), nil
		}
	case *plan.Call:
		if x, err := c.arithmetic(e); x != nil || err != nil {
			return x, err
		}
	case *plan.Cast:
		if e.Mode == plan.CastCollate {
			return c.Expr(e.Arg)
		}
		if integers(e.Arg.Type(), e.T) && e.T.Oid == types.Int8.Oid {
			return c.Expr(e.Arg) // every integer is one
		}
	case *plan.Case:
		if e.Operand == nil && fewConditions(e) {
			return c.searchedCase(e)
		}
	}
	return c.rowwise(e)
}

// Exprs compiles a list.
func (c Compiler) Exprs(list []plan.Expr) ([]Expr, error) {
	out := make([]Expr, len(list))
	for i, e := range list {
		var err error
		if out[i], err = c.Expr(e); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// integers reports whether both types are integers.
func integers(a, b *types.T) bool { return integer(a) && integer(b) }

func integer(t *types.T) bool {
	return t.Oid == types.Int2.Oid || t.Oid == types.Int4.Oid || t.Oid == types.Int8.Oid
}

// column is a column of the batch.
type column int

// Eval implements Expr.
func (c column) Eval(f *Frame) *vector.Vector { return f.Cols[c] }

// ColumnsOf returns the positions of the columns that e reads, in subqueries too.
func (c Compiler) ColumnsOf(e plan.Expr) []int {
	var cols []int
	add := func(id plan.ColID) {
		if pos := c.Scope.Find(id); pos >= 0 && !slices.Contains(cols, pos) {
			cols = append(cols, pos)
		}
	}
	plan.WalkExpr(e, func(x plan.Expr) bool {
		switch x := x.(type) {
		case *plan.ColRef:
			add(x.Col)
		case *plan.Subquery:
			for _, ref := range x.Outer {
				add(ref.Col)
			}
		}
		return true
	})
	return cols
}
