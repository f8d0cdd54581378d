package exec

import (
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/plan"
)

// maxTopK is the largest bound for which a sort keeps only the rows needed.
const maxTopK = 1 << 16

// sortOp sorts in memory: everything, the first k rows, or group by group where
// the first keys hold already.
type sortOp struct {
	run       *operator.Run
	src       *operator.Source
	order     rowcontainer.Ordering
	presorted rowcontainer.Ordering
	bound     operator.RowBound

	store  rowcontainer.Store
	spare  rowcontainer.Store
	ready  bool
	pos    int
	limit  int // rows needed, -1 for all
	ahead  rowcontainer.Store
	atEnd  bool
	handed int
	sorter rowcontainer.Sorter
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
	s.ready, s.pos, s.atEnd, s.handed = false, 0, false, 0
	s.store.Open(&s.run.State, s.src.Width)
	s.ahead.Open(&s.run.State, s.src.Width)
	n, err := s.bound.Rows()
	if err != nil {
		return err
	}
	s.limit = -1
	if n >= 0 && n <= maxTopK {
		s.limit = int(n)
	}
	return s.src.Start()
}

func (s *sortOp) Close() {
	s.src.Stop()
	s.store.Close()
	s.spare.Close()
	s.ahead.Close()
}

func (s *sortOp) Next(b *rowcontainer.Batch) error {
	b.Clear()
	for s.pos == len(s.store.Rows) {
		if s.ready && (s.atEnd || len(s.presorted) == 0) {
			return nil
		}
		if s.limit >= 0 && s.handed >= s.limit {
			return nil
		}
		if err := s.fill(); err != nil {
			return err
		}
		s.ready, s.pos = true, 0
	}
	for ; s.pos < len(s.store.Rows) && !b.Full(); s.pos++ {
		b.AddCopy(s.store.Rows[s.pos])
		s.handed++
	}
	return nil
}

// fill reads and sorts everything, or the next group of rows that are equal on
// the keys that hold already.
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
	if err := s.store.Acc.Grow(int64(s.store.Len()) * rowcontainer.SortItemSize); err != nil {
		return expr.MemoryError(err)
	}
	return s.finish()
}

// take stores the rows of b, or those that may be among the first k.
func (s *sortOp) take(b *rowcontainer.Batch) error {
	if s.limit < 0 {
		return s.store.AddBatch(b)
	}
	for i := 0; i < b.Len() && s.limit > 0; i++ {
		row := b.Row(i)
		// After a prune the last of the first k rows is the threshold.
		if s.pos > 0 && s.order.Compare(row, s.store.Rows[s.limit-1]) >= 0 {
			continue
		}
		if _, err := s.store.Add(row); err != nil {
			return err
		}
		if s.store.Len() >= 2*s.limit+64 {
			if err := s.prune(); err != nil {
				return err
			}
		}
	}
	return nil
}

// prune keeps the first k rows, in a store of their own.
func (s *sortOp) prune() error {
	if err := s.finish(); err != nil {
		return err
	}
	s.spare.Open(&s.run.State, s.src.Width)
	for _, row := range s.store.Rows {
		if err := s.run.Tick(); err != nil {
			return err
		}
		if _, err := s.spare.Add(row); err != nil {
			return err
		}
	}
	s.store, s.spare = s.spare, s.store
	s.spare.Close()
	s.pos = 1 // there is a threshold
	return nil
}

// finish sorts the store and cuts it to the rows needed.
func (s *sortOp) finish() error {
	if err := s.sorter.Sort(&s.run.State, s.store.Rows, s.order); err != nil {
		return err
	}
	if s.limit >= 0 && len(s.store.Rows) > s.limit {
		s.store.Rows = s.store.Rows[:s.limit]
	}
	return nil
}

// fillGroup reads one group; the first row of the next waits in ahead.
func (s *sortOp) fillGroup() error {
	s.store.Open(&s.run.State, s.src.Width)
	if s.ahead.Len() > 0 {
		if _, err := s.store.Add(s.ahead.Rows[0]); err != nil {
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
		if s.store.Len() > 0 && s.presorted.Compare(s.store.Rows[0], row) != 0 {
			if _, err := s.ahead.Add(row); err != nil {
				return err
			}
			break
		}
		if _, err := s.store.Add(row); err != nil {
			return err
		}
	}
	return s.sorter.Sort(&s.run.State, s.store.Rows, s.order)
}
