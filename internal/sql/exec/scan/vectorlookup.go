package scan

import (
	"bytes"
	"slices"

	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/rowcodec"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/vector"
)

// Limits, in batches, of what is read at once: with one request, and for several left rows before the
// last request.
const (
	lookupPage  = 4
	maxLookedUp = 8
)

// maxLookedUpBytes limits the bytes of the rows that are read for several left rows as maxLookedUp does their
// number.
const maxLookedUpBytes = 8 << 20

// VectorLookups reads the right side of a lookup join for many left rows with one request: it notes the
// range of keys that each asks for, and reads those ranges in index order into a store.
type VectorLookups struct {
	run   *operator.Run
	spans *spanSet
	rows  RowAccess
	dec   *rowcodec.VectorDecoder
	// behind reads the rows behind the entries of a secondary index; nil if the entries have all
	// that is wanted.
	behind  *rowsBehind
	entries *entries

	buf      []byte // ends of the ranges
	asked    []askedRange
	order    []int32 // positions in asked, by key
	ranges   []kvpb.Span
	ends     []int32 // the row behind the last one of each range
	pages    pageList
	prefetch prefetcher
	held     int // bytes of the rows that were read
	acc      quota.Account
}

// askedRange is the range of keys that a left row asks for: offsets into VectorLookups.buf as those of
// keySpan, and its position in ranges, -1 if no row can match.
type askedRange struct {
	keySpan
	at int32
}

// LookupFilter returns the scan that finds the rows of n, the right side of a lookup join, and the
// condition on them; ok is false if there is more to it than ranges of an index and that condition.
func LookupFilter(n plan.Node) (s *plan.Scan, filter plan.Expr, ok bool) {
	switch n := n.(type) {
	case *plan.Scan:
		s, filter = n, n.Filter
	case *plan.IndexJoin:
		if n.Locking != nil || n.Bound.Count != nil || n.Input.Filter != nil {
			return nil, nil, false
		}
		s, filter = n.Input, n.Filter
	default:
		return nil, nil, false
	}
	once, _ := SplitOneTime(filter, n.Props().Cols)
	ok = once == nil && !s.Virtual() && s.Tokens == nil && s.Locking == nil && s.Bound.Count == nil && !s.Reverse
	return s, filter, ok
}

// CompileVectorLookups compiles the right side of a lookup join, for which LookupFilter is ok, without the
// condition on its rows.
func CompileVectorLookups(c *operator.Compiler, n plan.Node) (*VectorLookups, error) {
	s, _, _ := LookupFilter(n)
	x, err := rowcodec.Compile(s.Table, s.Index)
	if err != nil {
		return nil, err
	}
	l := &VectorLookups{run: c.Run, rows: NewRowAccess(c.Run, x, s.Ords), dec: x.NewVectorDecoder(s.Ords)}
	if j, ok := n.(*plan.IndexJoin); ok {
		if l.behind, err = newRowsBehind(c, j); err != nil {
			return nil, err
		}
		l.entries = newEntries(x, j, l.behind)
	}
	l.prefetch.rows = &l.rows
	l.spans, err = newSpanSet(c, s, x)
	return l, err
}

// Reset forgets the ranges and what was read of them.
func (l *VectorLookups) Reset() {
	l.buf, l.asked, l.ranges, l.ends = l.buf[:0], l.asked[:0], l.ranges[:0], l.ends[:0]
	l.dec.Reset(nil, 0)
	l.held = 0
	l.pages.reset()
	if l.entries != nil {
		l.entries.reset()
		l.behind.dec.Reset(nil, 0)
	}
	l.acc.Close()
	l.acc.Init(l.run.Mem)
}

// Release gives back memory.
func (l *VectorLookups) Release() {
	l.Reset()
	l.pages.release(&l.run.State)
}

// Ask notes the range of the left row whose columns are the outer ones now.
func (l *VectorLookups) Ask() error {
	if err := l.spans.eval(); err != nil {
		return err
	}
	a := askedRange{at: -1}
	if len(l.spans.list) > 0 {
		k := l.spans.list[0]
		a.start = len(l.buf)
		l.buf = append(l.buf, l.spans.buf[k.start:k.end]...)
		a.mid, a.end, a.point, a.at = a.start+k.mid-k.start, len(l.buf), k.point, 0
	}
	l.asked = append(l.asked, a)
	return nil
}

func (l *VectorLookups) first(i int32) []byte { return l.buf[l.asked[i].start:l.asked[i].mid] }

