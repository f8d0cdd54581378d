package exec

import (
	"math"

	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
)

// limitOp passes on some of its input's rows.
type limitOp struct {
	input         operator.Operator
	locks         bool // the input locks rows: it is opened, which checks that it may, even for none
	count, offset expr.Func
	skip, left    int64
	ties          *tieBreaker
}

func (c *compiler) limit(n *plan.Limit) (operator.Operator, error) {
	var input operator.Operator
	err := c.Partly(func() (err error) {
		input, err = c.Node(n.Input)
		return err
	})
	if err != nil {
		return nil, err
	}
	l := &limitOp{input: input, locks: locks(n.Input)}
	if l.count, err = c.Optional(n.Count, nil); err != nil {
		return nil, err
	}
	if l.offset, err = c.Optional(n.Offset, nil); err != nil {
		return nil, err
	}
	if n.WithTies {
		l.ties, err = c.tieBreaker(n)
	}
	return l, err
}

func (l *limitOp) Open() error {
	var err error
	if l.skip, err = operator.Count(l.offset, 0); err != nil {
		return err
	}
	if l.skip < 0 {
		return pgerr.New(pgerr.InvalidRowCountInResultOffsetClause, "OFFSET must not be negative")
	}
	if l.left, err = operator.Count(l.count, math.MaxInt64); err != nil {
		return err
	}
	if l.left < 0 {
		return pgerr.New(pgerr.InvalidRowCountInLimitClause, "LIMIT must not be negative")
	}
	if l.ties != nil {
		l.ties.open()
	}
	if l.left == 0 && !l.locks {
		return nil
	}
	return l.input.Open()
}

// locks reports whether a plan locks rows.
func locks(n plan.Node) (found bool) {
	plan.Walk(n, func(n plan.Node) bool {
		switch n := n.(type) {
		case *plan.Scan:
			found = found || n.Locking != nil
		case *plan.IndexJoin:
			found = found || n.Locking != nil
		case *plan.LockRows:
			found = true
		}
		return !found
	})
	return found
}

func (l *limitOp) Close() {
	l.input.Close()
	if l.ties != nil {
		l.ties.close()
	}
}

func (l *limitOp) Next(b *rowcontainer.Batch) error {
	want := b.Max
	defer func() { b.Max = want }()
	for l.left > 0 {
		b.Max = int(min(int64(want), l.left))
		if l.skip > 0 {
			b.Max = int(min(rowcontainer.BatchRows, addSaturating(l.skip, int64(b.Max))))
		}
		if err := l.input.Next(b); err != nil || b.Len() == 0 {
			l.left = 0
			return err
		}
		if l.skip >= int64(b.Len()) {
			if l.skip -= int64(b.Len()); b.Err != nil {
				return b.Err
			}
			continue
		}
		if l.skip > 0 {
			b.DropFirst(int(l.skip))
			l.skip = 0
		}
		err := l.cut(b)
		if l.left == 0 {
			b.Err = nil // behind the rows that are wanted
		}
		return err
	}
	b.Clear()
	return nil
}

// cut takes the rows that are left to return from b.
func (l *limitOp) cut(b *rowcontainer.Batch) error {
	if l.ties != nil {
		return l.ties.cut(l, b)
	}
	if int64(b.Len()) > l.left {
		b.Truncate(int(l.left))
	}
	l.left -= int64(b.Len())
	return nil
}

func addSaturating(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// tieBreaker implements FETCH FIRST ... WITH TIES.
type tieBreaker struct {
	order rowcontainer.Ordering
	last  rowcontainer.Store // one row: the last within the count
	run   *operator.Run
	width int
}

func (c *compiler) tieBreaker(n *plan.Limit) (*tieBreaker, error) {
	t := &tieBreaker{run: c.Run, width: len(n.Input.Props().Cols)}
	var err error
	t.order, err = rowcontainer.NewOrdering(&c.Run.State, n.TiesKeys, n.Input.Props().Cols)
	return t, err
}

func (t *tieBreaker) open() { t.last.Open(&t.run.State, t.width) }

func (t *tieBreaker) close() { t.last.Close() }

// cut keeps rows up to the count and those that equal the last one. l.left stays
// at 1 while ties may follow.
func (t *tieBreaker) cut(l *limitOp, b *rowcontainer.Batch) error {
	for i := 0; i < b.Len(); i++ {
		row := b.Row(i)
		if t.last.Len() > 0 {
			if t.order.Compare(t.last.Rows[0], row) != 0 {
				l.left = 0
				b.Truncate(i)
				return nil
			}
			continue
		}
		if l.left > 1 {
			l.left--
			continue
		}
		if _, err := t.last.Add(row); err != nil {
			return err
		}
	}
	return nil
}
