package mutation

import (
	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/plan"
)

// early are the triggers before the rows of an INSERT that fire for a whole batch before the first of its rows is stored, so that the keys
// of all are locked at once. That nobody can tell where the functions of the triggers do nothing but compute, and what the
// rows are computed of does nothing that they could see.
type early struct {
	may  bool   // as far as the plan tells
	on   bool   // in this execution
	keep []bool // of the rows for which the triggers have fired: whether to store them
	err  error  // that they met with the row behind these
}

// mayFireEarly reports what the plan of an INSERT tells of early triggers.
func mayFireEarly(n *plan.Insert) bool {
	if !n.Triggers.ChangesRows() || n.OnConflict != nil {
		return false
	}
	for _, g := range n.Triggers.BeforeRow {
		if g.When != nil && !plan.Computes(g.When) {
			return false
		}
	}
	if v, ok := n.Input.(*plan.Values); ok && len(v.RowExprs) == 1 {
		return false
	}
	return plan.Unseen(n.Input)
}

// begin begins an execution of the INSERT that f fires triggers for.
func (e *early) begin(f *firing) {
	e.on, e.keep, e.err = e.may, e.keep[:0], nil
	for i := 0; e.on && i < len(f.BeforeRow); i++ {
		f.fired.Trigger = f.BeforeRow[i]
		e.on = plant.On(plant.TriggersEarly) || f.run.Env.Triggers.Computes(f.run.Builtin, &f.fired)
	}
}

// fire fires the triggers for the rows of a batch, whose first width values are those of the table.
func (e *early) fire(r *operator.Run, f *firing, in *rowcontainer.Batch, width int) {
	e.keep, e.err = e.keep[:0], nil
	for i := range in.Len() {
		ok, err := f.before(nil, in.Row(i)[:width])
		if err == nil {
			err = r.Canceled()
		}
		if err != nil {
			e.err = err
			return
		}
		e.keep = append(e.keep, ok)
	}
}

// fired reports whether to store the row at a position of the batch.
func (e *early) fired(at int) (bool, error) {
	if at < len(e.keep) {
		return e.keep[at], nil
	}
	return false, e.err
}
