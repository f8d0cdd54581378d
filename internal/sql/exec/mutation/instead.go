package mutation

import (
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/exec/tableaccess"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// insteadOp hands rows of a view to its INSTEAD OF triggers.
type insteadOp struct {
	dml
	n        *plan.Instead
	old      []int // nil for INSERT
	set      []tableaccess.Setter
	oldRow   types.Row
	combined types.Row // input row, then the new row of an UPDATE
	width    int       // of the input
}

// CompileInstead compiles what INSTEAD OF triggers do.
func CompileInstead(c *operator.Compiler, st *Statement, n *plan.Instead) (operator.Operator, error) {
	o := &insteadOp{dml: dml{run: c.Run, stmt: st}, n: n}
	var s expr.Scope
	var err error
	if o.src, s, err = c.Input(n.Input); err != nil {
		return nil, err
	}
	if n.Old != nil {
		if o.old, err = s.Positions(n.Old); err != nil {
			return nil, err
		}
		o.oldRow = make(types.Row, len(n.Old))
	}
	if o.set, err = tableaccess.CompileSetters(&c.Compiler, n.Set, s); err != nil {
		return nil, err
	}
	o.single = true // what triggers do happens between what rows are computed of
	if o.fire, err = o.triggers(c, n.Triggers); err != nil {
		return nil, err
	}
	o.width = len(s)
	all := s
	if n.Old != nil && n.New != nil {
		all = append(s[:len(s):len(s)], n.New...)
	}
	o.combined = make(types.Row, len(all))
	return o, compileReturning(c, &o.dml, n.Returning, all)
}

func (o *insteadOp) Open() error {
	if err := o.run.Env.MayWrite(o.n.Triggers.Table, map[string]string{"Insert": "INSERT", "Update": "UPDATE", "Delete": "DELETE"}[o.n.Verb()]); err != nil {
		return err
	}
	o.rows = 0
	if err := o.beginTriggers(); err != nil {
		return err
	}
	return o.src.Start()
}

func (o *insteadOp) Next(b *rowcontainer.Batch) error { return o.loop(b, o.step) }

func (o *insteadOp) step(in types.Row, b *rowcontainer.Batch) error {
	copy(o.combined, in)
	var old, row types.Row
	if o.old != nil {
		rowcontainer.CopySlots(o.oldRow, in, o.old)
		old = o.oldRow
	}
	switch {
	case old == nil:
		row = o.combined[:len(o.n.Triggers.Table.Columns)]
	case o.n.New != nil:
		row = o.combined[o.width:]
		copy(row, old)
		for i := range o.set {
			v, err := o.set[i].Value(in)
			if err != nil {
				return err
			}
			row[o.set[i].Ord] = v
		}
	}
	if ok, err := o.fire.each(o.fire.InsteadOf, old, row); !ok {
		return err
	}
	return o.emit(o.combined, b)
}