// sort makes sorted ranges of those asked for, each once: two of them are the same or have no key in
// common (plan.Join.Batches).
func (l *VectorLookups) sort() {
	l.order = l.order[:0]
	sorted := true
	for i := range l.asked {
		if l.asked[i].at < 0 {
			continue
		}
		if n := len(l.order); n > 0 && sorted {
			sorted = bytes.Compare(l.first(l.order[n-1]), l.first(int32(i))) <= 0
		}
		l.order = append(l.order, int32(i))
	}
	if !sorted {
		slices.SortFunc(l.order, func(a, b int32) int { return bytes.Compare(l.first(a), l.first(b)) })
	}
	for _, i := range l.order {
		a := &l.asked[i]
		if n := len(l.ranges); n == 0 || !bytes.Equal(l.ranges[n-1].Key, l.first(i)) {
			s := kvpb.Span{Key: l.buf[a.start:a.mid:a.mid]}
			if !a.point {
				s.EndKey = l.buf[a.mid:a.end:a.end]
			}
			l.ranges = append(l.ranges, s)
		}
		a.at = int32(len(l.ranges) - 1)
	}
}

// Read reads the rows of all ranges into store. It stops and returns false if those of several ranges are
// too many. A worker reads the second half of many ranges.
func (l *VectorLookups) Read(store *vector.Store) (all bool, err error) {
	l.sort()
	half := len(l.ranges) / 2
	var page *kvpb.ScanResponse
	if !worthPrefetch(l.run, half) {
		half = len(l.ranges)
	} else if page = l.pages.next(); !l.prefetch.begin(l.ranges[half:], l.options(), page) {
		half = len(l.ranges)
	}
	defer l.prefetch.stop()
	if all, err := l.readRanges(store, l.ranges[:half]); !all {
		return false, err
	}
	if half < len(l.ranges) {
		if err := l.prefetch.finish(); err != nil {
			return false, err
		}
		if all, err := l.take(store, page); !all {
			return false, err
		}
		if all, err := l.readRanges(store, unread(l.ranges[half:], page)); !all {
			return false, err
		}
	}
	for len(l.ends) < len(l.ranges) {
		l.ends = append(l.ends, int32(store.Len()))
	}
	return true, nil
}

// readRanges reads the rows of ranges into store, as Read does.
func (l *VectorLookups) readRanges(store *vector.Store, ranges []kvpb.Span) (all bool, err error) {
	for len(ranges) > 0 {
		if err := l.run.Canceled(); err != nil {
			return false, err
		}
		if l.tooMuch(store) {
			return false, nil
		}
		page := l.pages.next()
		if err := l.rows.Txn().ScanSpans(l.run.Ctx, ranges, l.options(), page); err != nil {
			return false, err
		}
		if all, err := l.take(store, page); !all {
			return false, err
		}
		ranges = unread(ranges, page)
	}
	return true, nil
}

// unread returns what a page leaves of spans.
func unread(spans []kvpb.Span, page *kvpb.ScanResponse) []kvpb.Span {
	if page.Resume == nil {
		return nil
	}
	return kvpb.Rest(spans, bytes.Clone(page.Resume))
}

func (l *VectorLookups) options() kv.ScanOptions {
	return kv.ScanOptions{MaxRows: lookupPage * l.batch()}
}

func (l *VectorLookups) batch() int { return min(vector.BatchRows, l.run.BatchRows) }

// tooMuch reports whether what has been read is more than several left rows may have.
func (l *VectorLookups) tooMuch(store *vector.Store) bool {
	return len(l.ranges) > 1 && (store.Len() > maxLookedUp*l.batch() || l.held > maxLookedUpBytes)
}

// take puts the rows of a page into store and notes where ranges end. It returns false if they are too much.
func (l *VectorLookups) take(store *vector.Store, page *kvpb.ScanResponse) (all bool, err error) {
	if err := l.acc.Grow(int64(cap(page.Arena))); err != nil {
		return false, expr.MemoryError(err)
	}
	l.held += len(page.Arena)
	if l.behind != nil {
		return l.takeBehind(store, page)
	}
	for i := range page.Len() {
		l.enter(page.Key(i), store.Len())
		cols, at := store.Add()
		if err := l.dec.Decode(page.Key(i), page.Value(i), cols, at); err != nil {
			return false, err
		}
	}
	return true, l.pay(store, page.Len())
}

// enter notes that the ranges that lie before key end before row n.
func (l *VectorLookups) enter(key []byte, n int) {
	for len(l.ends)+1 < len(l.ranges) && bytes.Compare(l.ranges[len(l.ends)+1].Key, key) <= 0 {
		l.ends = append(l.ends, int32(n))
	}
}

// pay reserves memory for so many rows more in store.
func (l *VectorLookups) pay(store *vector.Store, rows int) error {
	if err := l.acc.Grow(int64(rows) * store.Width()); err != nil {
		return expr.MemoryError(err)
	}
	return nil
}

