package join

import (
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// mergeRight walks along a right side sorted like the left one, keeping the rows
// of one key.
type mergeRight struct {
	run                 *operator.Run
	src                 *operator.Source
	leftKeys, rightKeys []expr.Func
	cmp                 []expr.CompareFunc
	lvals, rvals        types.Row
	group               rowcontainer.List
	groupKey            rowcontainer.Store // one row: the key of group
	ahead               types.Row          // next row of src, nil at the end
	pos                 int
	equal               bool // group matches the left row at hand
}

func newMergeRight(c *operator.Compiler, n *plan.Join, right *operator.Source, ls, rs expr.Scope) (candidates, error) {
	m := &mergeRight{run: c.Run, src: right, lvals: make(types.Row, len(n.LeftKeys)), rvals: make(types.Row, len(n.LeftKeys))}
	var err error
	if m.leftKeys, err = c.Exprs(n.LeftKeys, ls); err != nil {
		return nil, err
	}
	if m.rightKeys, err = c.Exprs(n.RightKeys, rs); err != nil {
		return nil, err
	}
	for _, e := range n.LeftKeys {
		m.cmp = append(m.cmp, c.CompareOf(e.Type()))
	}
	return m, nil
}

func (m *mergeRight) open() error {
	m.group.Open(&m.run.State, m.src.Width)
	m.groupKey.Open(&m.run.State, len(m.rvals))
	if err := m.src.Start(); err != nil {
		return err
	}
	return m.advance()
}

// advance reads the next right row and its key.
func (m *mergeRight) advance() error {
	row, err := m.src.Row(rowcontainer.BatchRows)
	if err != nil {
		return err
	}
	m.ahead = row
	if row == nil {
		return nil
	}
	return evalInto(m.rvals, m.rightKeys, row)
}

func evalInto(dst types.Row, fns []expr.Func, row types.Row) error {
	for i, f := range fns {
		d, err := f(row)
		if err != nil {
			return err
		}
		dst[i] = d
	}
	return nil
}

// compareKeys orders keys with NULLs last.
func (m *mergeRight) compareKeys(a, b types.Row) int {
	for i, cmp := range m.cmp {
		k := rowcontainer.OrderKey{Cmp: cmp}
		if r := k.Compare(a[i], b[i]); r != 0 {
			return r
		}
	}
	return 0
}

func (m *mergeRight) begin(left types.Row) error {
	m.pos, m.equal = 0, false
	return m.find(left)
}

// find makes the right rows that have the key of a left row the group.
func (m *mergeRight) find(left types.Row) error {
	if err := evalInto(m.lvals, m.leftKeys, left); err != nil {
		return err
	}
	for i := range m.lvals {
		if m.lvals[i].IsNull() {
			return nil
		}
	}
	if m.groupKey.Len() > 0 {
		if r := m.compareKeys(m.groupKey.Rows[0], m.lvals); r >= 0 {
			m.equal = r == 0
			return nil
		}
	}
	for m.ahead != nil && m.compareKeys(m.rvals, m.lvals) < 0 {
		if err := m.advance(); err != nil {
			return err
		}
	}
	if m.ahead == nil || m.compareKeys(m.rvals, m.lvals) > 0 {
		return nil
	}
	m.equal = true
	return m.collect()
}

// collect stores the right rows that have the key of the row ahead.
func (m *mergeRight) collect() error {
	m.group.Open(&m.run.State, m.src.Width)
	m.groupKey.Open(&m.run.State, len(m.rvals))
	key, err := m.groupKey.Add(m.rvals)
	if err != nil {
		return err
	}
	for m.ahead != nil && m.compareKeys(m.rvals, key) == 0 {
		if err := m.group.Add(m.ahead); err != nil {
			return err
		}
		if err := m.advance(); err != nil {
			return err
		}
	}
	return nil
}

func (m *mergeRight) next() (types.Row, int, error) {
	if !m.equal || m.pos == m.group.Len() {
		return nil, 0, nil
	}
	row, err := m.group.At(m.pos)
	m.pos++
	return row, 0, err
}

func (m *mergeRight) stored() storedRows { return nil }

func (m *mergeRight) close() {
	m.src.Stop()
	m.group.Close()
	m.groupKey.Close()
}

func (m *mergeRight) empty() bool { return false }
