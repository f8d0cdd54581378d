package exec

import (
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/plan"
)

// gateOp decides by conditions that read no column of its input's rows whether the input is
// read at all: they hold for all rows or for none.
type gateOp struct {
	input  operator
	conds  []expr.Pred
	locker *rowLocker // of the input, if it locks what it reads
	shut   bool
}

// gated puts a gate before an operator, if there are conditions for one.
func (c *compiler) gated(input operator, conds []plan.Expr, locker *rowLocker) (operator, error) {
	if len(conds) == 0 {
		return input, nil
	}
	list, err := c.Preds(conds, nil)
	return &gateOp{input: input, conds: list, locker: locker}, err
}

// oneTime splits a filter over rows of cols into the conditions that are the same for all rows
// and the rest. A volatile condition may be another for each row.
func oneTime(filter plan.Expr, cols []plan.Column) (once []plan.Expr, rest plan.Expr) {
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
	once, rest := oneTime(n.Filter, n.Cols)
	if len(once) == 0 {
		return n, nil
	}
	m := *n
	m.Filter = rest
	return &m, once
}

// open checks what the input may lock even if the gate stays shut.
func (g *gateOp) open() error {
	g.shut = true
	if err := g.locker.permitted(); err != nil {
		return err
	}
	for _, cond := range g.conds {
		if ok, err := cond(nil); !ok {
			return err
		}
	}
	g.shut = false
	return g.input.open()
}

func (g *gateOp) next(b *Batch) error {
	if g.shut {
		b.clear()
		return nil
	}
	return g.input.next(b)
}

func (g *gateOp) close() { g.input.close() }
