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
	counts      []int64                  // per key: rows of the right side that are left to match
	later       rowcontainer.Partitions  // INTERSECT, EXCEPT: the rows of keys that find no memory
	rows        *rowcontainer.FileReader // of the left side of later
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
	s.rows = nil
	s.later.Open(&s.run.State, len(s.vals), len(s.vals))
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
			return s.later.End(rowcontainer.BuildSide)
		}
		rowcontainer.CopySlots(s.vals, row, s.rpos)
		if err := s.count(); err != nil {
			return err
		}
	}
}

// count counts the row in vals, of the right side.
func (s *setOpOp) count() error {
	i, err := s.number()
	if err != nil {
		return err
	}
	if i < 0 {
		return s.later.AddTo(rowcontainer.BuildSide, s.table.Hash(s.vals), s.vals)
	}
	s.counts[i]++
	return nil
}

// number returns the number of the key in vals, which it adds; -1 if there is no memory for it.
func (s *setOpOp) number() (int32, error) {
	i, err := s.table.Find(s.vals)
	used := s.table.Acc.Used()
	switch {
	case i >= 0 || err != nil:
		return i, err
	case s.later.Active() || len(s.counts) > 0 && s.run.Full(used):
		return -1, nil
	}
	i, _, err = s.table.Put(s.vals)
	if len(s.counts) > 0 && s.run.Refused(err, used) {
		return -1, nil
	}
	if err == nil {
		s.counts = append(s.counts, 0)
	}
	return i, err
}

func (s *setOpOp) Close() {
	s.left.Stop()
	s.right.Stop()
	s.table.Close()
	s.later.Close()
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
				s.drained = true
				break
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
	if s.kind != plan.Union {
		return s.nextLater(b)
	}
	return s.seen.RestOf(b, func(row types.Row) (bool, error) { return s.seen.First(row, row) })
}

// nextLater fills b from the rows that found no memory.
func (s *setOpOp) nextLater(b *rowcontainer.Batch) error {
	for !b.Full() {
		if s.rows == nil {
			if more, err := s.buildLater(); err != nil || !more {
				return err
			}
		}
		row, err := s.rows.Next()
		if err != nil {
			return err
		}
		if row == nil {
			s.rows = nil
			continue
		}
		if err := s.run.Tick(); err != nil {
			return err
		}
		copy(s.vals, row)
		keep, err := s.keep()
		if err != nil {
			return err
		}
		if keep {
			b.AddCopy(s.vals)
		}
	}
	return nil
}

// buildLater counts the right rows of the next partition of later; false if there is none.
func (s *setOpOp) buildLater() (bool, error) {
	rights, err := s.later.Next()
	if rights == nil || err != nil {
		return false, err
	}
	s.table.Open(&s.run.State)
	s.counts = s.counts[:0]
	for {
		row, err := rights.Next()
		if err != nil {
			return false, err
		}
		if row == nil {
			s.rows = s.later.Read(rowcontainer.ProbeSide)
			return true, s.later.End(rowcontainer.BuildSide)
		}
		if err := s.run.Tick(); err != nil {
			return false, err
		}
		copy(s.vals, row)
		if err := s.count(); err != nil {
			return false, err
		}
	}
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
	switch {
	case err != nil:
		return false, err
	case i < 0 && s.later.Active():
		return false, s.later.AddTo(rowcontainer.ProbeSide, s.table.Hash(s.vals), s.vals)
	case i < 0 && s.kind == plan.Except && !s.all:
		return s.remember()
	}
	matched := i >= 0 && s.counts[i] > 0
	switch {
	case s.all && matched:
		s.counts[i]--
	case s.all:
	case s.kind == plan.Intersect && matched:
		s.counts[i] = 0 // once only
	case s.kind == plan.Except:
		return false, nil
	}
	return matched == (s.kind == plan.Intersect), nil
}

// remember adds the row in vals, which EXCEPT returns, so that it comes once. Its count says that it
// matches nothing.
func (s *setOpOp) remember() (bool, error) {
	i, err := s.number()
	if i >= 0 || err != nil {
		return i >= 0 && err == nil, err
	}
	return false, s.later.AddTo(rowcontainer.ProbeSide, s.table.Hash(s.vals), s.vals)
}
