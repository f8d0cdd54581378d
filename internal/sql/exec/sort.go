package exec

import (
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/plan"
)

// maxTopK is the largest bound for which a sort keeps only the rows needed.
const maxTopK = 1 << 16

// sortOp sorts in memory: everything, the first k rows, or group by group where
// the first keys hold already.
type sortOp struct {
	run       *run
	src       *source
	order     rowOrdering
	presorted rowOrdering
	bound     rowBound

	store  rowStore
	spare  rowStore
	ready  bool
	pos    int
	limit  int // rows needed, -1 for all
	ahead  rowStore
	atEnd  bool
	handed int
	sorter rowSorter
}

func (c *compiler) sort(n *plan.Sort) (operator, error) {
	src, _, err := c.input(n.Input)
	if err != nil {
		return nil, err
	}
	s := &sortOp{run: c.run, src: src}
	if s.order, err = c.ordering(n.Keys, n.Input.Props().Cols); err != nil {
		return nil, err
	}
	s.presorted = s.order[:n.Presorted]
	s.bound, err = c.bound(n.Bound)
	return s, err
}

func (s *sortOp) open() error {
	s.ready, s.pos, s.atEnd, s.handed = false, 0, false, 0
	s.store.open(s.run, s.src.width)
	s.ahead.open(s.run, s.src.width)
	n, err := s.bound.rows()
	if err != nil {
		return err
	}
	s.limit = -1
	if n >= 0 && n <= maxTopK {
		s.limit = int(n)
	}
	return s.src.start()
}

func (s *sortOp) close() {
	s.src.stop()
	s.store.close()
	s.spare.close()
	s.ahead.close()
}

func (s *sortOp) next(b *Batch) error {
	b.clear()
	for s.pos == len(s.store.rows) {
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
	for ; s.pos < len(s.store.rows) && !b.full(); s.pos++ {
		b.addCopy(s.store.rows[s.pos])
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
		ok, err := s.src.fetch(BatchRows)
		if err != nil {
			return err
		}
		if !ok {
			break
		}
		if err := s.take(&s.src.batch); err != nil {
			return err
		}
	}
	s.src.stop()
	if err := s.store.acc.Grow(int64(s.store.len()) * sortItemSize); err != nil {
		return expr.MemoryError(err)
	}
	return s.finish()
}

// take stores the rows of b, or those that may be among the first k.
func (s *sortOp) take(b *Batch) error {
	if s.limit < 0 {
		return s.store.addBatch(b)
	}
	for i := 0; i < b.n && s.limit > 0; i++ {
		row := b.Row(i)
		// After a prune the last of the first k rows is the threshold.
		if s.pos > 0 && s.order.compare(row, s.store.rows[s.limit-1]) >= 0 {
			continue
		}
		if _, err := s.store.add(row); err != nil {
			return err
		}
		if s.store.len() >= 2*s.limit+64 {
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
	s.spare.open(s.run, s.src.width)
	for _, row := range s.store.rows {
		if _, err := s.spare.add(row); err != nil {
			return err
		}
	}
	s.store, s.spare = s.spare, s.store
	s.spare.close()
	s.pos = 1 // there is a threshold
	return nil
}

// finish sorts the store and cuts it to the rows needed.
func (s *sortOp) finish() error {
	if err := s.sorter.sort(s.run, s.store.rows, s.order); err != nil {
		return err
	}
	if s.limit >= 0 && len(s.store.rows) > s.limit {
		s.store.rows = s.store.rows[:s.limit]
	}
	return nil
}

// fillGroup reads one group; the first row of the next waits in ahead.
func (s *sortOp) fillGroup() error {
	s.store.open(s.run, s.src.width)
	if s.ahead.len() > 0 {
		if _, err := s.store.add(s.ahead.rows[0]); err != nil {
			return err
		}
		s.ahead.open(s.run, s.src.width)
	}
	for {
		row, err := s.src.row(BatchRows)
		if err != nil {
			return err
		}
		if row == nil {
			s.atEnd = true
			break
		}
		if s.store.len() > 0 && s.presorted.compare(s.store.rows[0], row) != 0 {
			if _, err := s.ahead.add(row); err != nil {
				return err
			}
			break
		}
		if _, err := s.store.add(row); err != nil {
			return err
		}
	}
	return s.sorter.sort(s.run, s.store.rows, s.order)
}
