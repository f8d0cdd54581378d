package scan

import (
	"bytes"
	"sort"
	"unsafe"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/vector"
)

// Bounds of the entries whose rows are read together in the order of their keys: the first ones, then more
// each time. The more there are, the more rows of a block are read while it is at hand.
const (
	minSorted = vector.BatchRows
	maxSorted = 32 * vector.BatchRows
)

// sortedRows reads the rows behind entries of an index in the order of their keys, many entries at a time, for a
// consumer that wants no order. PostgreSQL's bitmap heap scan has the same purpose.
type sortedRows struct {
	behind *rowsBehind
	keys   Lookups
	most   int         // entries to gather next
	left   []kvpb.Span // of keys, not read yet
	acc    quota.Account
}

func newSortedRows(run *operator.Run, b *rowsBehind) *sortedRows {
	s := &sortedRows{behind: b, keys: Lookups{rows: &b.rows}}
	s.acc.Init(run.Mem)
	return s
}

func (s *sortedRows) open() {
	s.forget()
	s.most = minSorted
}

// forget drops the keys that were gathered.
func (s *sortedRows) forget() {
	s.keys.Reset()
	s.left = nil
	s.acc.Close()
}

func (s *sortedRows) close() {
	s.forget()
	s.keys.Release()
}

// full reports whether no more entries are to be gathered.
func (s *sortedRows) full() bool { return s.keys.Len() >= s.most }

// gather adds the row of an entry. Without memory for more it is content with what it has.
func (s *sortedRows) gather(entry types.Row) error {
	if err := s.behind.ask(&s.keys, entry); err != nil {
		return err
	}
	size := int64(len(s.keys.Key(s.keys.Len()-1))) + int64(unsafe.Sizeof(kvpb.Span{})+unsafe.Sizeof(int(0)))
	if err := s.acc.Grow(size); err != nil {
		if s.keys.Len() < minSorted {
			return err
		}
		s.most = s.keys.Len()
	}
	return nil
}

// sort ends gathering.
func (s *sortedRows) sort() {
	s.keys.sort()
	s.left = s.keys.spans
	s.most = min(2*s.most, maxSorted)
}

// read reads the next rows into b.
func (s *sortedRows) read(b *vector.Batch, cols []*vector.Vector) error {
	chunk := s.left[:min(len(s.left), vector.BatchRows)]
	if err := s.keys.scan(chunk); err != nil {
		return err
	}
	page := &s.keys.page
	n := len(chunk)
	if page.Resume != nil {
		n = sort.Search(n, func(i int) bool { return bytes.Compare(chunk[i].Key, page.Resume) >= 0 })
	}
	s.left = s.left[n:]
	s.behind.dec.Reset(cols, page.Len())
	for i := range page.Len() {
		if err := s.behind.dec.Decode(page.Key(i), page.Value(i), cols, uint16(i)); err != nil {
			return err
		}
	}
	b.N, b.Sel = page.Len(), vector.All(page.Len())
	return nil
}
