package scan

import (
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/rowcodec"
	"github.com/lichendb/lichen/internal/sql/types"
)

// batchBytes ends a batch of rows that are read by their keys.
const batchBytes = 1 << 20

// scanOp reads an index page by page, many ranges and complete keys at a time; one
// complete key with a get, and one by one those that are locked as they are read.
type scanOp struct {
	pager
	x      *rowcodec.Index
	dec    *rowcodec.Decoder
	tokens *tokenSource // what fills spans, nil if the plan does
	filter expr.Pred
	// passing, if set, applies filter to the entries of pages.
	passing *pageFilter
	bound   operator.RowBound
	locker  *rowLocker // nil: no row locks
	text    rowcontainer.Scratch
	held    int // bytes of the values read by their keys that the batch refers to

	// For locks: the keys of rows that are about to be locked, and up to which range they have
	// been taken ahead.
	keys  [][]byte
	ahead int
}

func newScanOp(c *operator.Compiler, n *plan.Scan) (*scanOp, error) {
	x, err := rowcodec.Compile(n.Table, n.Index)
	if err != nil {
		return nil, err
	}
	s := &scanOp{x: x, dec: x.NewDecoder(n.Ords)}
	if s.pager, err = newPager(c, n, x); err != nil {
		return nil, err
	}
	if s.tokens, err = newTokenSource(c, n.Table, n.Tokens); err != nil {
		return nil, err
	}
	if s.filter, err = c.Pred(n.Filter, expr.ScopeOf(n.Cols)); err != nil {
		return nil, err
	}
	if n.FilterVectors && n.Filter != nil {
		if s.passing, err = newPageFilter(c, n, x); err != nil {
			return nil, err
		}
	}
	if s.bound, err = c.Bound(n.Bound); err != nil {
		return nil, err
	}
	if n.Locking != nil {
		s.locker, err = newRowLocker(c, n, x, n.Ords, *n.Locking)
		if err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *scanOp) Open() error {
	if err := s.locker.permitted(); err != nil {
		return err
	}
	s.ahead = 0
	s.pager.reset()
	s.passing.forget()
	if s.filter == nil {
		n, err := s.bound.Rows()
		if err != nil {
			return err
		}
		if n >= 0 {
			s.pageRows = int(max(1, min(n, maxPageRows)))
		}
	}
	if s.tokens != nil {
		all, err := s.tokens.open()
		if err != nil {
			return err
		}
		if !all {
			return s.tokens.fill(s.spans)
		}
	}
	return s.spans.eval()
}

// more goes on to the next keys, once those at hand have been read.
func (s *scanOp) more() (bool, error) {
	if s.cur < len(s.spans.list) {
		return true, nil
	}
	if s.tokens == nil || s.tokens.rows == nil {
		return false, nil
	}
	s.cur, s.ahead = 0, 0
	err := s.tokens.fill(s.spans)
	return len(s.spans.list) > 0, err
}

func (s *scanOp) Close() {
	if s.tokens != nil {
		s.tokens.close()
	}
	s.text.Reset()
	s.pager.leave()
}

func (s *scanOp) Next(b *rowcontainer.Batch) error {
	b.Clear()
	s.text.Reset()
	s.dec.Reset()
	s.held = 0
	for !b.Full() {
		if s.held >= batchBytes {
			if b.Len() > 0 {
				return nil
			}
			s.text.Reset() // the filter dropped all rows
			s.held = 0
		}
		if s.pos < s.page.Len() || s.passing.left() {
			if err := s.emitPage(b); err != nil {
				return err
			}
			continue
		}
		if more, err := s.more(); !more {
			return err
		}
		i, several := s.spanIndex(), s.several()
		if s.spans.list[i].point && !several {
			if s.locker != nil && s.locker.direct {
				if err := s.lockPointsAhead(b); err != nil {
					return err
				}
			}
			s.cur++
			if err := s.emitPoint(b, s.spans.first(i)); err != nil {
				return err
			}
			continue
		}
		if b.Len() > 0 {
			return nil // its rows live in the page that would be replaced
		}
		var err error
		if rows := s.limit(b.Max); several || s.readsOn(rows) {
			err = s.readSpans(rows)
		} else {
			err = s.readPage(i, rows)
		}
		if err != nil {
			return err
		}
		if s.readsOn(s.limit(b.Max)) {
			s.pager.readAhead()
		}
	}
	return nil
}

// readsOn reports whether the consumer of a page of so many rows probably reads the next one as well.
func (s *scanOp) readsOn(rows int) bool {
	return rows >= s.mostRows && !s.reverse && s.tokens == nil
}

// several reports whether the next page is read from several ranges.
func (s *scanOp) several() bool {
	return s.cur+1 < len(s.spans.list) && !s.reverse && (s.locker == nil || !s.locker.direct)
}

// limit is how many rows to ask for.
func (s *scanOp) limit(want int) int {
	if s.filter == nil && want < rowcontainer.BatchRows {
		return min(s.pageRows, want)
	}
	return s.pageRows
}

// emitPage decodes entries of the page until b is full, and locks their rows.
func (s *scanOp) emitPage(b *rowcontainer.Batch) error {
	first := b.Len()
	s.keys = s.keys[:0]
	if s.passing != nil {
		if err := s.emitPassing(b); err != nil {
			return err
		}
		return s.lockPicked(b, first)
	}
	for s.pos < s.page.Len() && !b.Full() {
		key, value := s.page.Key(s.pos), s.page.Value(s.pos)
		s.pos++
		row := b.Add()
		if err := s.dec.Decode(key, value, row); err != nil {
			return err
		}
		ok, err := s.pass(row)
		if ok && s.locker != nil {
			err = s.pick(key, value)
		}
		if err != nil {
			return err
		}
		if !ok {
			b.DropLast()
		}
	}
	if s.locker == nil {
		return nil
	}
	return s.lockPicked(b, first)
}

// emitPassing decodes those entries of the page that pass the filter until b is full, and picks their keys.
func (s *scanOp) emitPassing(b *rowcontainer.Batch) error {
	for !b.Full() {
		at, ok, err := s.passing.pass(&s.page, &s.pos)
		if !ok {
			return err
		}
		key, value := s.page.Key(at), s.page.Value(at)
		if err := s.dec.Decode(key, value, b.Add()); err != nil {
			return err
		}
		if err := s.pick(key, value); err != nil {
			return err
		}
	}
	return nil
}

// pick notes the primary key of a row that is to be locked.
func (s *scanOp) pick(key, value []byte) error {
	pk, err := s.locker.keyOf(key, value)
	if err == nil && s.locker.pkDec != nil {
		pk = s.text.Bytes(pk)
	}
	s.keys = append(s.keys, pk)
	return err
}

// lockPicked locks the rows of b from first on, whose keys were picked, and drops those that
// are not to be returned.
func (s *scanOp) lockPicked(b *rowcontainer.Batch, first int) error {
	if err := s.locker.lockSeenAhead(s.keys); err != nil {
		return err
	}
	i := -1
	return b.Keep(first, func(row types.Row) (bool, error) {
		i++
		return s.locker.lock(s, s.keys[i], row)
	})
}

func (s *scanOp) pass(row types.Row) (bool, error) {
	if s.filter == nil {
		return true, nil
	}
	return s.filter(row)
}

// emitPoint reads one complete key.
func (s *scanOp) emitPoint(b *rowcontainer.Batch, key []byte) error {
	if s.locker != nil && s.locker.direct {
		return s.lockPoint(b, key)
	}
	value, found, err := s.rows.Txn().Get(s.run.Ctx, key)
	if err != nil || !found {
		return err
	}
	s.hold(value)
	value = s.text.Value(value)
	row := b.Add()
	if err := s.dec.Decode(key, value, row); err != nil {
		return err
	}
	ok, err := s.pass(row)
	if ok && s.locker != nil {
		if key, err = s.locker.keyOf(key, value); err == nil {
			ok, err = s.locker.lock(s, key, row)
		}
	}
	if !ok {
		b.DropLast()
	}
	return err
}

// hold notes a value that the batch refers to.
func (s *scanOp) hold(value []byte) {
	s.run.NoteSize(len(value))
	s.held += len(value)
}

// lockPoint locks and reads a row by its complete primary key in one step: the
// same as if the statement had begun when it got the lock.
func (s *scanOp) lockPoint(b *rowcontainer.Batch, key []byte) error {
	res, err := s.locker.acquire(key)
	if err != nil || !res.Found || res.Skipped || res.Self {
		return err
	}
	s.hold(res.Value)
	return s.dec.Decode(key, s.text.Value(res.Value), b.Add())
}

// lockPointsAhead locks the rows of the complete keys that come next, of which b has room for.
func (s *scanOp) lockPointsAhead(b *rowcontainer.Batch) error {
	if s.cur < s.ahead {
		return nil
	}
	s.keys = s.keys[:0]
	for s.ahead = s.cur; s.ahead < len(s.spans.list) && len(s.keys) < b.Room(); s.ahead++ {
		i := s.ahead
		if s.reverse {
			i = len(s.spans.list) - 1 - i
		}
		if !s.spans.list[i].point {
			break
		}
		s.keys = append(s.keys, s.spans.first(i))
	}
	return s.locker.lockAhead(s.keys)
}
