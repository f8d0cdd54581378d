package scan

import (
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/exec/tableaccess"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/rowcodec"
	"github.com/lichendb/lichen/internal/sql/types"
)

// lockRowsOp locks the rows of some tables that its input's rows are made of.
type lockRowsOp struct {
	run     *operator.Run
	input   operator.Operator
	targets []lockTarget
	recheck expr.Pred
	// computed: the rows hold values computed from columns that a re-read would
	// change; they cannot be computed again here.
	computed bool
	text     rowcontainer.Scratch
	keys     [][]byte // of rows that are about to be locked
}

// lockTarget is one table.
type lockTarget struct {
	*rowLocker
	key []int // positions of the primary key in the input
	row []int // positions of the table's columns in the input
	tmp types.Row
}

// CompileLockRows compiles FOR UPDATE and the like above joins.
func CompileLockRows(c *operator.Compiler, n *plan.LockRows) (operator.Operator, error) {
	input, err := c.Node(n.Input)
	if err != nil {
		return nil, err
	}
	s := expr.ScopeOf(n.Input.Props().Cols)
	l := &lockRowsOp{run: c.Run, input: input}
	for i := range n.Targets {
		t := &n.Targets[i]
		x, err := rowcodec.Compile(t.Scan.Table, t.Scan.Table.Primary())
		if err != nil {
			return nil, err
		}
		k := lockTarget{tmp: make(types.Row, len(t.Ords))}
		if k.rowLocker, err = newRowLocker(c, t.Scan, x, t.Ords, t.Locking); err != nil {
			return nil, err
		}
		if k.key, err = s.Positions(t.Key); err != nil {
			return nil, err
		}
		if k.row, err = s.Positions(t.Row); err != nil {
			return nil, err
		}
		l.targets = append(l.targets, k)
	}
	l.computed = computes(n.Input)
	l.recheck, err = c.Pred(n.Recheck, s)
	return l, err
}

// computes reports whether a projection below computes anything.
func computes(n plan.Node) bool {
	switch n := n.(type) {
	case *plan.Sort:
		return computes(n.Input)
	case *plan.Filter:
		return computes(n.Input)
	case *plan.Project:
		for _, e := range n.Exprs {
			switch e.(type) {
			case *plan.ColRef, *plan.Const, *plan.Param:
			default:
				return true
			}
		}
		return computes(n.Input)
	case *plan.Join:
		return computes(n.Left) || computes(n.Right)
	}
	return false
}

func (l *lockRowsOp) Open() error {
	for _, t := range l.targets {
		if err := t.permitted(); err != nil {
			return err
		}
	}
	return l.input.Open()
}

func (l *lockRowsOp) Close() { l.input.Close() }

func (l *lockRowsOp) Next(b *rowcontainer.Batch) error {
	for {
		if err := l.input.Next(b); err != nil || b.Len() == 0 {
			return err
		}
		l.text.Reset()
		if len(l.targets) == 1 {
			if err := l.lockAhead(b); err != nil {
				return err
			}
		}
		if err := b.Keep(0, l.lock); err != nil || b.Len() > 0 {
			return err
		}
		if b.Err != nil {
			return b.Err
		}
	}
}

// lockAhead locks what the rows of b are made of, of the only table.
func (l *lockRowsOp) lockAhead(b *rowcontainer.Batch) error {
	t := &l.targets[0]
	l.keys = l.keys[:0]
	for i := range b.Len() {
		ok, err := t.encodeKey(b.Row(i))
		if err != nil {
			return err
		}
		if ok {
			l.keys = append(l.keys, l.text.Bytes(t.rowLocker.key))
		}
	}
	return t.lockSeenAhead(l.keys)
}

// lock locks what a row is made of and reports whether to return it.
func (l *lockRowsOp) lock(row types.Row) (bool, error) {
	changed := false
	for i := range l.targets {
		ok, ch, err := l.targets[i].lock(&l.text, row)
		if !ok {
			return false, err
		}
		changed = changed || ch
	}
	if changed && l.computed {
		return false, tableaccess.ErrRowChanged(nil)
	}
	if changed && l.recheck != nil {
		return l.recheck(row)
	}
	return true, nil
}

// encodeKey puts the key of the table's row into rowLocker.key; false if there is none, on the
// missing side of an outer join.
func (t *lockTarget) encodeKey(row types.Row) (ok bool, err error) {
	if t.fullRow == nil {
		t.fullRow = make(types.Row, len(t.table.Columns))
	}
	for i, p := range t.key {
		if row[p].IsNull() {
			return false, nil
		}
		t.fullRow[t.primary.Key[i].Ord] = row[p]
	}
	t.rowLocker.key, err = t.primary.AppendKey(t.rowLocker.key[:0], t.fullRow)
	return err == nil, err
}

// lock locks one table's row and brings its columns up to date.
func (t *lockTarget) lock(text *rowcontainer.Scratch, row types.Row) (ok, changed bool, err error) {
	if ok, err = t.encodeKey(row); !ok {
		return err == nil, false, err
	}
	res, err := t.acquireSeen(t.rowLocker.key)
	if err != nil || res.Skipped || !res.Found || res.Self {
		return false, false, err
	}
	if !res.Changed {
		return true, false, nil
	}
	key, value := text.Bytes(t.rowLocker.key), text.Value(res.Value)
	if err := t.newest.Decode(key, value, t.tmp); err != nil {
		return false, false, err
	}
	for i, p := range t.row {
		row[p] = t.tmp[i]
	}
	return true, true, nil
}
