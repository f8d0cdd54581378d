package exec

import (
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// setOpOp is UNION, INTERSECT or EXCEPT.
type setOpOp struct {
	run         *operator.Run
	kind        plan.SetOpKind
	all         bool
	left, right *operator.Source
	lpos, rpos  []int
	table       rowcontainer.KeyTable
	counts      []int64 // per key: rows of the right side that are left to match
	vals        types.Row
	onRight     bool                  // UNION: the left side is done
	seen        rowcontainer.Distinct // of UNION, instead of table
	drained     bool                  // UNION: the right side is done, too
}

func (c *compiler) setOp(n *plan.SetOp) (operator.Operator, error) {
	s := &setOpOp{run: c.Run, kind: n.Kind, all: n.All, vals: make(types.Row, len(n.Cols))}
	var ls, rs expr.Scope
	var err error
	if s.left, ls, err = c.Input(n.Left); err != nil {
		return nil, err
	}
	if s.right, rs, err = c.Input(n.Right); err != nil {
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
	ts := rowcontainer.ColTypes(n.Cols, all)
	s.table, s.seen = rowcontainer.NewKeyTable(ts), rowcontainer.NewDistinct(ts, len(ts))
	return s, nil
}

func (s *setOpOp) Open() error {
	s.onRight, s.drained = false, false
	s.counts = s.counts[:0]
	if s.kind == plan.Union {
		s.seen.Open(&s.run.State)
		return s.left.Start()
	}
	s.table.Open(&s.run.State)
	if err := s.build(); err != nil {
		return err
	}
	return s.left.Start()
}

// build counts the rows of the right side per key.
func (s *setOpOp) build() error {
	if err := s.right.Start(); err != nil {
		return err
	}
	for {
		row, err := s.right.Row(rowcontainer.BatchRows)
		if err != nil {
			return err
		}
		if row == nil {
			s.right.Stop()
			return nil
		}
		rowcontainer.CopySlots(s.vals, row, s.rpos)
		i, added, err := s.table.Put(s.vals)
		if err != nil {
			return err
		}
		if added {
			s.counts = append(s.counts, 0)
		}
		s.counts[i]++
	}
}

func (s *setOpOp) Close() {
	s.left.Stop()
	s.right.Stop()
	s.table.Close()
	s.seen.Close()
}

func (s *setOpOp) Next(b *rowcontainer.Batch) error {
	b.Clear()
	for !s.drained {
		src, pos := s.left, s.lpos
		if s.onRight {
			src, pos = s.right, s.rpos
		}
		ok, err := src.Fetch(b.Max)
		if err != nil {
			return err
		}
		if !ok {
			if s.kind != plan.Union {
				return nil
			}
			if s.drained = s.onRight; s.drained {
				break
			}
			s.onRight = true
			if err := s.right.Start(); err != nil {
				return err
			}
			continue
		}
		for i := 0; i < src.Batch.Len(); i++ {
			rowcontainer.CopySlots(s.vals, src.Batch.Row(i), pos)
			keep, err := s.keep()
			if err != nil {
				return err
			}
			if keep {
				b.AddCopy(s.vals)
			}
		}
		if b.Len() > 0 {
			return nil
		}
	}
	return s.seen.RestOf(b, func(row types.Row) (bool, error) { return s.seen.First(row, row) })
}

// keep reports whether the row in vals is part of the result.
func (s *setOpOp) keep() (bool, error) {
	if s.kind == plan.Union {
		if s.all {
			return true, nil
		}
		return s.seen.First(s.vals, s.vals)
	}
	i, err := s.table.Find(s.vals)
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
		if _, _, err := s.table.Put(s.vals); err != nil {
			return false, err
		}
		s.counts = append(s.counts, 0)
		return true, nil
	case s.kind == plan.Except:
		return false, nil
	}
	return matched == (s.kind == plan.Intersect), nil
}
