package exec

import (
	"errors"

	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// maxTopK is the largest bound for which a sort keeps only the rows needed.
const maxTopK = 1 << 16

// sortOp sorts: everything, the first k rows, or group by group where the first keys hold already.
type sortOp struct {
	run       *operator.Run
	src       *operator.Source
	order     rowcontainer.Ordering
	presorted rowcontainer.Ordering
	bound     operator.RowBound

	sorter rowcontainer.RowSorter
	top    topRows            // instead of sorter while only the first k rows are kept
	sorted bool               // the rows, or those of a group, are there
	limit  int                // rows needed, -1 for all
	group  rowcontainer.Store // a row of the group at hand
	ahead  rowcontainer.Store // the first row of the next
	atEnd  bool
	handed int
	method plan.SortMethod
}

func (c *compiler) sort(n *plan.Sort) (operator.Operator, error) {
	src, _, err := c.Input(n.Input)
	if err != nil {
		return nil, err
	}
	s := &sortOp{run: c.Run, src: src}
	if s.order, err = rowcontainer.NewOrdering(&c.Run.State, n.Keys, n.Input.Props().Cols); err != nil {
		return nil, err
	}
	s.presorted = s.order[:n.Presorted]
	s.bound, err = c.Bound(n.Bound)
	return s, err
}

func (s *sortOp) Open() error {
	s.sorted, s.atEnd, s.handed, s.method = false, false, 0, plan.SortMethod{}
	s.sorter.Open(&s.run.State, s.src.Width, s.order)
	n, err := s.bound.Rows()
	if err != nil {
		return err
	}
	s.limit = -1
	if n >= 0 && n <= maxTopK {
		s.limit = int(n)
	}
	if s.limit >= 0 && len(s.presorted) == 0 {
		s.top.open(s.run, s.src.Width, s.limit, s.order)
	}
	if len(s.presorted) > 0 {
		s.group.Open(&s.run.State, s.src.Width)
		s.ahead.Open(&s.run.State, s.src.Width)
	}
	return s.src.Start()
}

func (s *sortOp) Close() {
	s.src.Stop()
	s.sorter.Close()
	s.top.close()
	s.group.Close()
	s.ahead.Close()
}

// SortMethod implements sortReporter.
func (s *sortOp) SortMethod() plan.SortMethod { return s.method }

func (s *sortOp) Next(b *rowcontainer.Batch) error {
	b.Clear()
	for !b.Full() && (s.limit < 0 || s.handed < s.limit) {
		row, err := s.next()
		if err != nil {
			return err
		}
		if row != nil {
			b.AddCopy(row)
			s.handed++
			continue
		}
		if s.sorted && (s.atEnd || len(s.presorted) == 0) || b.Len() > 0 {
			return nil // the rows of the next group may lie where those of b do
		}
		if err := s.fill(); err != nil {
			return err
		}
		s.sorted = true
	}
	return nil
}

// next returns the next row of those that are sorted, nil behind the last.
func (s *sortOp) next() (types.Row, error) {
	switch {
	case !s.sorted:
		return nil, nil
	case s.top.on:
		return s.top.next(), nil
	}
	return s.sorter.Next()
}

// fill reads and sorts everything, or the next group of rows that are equal on the keys that hold
// already.
func (s *sortOp) fill() error {
	if len(s.presorted) > 0 {
		return s.fillGroup()
	}
	for {
		ok, err := s.src.Fetch(rowcontainer.BatchRows)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		if err := s.take(&s.src.Batch); err != nil {
			return err
		}
	}
	s.src.Stop()
	if s.top.on {
		s.method = plan.SortMethod{Name: "top-N heapsort", Bytes: s.top.rows.Acc.Used()}
		return s.top.sort()
	}
	if err := s.sorter.Finish(); err != nil {
		return err
	}
	s.method = methodOf(s.sorter.Used())
	return nil
}

// methodOf says how rows were sorted that took so many bytes.
func methodOf(memory, disk int64) plan.SortMethod {
	if disk > 0 {
		return plan.SortMethod{Name: "external merge", Bytes: disk, Disk: true}
	}
	return plan.SortMethod{Name: "quicksort", Bytes: memory}
}

// take stores the rows of b, or those that may be among the first k.
func (s *sortOp) take(b *rowcontainer.Batch) error {
	for i := range b.Len() {
		if !s.top.on {
			if err := s.sorter.Add(b.Row(i)); err != nil {
				return err
			}
			continue
		}
		added, err := s.top.add(b.Row(i))
		if err == nil {
			continue
		}
		if used := s.top.rows.Acc.Used(); !errors.Is(err, errTopFull) && !s.run.Refused(err, used) {
			return err
		}
		s.top.on = false
		if s.sorter.Take(&s.top.rows); added {
			continue
		}
		if err := s.sorter.Add(b.Row(i)); err != nil {
			return err
		}
	}
	return nil
}

// fillGroup reads one group; the first row of the next waits in ahead.
func (s *sortOp) fillGroup() error {
	s.sorter.Open(&s.run.State, s.src.Width, s.order)
	s.group.Open(&s.run.State, s.src.Width)
	if s.ahead.Len() > 0 {
		if err := s.addToGroup(s.ahead.Rows[0]); err != nil {
			return err
		}
		s.ahead.Open(&s.run.State, s.src.Width)
	}
	for {
		row, err := s.src.Row(rowcontainer.BatchRows)
		if err != nil {
			return err
		}
		if row == nil {
			s.atEnd = true
			break
		}
		if s.group.Len() > 0 && s.presorted.Compare(s.group.Rows[0], row) != 0 {
			if _, err := s.ahead.Add(row); err != nil {
				return err
			}
			break
		}
		if err := s.addToGroup(row); err != nil {
			return err
		}
	}
	return s.sorter.Finish()
}

func (s *sortOp) addToGroup(row types.Row) error {
	if s.group.Len() == 0 {
		if _, err := s.group.Add(row); err != nil {
			return err
		}
	}
	return s.sorter.Add(row)
}

// errTopFull says that the first k rows take more than work_mem.
var errTopFull = errors.New("exec: the rows of a bound take more than work_mem")

// topRows keeps the first k rows.
type topRows struct {
	on          bool
	run         *operator.Run
	k           int
	width       int
	order       rowcontainer.Ordering
	rows, spare rowcontainer.Store
	bounded     bool // rows are sorted, and the last of the first k is the threshold
	pos         int
	sorter      rowcontainer.Sorter
}

func (t *topRows) open(r *operator.Run, width, k int, o rowcontainer.Ordering) {
	t.on, t.run, t.k, t.width, t.order, t.bounded, t.pos = true, r, k, width, o, false, 0
	t.rows.Open(&r.State, width)
}

func (t *topRows) close() {
	t.on = false
	t.rows.Close()
	t.spare.Close()
}

// add takes a row that may be among the first k, and reports whether it is kept although err says that
// no more may be.
func (t *topRows) add(row types.Row) (added bool, err error) {
	if t.k == 0 || t.bounded && t.order.Compare(row, t.rows.Rows[t.k-1]) >= 0 {
		return true, nil
	}
	if _, err := t.rows.Add(row); err != nil {
		return false, err
	}
	full := t.run.Full(t.rows.Acc.Used())
	if t.rows.Len() >= 2*t.k+64 || full && t.rows.Len() > t.k {
		err = t.prune()
		full = t.run.Full(t.rows.Acc.Used())
	}
	if err == nil && full {
		err = errTopFull
	}
	return true, err
}

// prune keeps the first k rows, in a store of their own.
func (t *topRows) prune() error {
	if err := t.sort(); err != nil {
		return err
	}
	t.spare.Open(&t.run.State, t.width)
	for _, row := range t.rows.Rows {
		if err := t.run.Tick(); err != nil {
			return err
		}
		if _, err := t.spare.Add(row); err != nil {
			t.spare.Close()
			return err
		}
	}
	t.rows, t.spare = t.spare, t.rows
	t.spare.Close()
	t.bounded = true
	return nil
}

// sort sorts the rows and cuts them to those needed.
func (t *topRows) sort() error {
	if err := t.sorter.Sort(&t.run.State, t.rows.Rows, t.order); err != nil {
		return err
	}
	t.rows.Rows = t.rows.Rows[:min(t.k, t.rows.Len())]
	return nil
}

func (t *topRows) next() types.Row {
	if t.pos == t.rows.Len() {
		return nil
	}
	t.pos++
	return t.rows.Rows[t.pos-1]
}
