package scan

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
)

// Bounds of the rows that one request looks up: the first ones, then more each time.
const (
	minLookups = 64
	maxLookups = 1024
)

// Lookups reads rows by complete keys, many with one request. Keys are added in
// any order, also twice; get answers them in any order. What it returns lives
// until the next reset.
type Lookups struct {
	rows *RowAccess
	buf  []byte    // of keys
	ends []int     // of key i in buf
	keys []sortKey // of sort
	// The request's keys, sorted, each once, and their answer.
	spans []kvpb.Span
	page  kvpb.ScanResponse
	next  int // row of page behind the one that was got last
	text  rowcontainer.Scratch
}

// NewLookups returns lookups of entries that rows reads.
func NewLookups(rows *RowAccess) *Lookups { return &Lookups{rows: rows} }

// Room returns a buffer to which the caller appends a key and which it hands to added.
func (l *Lookups) Room() []byte { return l.buf }

// Added takes the buffer of room with one more key.
func (l *Lookups) Added(buf []byte) {
	l.buf = buf
	l.ends = append(l.ends, len(buf))
}

// Len returns how many keys were added.
func (l *Lookups) Len() int { return len(l.ends) }

// Reset forgets all keys and what was read.
func (l *Lookups) Reset() {
	l.buf, l.ends = l.buf[:0], l.ends[:0]
	l.page.Reset()
	l.next = 0
	l.text.Reset()
}

// Release gives back memory that had grown.
func (l *Lookups) Release() {
	l.Reset()
	clear(l.spans[:cap(l.spans)])
	LeavePage(&l.rows.run.State, &l.page)
	if cap(l.buf) > rowcontainer.MaxScratch {
		l.buf = nil
	}
}

// Key returns key i.
func (l *Lookups) Key(i int) []byte {
	start := 0
	if i > 0 {
		start = l.ends[i-1]
	}
	return l.buf[start:l.ends[i]:l.ends[i]]
}

// Fetch reads the keys that were added, or those of them that fit into one page.
func (l *Lookups) Fetch() error {
	l.sort()
	return l.scan(l.spans)
}

// sortKey is a key to sort, with the order of what comes behind the prefix that all keys share.
type sortKey struct {
	order uint64
	key   []byte
}

// sort makes spans of the keys that were added.
func (l *Lookups) sort() {
	l.spans = l.spans[:0]
	sorted := true
	for i := range l.ends {
		k := l.Key(i)
		if n := len(l.spans); n > 0 && sorted {
			sorted = bytes.Compare(l.spans[n-1].Key, k) < 0
		}
		l.spans = append(l.spans, kvpb.Span{Key: k})
	}
	if !sorted {
		l.sortSpans()
		l.spans = slices.CompactFunc(l.spans, func(a, b kvpb.Span) bool { return bytes.Equal(a.Key, b.Key) })
	}
}

func (l *Lookups) sortSpans() {
	shared := l.spans[0].Key
	for _, s := range l.spans[1:] {
		shared = shared[:keys.CommonPrefix(shared, s.Key)]
	}
	l.keys = l.keys[:0]
	for _, s := range l.spans {
		l.keys = append(l.keys, sortKey{keys.Order(s.Key[len(shared):]), s.Key})
	}
	slices.SortFunc(l.keys, func(a, b sortKey) int {
		if a.order != b.order {
			return cmp.Compare(a.order, b.order)
		}
		return bytes.Compare(a.key, b.key)
	})
	for i, k := range l.keys {
		l.spans[i].Key = k.key
	}
	clear(l.keys)
}

// scan reads spans of the keys, or those of them that fit into one page.
func (l *Lookups) scan(spans []kvpb.Span) error {
	l.prepare()
	return l.rows.Txn().ScanSpans(l.rows.run.Ctx, spans, kv.ScanOptions{}, &l.page)
}

// prepare makes the page ready for an answer.
func (l *Lookups) prepare() {
	l.next = 0
	TakePage(&l.page)
}

// Get returns the value of a key that was added before fetch.
func (l *Lookups) Get(key []byte) (value []byte, found bool, err error) {
	if l.page.Resume != nil && bytes.Compare(key, l.page.Resume) >= 0 {
		value, found, err = l.rows.Txn().Get(l.rows.run.Ctx, key)
		return l.text.Value(value), found, err
	}
	// Mostly they are asked for in order.
	if l.next < l.page.Len() && bytes.Equal(l.page.Key(l.next), key) {
		l.next++
		return l.page.Value(l.next - 1), true, nil
	}
	lo, hi := 0, l.page.Len()
	for lo < hi {
		mid := (lo + hi) / 2
		if bytes.Compare(l.page.Key(mid), key) < 0 {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	l.next = lo
	if lo == l.page.Len() || !bytes.Equal(l.page.Key(lo), key) {
		return nil, false, nil
	}
	l.next++
	return l.page.Value(lo), true, nil
}
