package scan

import (
	"bytes"
	"runtime"

	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/rowcodec"
)

// Page sizes of scans: the first one serves short ranges with one call, later
// ones grow.
const (
	firstPageRows = 128
	maxPageRows   = 4096
)

// Bounds of the spans that one request reads: few where few rows are wanted.
const (
	minPageSpans = 16
	MaxPageSpans = 1024
)

// pager reads the ranges of an index page by page, many ranges and complete keys at a time.
type pager struct {
	run     *operator.Run
	rows    RowAccess
	spans   *spanSet
	reverse bool

	cur      int  // index of the current range in visiting order
	started  bool // the current range has a resume key
	resume   []byte
	request  []kvpb.Span // of a page over several ranges
	page     kvpb.ScanResponse
	pos      int // next entry of page
	pageRows int // of the next page
	mostRows int // of a page
	// ahead reads the page after the present one into next; nil: nothing does.
	ahead *kv.ReadAhead
	next  kvpb.ScanResponse
}

func newPager(c *operator.Compiler, n *plan.Scan, x *rowcodec.Index) (p pager, err error) {
	p = pager{run: c.Run, rows: NewRowAccess(c.Run, x, n.Ords), reverse: n.Reverse}
	p.spans, err = newSpanSet(c, n, x)
	return p, err
}

// reset prepares for reading from the first range on.
func (s *pager) reset() {
	s.abandon()
	s.cur, s.started, s.pos = 0, false, 0
	s.page.Reset()
	s.mostRows = mostPageRows(s.run)
	s.pageRows = min(firstPageRows, s.mostRows)
}

// mostPageRows returns how many rows a page has at most.
func mostPageRows(r *operator.Run) int {
	if r.BatchRows < rowcontainer.BatchRows {
		return r.BatchRows // a test wants small pages as well
	}
	return maxPageRows
}

// leave gives the memory of the pages back.
func (s *pager) leave() {
	s.abandon()
	LeavePage(&s.run.State, &s.page)
	LeavePage(&s.run.State, &s.next)
	clear(s.request)
}

// abandon ends the reading of the next page.
func (s *pager) abandon() {
	if s.ahead != nil {
		s.ahead.Abandon()
		s.ahead = nil
	}
}

// readSpans reads the next page of up to so many rows, from the current range and those that follow.
func (s *pager) readSpans(rows int) error {
	if err := s.run.Canceled(); err != nil {
		return err
	}
	s.pos = 0
	if err := s.nextPage(rows); err != nil {
		return err
	}
	s.pageRows = min(4*s.pageRows, s.mostRows)
	s.advance()
	return nil
}

// nextPage makes page the next one: the one that is being read ahead, if any.
func (s *pager) nextPage(rows int) error {
	if s.ahead != nil {
		err := s.ahead.Finish(s.run.Ctx)
		s.ahead = nil
		s.page, s.next = s.next, s.page
		return err
	}
	s.ask(rows)
	TakePage(&s.page)
	return s.rows.Txn().ScanSpans(s.run.Ctx, s.request, kv.ScanOptions{MaxRows: rows}, &s.page)
}

// readAhead begins to read the page after the present one, if pages are large by now. Two goroutines are
// what one scan has use for: reading a page takes about as long as decoding and computing it.
func (s *pager) readAhead() {
	if s.pageRows < s.mostRows || s.cur >= len(s.spans.list) || s.ahead != nil || runtime.GOMAXPROCS(0) == 1 {
		return
	}
	s.ask(s.pageRows)
	TakePage(&s.next)
	s.ahead = s.rows.Txn().ReadAhead(s.run.Ctx, s.request, kv.ScanOptions{MaxRows: s.pageRows}, &s.next, nil)
}

// ask makes request the spans of the next page of up to so many rows.
func (s *pager) ask(rows int) {
	last := min(len(s.spans.list), s.cur+min(max(rows, minPageSpans), MaxPageSpans))
	s.request = s.request[:0]
	for i := s.cur; i < last; i++ {
		k := kvpb.Span{Key: s.spans.first(i)}
		if !s.spans.list[i].point {
			k.EndKey = s.spans.last(i)
		}
		s.request = append(s.request, k)
	}
	if s.started {
		s.request[0].Key = s.resume
	}
}

// advance goes behind the page that answered request.
func (s *pager) advance() {
	if s.started = s.page.Resume != nil; !s.started {
		s.cur += len(s.request)
		return
	}
	n := kvpb.CountBefore(s.request, s.page.Resume)
	s.cur += n
	if s.started = n < len(s.request) && bytes.Compare(s.request[n].Key, s.page.Resume) < 0; s.started {
		s.resume = append(s.resume[:0], s.page.Resume...)
	}
}

// spanIndex returns the current range: they are visited backwards in reverse.
func (s *pager) spanIndex() int {
	if s.reverse {
		return len(s.spans.list) - 1 - s.cur
	}
	return s.cur
}

// readPage reads the next page of up to so many rows of range i.
func (s *pager) readPage(i, rows int) error {
	if err := s.run.Canceled(); err != nil {
		return err
	}
	start, end := s.spans.first(i), s.spans.last(i)
	if s.started && s.reverse {
		end = s.resume
	} else if s.started {
		start = s.resume
	}
	s.pos = 0
	TakePage(&s.page)
	o := kv.ScanOptions{MaxRows: rows, Reverse: s.reverse}
	if err := s.rows.Txn().Scan(s.run.Ctx, start, end, o, &s.page); err != nil {
		return err
	}
	s.pageRows = min(4*s.pageRows, s.mostRows)
	if s.started = s.page.Resume != nil; s.started {
		s.resume = append(s.resume[:0], s.page.Resume...)
	} else {
		s.cur++
	}
	return nil
}