// Rows returns the rows that left row i, in the sequence of Ask, has asked for.
func (l *VectorLookups) Rows(i int) (from, to int32) {
	at := l.asked[i].at
	if at < 0 {
		return 0, 0
	}
	if at > 0 {
		from = l.ends[at-1]
	}
	return from, l.ends[at]
}

// pageList is pages whose memory is used again.
type pageList struct {
	list []*kvpb.ScanResponse
	used int
}

func (p *pageList) next() *kvpb.ScanResponse {
	if p.used == len(p.list) {
		p.list = append(p.list, &kvpb.ScanResponse{})
		TakePage(p.list[p.used])
	}
	p.used++
	return p.list[p.used-1]
}

func (p *pageList) reset() {
	for _, page := range p.list[:p.used] {
		page.Reset()
	}
	p.used = 0
}

func (p *pageList) release(st *expr.State) {
	for _, page := range p.list {
		LeavePage(st, page)
	}
	p.list, p.used = nil, 0
}

// entries reads the rows behind the entries of a secondary index.
type entries struct {
	behind   *rowsBehind
	dec      *rowcodec.Decoder
	row      types.Row
	many     []*Lookups // the first used of them have rows
	used     int
	prefetch prefetcher
}

func newEntries(x *rowcodec.Index, n *plan.IndexJoin, b *rowsBehind) *entries {
	e := &entries{behind: b, dec: x.NewDecoder(n.Input.Ords), row: make(types.Row, len(n.Input.Ords))}
	e.prefetch.rows = &b.rows
	return e
}

func (e *entries) reset() {
	for _, l := range e.many[:e.used] {
		l.Release()
	}
	e.used = 0
}

// ask asks for the rows behind the next entries of a page, from the one at from on, and returns the entry behind the
// last one. Nothing is asked for behind the page.
func (e *entries) ask(page *kvpb.ScanResponse, from int) (*Lookups, int, error) {
	to := min(page.Len(), from+maxLookups)
	if from == to {
		return nil, to, nil
	}
	if e.used == len(e.many) {
		e.many = append(e.many, NewLookups(&e.behind.rows))
	}
	many := e.many[e.used]
	e.used++
	e.dec.Reset()
	for i := from; i < to; i++ {
		if err := e.dec.Decode(page.Key(i), page.Value(i), e.row); err != nil {
			return nil, 0, err
		}
		if err := e.behind.ask(many, e.row); err != nil {
			return nil, 0, err
		}
	}
	many.sort()
	return many, to, nil
}

// fetch reads what was asked for, while a worker begins to read what is to be fetched next, unless that is nil.
func (e *entries) fetch(many, next *Lookups) error {
	begun := e.prefetch.ahead != nil
	if begun {
		if err := e.prefetch.finish(); err != nil {
			return err
		}
	}
	if next != nil && worthPrefetch(e.behind.rows.run, next.Len()) {
		next.prepare()
		e.prefetch.begin(next.spans, kv.ScanOptions{}, &next.page)
	}
	if begun {
		return nil
	}
	return many.scan(many.spans)
}

// takeBehind puts the rows behind the entries of a page into store.
func (l *VectorLookups) takeBehind(store *vector.Store, page *kvpb.ScanResponse) (all bool, err error) {
	defer l.entries.prefetch.stop()
	next, to, err := l.entries.ask(page, 0)
	for from := 0; err == nil && next != nil; {
		many, end := next, to
		if next, to, err = l.entries.ask(page, end); err != nil {
			return false, err
		}
		if err := l.entries.fetch(many, next); err != nil {
			return false, err
		}
		if all, err := l.takeRows(store, page, from, end, many); !all {
			return false, err
		}
		from = end
	}
	return err == nil, err
}

// takeRows puts the rows behind the entries from up to to of a page into store.
func (l *VectorLookups) takeRows(store *vector.Store, page *kvpb.ScanResponse, from, to int, many *Lookups) (all bool, err error) {
	if err := l.acc.Grow(int64(cap(many.page.Arena))); err != nil {
		return false, expr.MemoryError(err)
	}
	for i := from; i < to; i++ {
		if l.tooMuch(store) {
			return false, nil
		}
		l.enter(page.Key(i), store.Len())
		value, found, err := many.Get(many.Key(i - from))
		if err != nil {
			return false, err
		}
		if !found {
			continue
		}
		l.held += len(value)
		cols, at := store.Add()
		if err := l.behind.dec.Decode(many.Key(i-from), value, cols, at); err != nil {
			return false, err
		}
	}
	return true, l.pay(store, to-from)
}
