package exec

import (
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// setOpOp is UNION, INTERSECT or EXCEPT.
type setOpOp struct {
	run         *run
	kind        plan.SetOpKind
	all         bool
	left, right *source
	lpos, rpos  []int
	table       keyTable
	counts      []int64 // per key: rows of the right side that are left to match
	vals        types.Row
	onRight     bool // UNION: the left side is done
}

func (c *compiler) setOp(n *plan.SetOp) (operator, error) {
	s := &setOpOp{run: c.run, kind: n.Kind, all: n.All, vals: make(types.Row, len(n.Cols))}
	var ls, rs expr.Scope
	var err error
	if s.left, ls, err = c.input(n.Left); err != nil {
		return nil, err
	}
	if s.right, rs, err = c.input(n.Right); err != nil {
		return nil, err
	}
	if s.lpos, err = ls.Positions(n.LeftCols); err != nil {
		return nil, err
	}
	if s.rpos, err = rs.Positions(n.RightCols); err != nil {
		return nil, err
	}
	all := make([]int, len(n.Cols))
	for i := range all {
		all[i] = i
	}
	s.table = newKeyTable(colTypes(n.Cols, all))
	return s, nil
}

func (s *setOpOp) open() error {
	s.onRight = false
	s.counts = s.counts[:0]
	s.table.open(s.run)
	if s.kind == plan.Union {
		return s.left.start()
	}
	if err := s.build(); err != nil {
		return err
	}
	return s.left.start()
}

// build counts the rows of the right side per key.
func (s *setOpOp) build() error {
	if err := s.right.start(); err != nil {
		return err
	}
	for {
		row, err := s.right.row(BatchRows)
		if err != nil {
			return err
		}
		if row == nil {
			s.right.stop()
			return nil
		}
		copySlots(s.vals, row, s.rpos)
		i, added, err := s.table.put(s.vals)
		if err != nil {
			return err
		}
		if added {
			s.counts = append(s.counts, 0)
		}
		s.counts[i]++
	}
}

func (s *setOpOp) close() {
	s.left.stop()
	s.right.stop()
	s.table.close()
}

func (s *setOpOp) next(b *Batch) error {
	b.clear()
	for {
		src, pos := s.left, s.lpos
		if s.onRight {
			src, pos = s.right, s.rpos
		}
		ok, err := src.fetch(b.max)
		if err != nil {
			return err
		}
		if !ok {
			if s.kind != plan.Union || s.onRight {
				return nil
			}
			s.onRight = true
			if err := s.right.start(); err != nil {
				return err
			}
			continue
		}
		for i := 0; i < src.batch.n; i++ {
			copySlots(s.vals, src.batch.Row(i), pos)
			keep, err := s.keep()
			if err != nil {
				return err
			}
			if keep {
				b.addCopy(s.vals)
			}
		}
		if b.n > 0 {
			return nil
		}
	}
}

// keep reports whether the row in vals is part of the result.
func (s *setOpOp) keep() (bool, error) {
	if s.kind == plan.Union {
		if s.all {
			return true, nil
		}
		_, added, err := s.table.put(s.vals)
		return added, err
	}
	i, err := s.table.find(s.vals)
	if err != nil {
		return false, err
	}
	matched := i >= 0 && s.counts[i] > 0
	switch {
	case s.all && matched:
		s.counts[i]--
	case s.all:
	case s.kind == plan.Intersect && matched:
		s.counts[i] = 0 // once only
	case s.kind == plan.Except && i < 0:
		// Remember it, so that it comes once; a negative count is never matched.
		if _, _, err := s.table.put(s.vals); err != nil {
			return false, err
		}
		s.counts = append(s.counts, 0)
		return true, nil
	case s.kind == plan.Except:
		return false, nil
	}
	return matched == (s.kind == plan.Intersect), nil
}
