package scan

import (
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/plan"
)

// oneTimeFilterOp opens its input only if conditions hold that read no column of its rows: they
// hold for all rows or for none. PostgreSQL shows such conditions as One-Time Filter.
type oneTimeFilterOp struct {
	input  operator.Operator
	conds  []expr.Pred
	locker *rowLocker // of the input, if it locks what it reads
	failed bool
}

// OneTimeFilter has conditions that are the same for all rows decide whether an operator is opened.
func OneTimeFilter(c *operator.Compiler, input operator.Operator, conds []plan.Expr) (operator.Operator, error) {
	return oneTimeFilter(c, input, conds, nil)
}

// oneTimeFilter is OneTimeFilter for an operator that locks rows by locker; nil if it locks none.
func oneTimeFilter(c *operator.Compiler, input operator.Operator, conds []plan.Expr, locker *rowLocker) (operator.Operator, error) {
	if len(conds) == 0 {
		return input, nil
	}
	list, err := c.Preds(conds, nil)
	return &oneTimeFilterOp{input: input, conds: list, locker: locker}, err
}

// SplitOneTime splits a filter over rows of cols into the conditions that are the same for all rows
// and the rest. A volatile condition may be another for each row.
func SplitOneTime(filter plan.Expr, cols []plan.Column) (once []plan.Expr, rest plan.Expr) {
	if filter == nil {
		return nil, nil
	}
	own := expr.ScopeOf(cols)
	var each []plan.Expr
	for _, cond := range plan.Conjuncts(filter, nil) {
		reads := false
		plan.Refs(cond, func(id plan.ColID) { reads = reads || own.Find(id) >= 0 })
		if reads || plan.Volatile(cond) {
			each = append(each, cond)
		} else {
			once = append(once, cond)
		}
	}
	if len(once) == 0 {
		return nil, filter
	}
	return once, plan.ConjoinAll(each)
}

// withoutOneTime takes the conditions that are the same for all rows from a scan.
func withoutOneTime(n *plan.Scan) (*plan.Scan, []plan.Expr) {
	once, rest := SplitOneTime(n.Filter, n.Cols)
	if len(once) == 0 {
		return n, nil
	}
	m := *n
	m.Filter = rest
	return &m, once
}

// Open checks what the input may lock even if the conditions fail.
func (f *oneTimeFilterOp) Open() error {
	f.failed = true
	if err := f.locker.permitted(); err != nil {
		return err
	}
	for _, cond := range f.conds {
		if ok, err := cond(nil); !ok {
			return err
		}
	}
	f.failed = false
	return f.input.Open()
}

func (f *oneTimeFilterOp) Next(b *rowcontainer.Batch) error {
	if f.failed {
		b.Clear()
		return nil
	}
	return f.input.Next(b)
}

func (f *oneTimeFilterOp) Close() { f.input.Close() }
