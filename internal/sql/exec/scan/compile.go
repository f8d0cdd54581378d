package scan

import (
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/plan"
)

// Compile compiles the read of a table, virtual or not, with its one-time filter.
func Compile(c *operator.Compiler, n *plan.Scan) (operator.Operator, error) {
	n, once := withoutOneTime(n)
	if n.Virtual() {
		op, err := newVirtualTable(c, n)
		if err != nil {
			return nil, err
		}
		return oneTimeFilter(c, op, once, nil)
	}
	s, err := newScanOp(c, n)
	if err != nil {
		return nil, err
	}
	return oneTimeFilter(c, s, once, s.locker)
}

// CompileIndexJoin compiles an index join with its one-time filter.
func CompileIndexJoin(c *operator.Compiler, n *plan.IndexJoin) (operator.Operator, error) {
	entries, once := withoutOneTime(n.Input)
	more, rest := SplitOneTime(n.Filter, n.Cols)
	if once = append(once, more...); len(once) > 0 {
		m := *n
		m.Input, m.Filter = entries, rest
		n = &m
	}
	j, err := newIndexJoinOp(c, n)
	if err != nil {
		return nil, err
	}
	return oneTimeFilter(c, j, once, j.locker)
}
