package scan

import (
	"unsafe"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/plan"
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
// consumer that wants no order. PostgreSQL's bitmap heap scan has the same purpose. Several workers read them:
// each the rows of one chunk of keys after the other.
type sortedRows struct {
	*pageReaders
	behind *rowsBehind
	keys   Lookups
	most   int           // entries to gather next
	left   []kvpb.Span   // of keys, of no worker yet
	queue  []*pageReader // in the order of their chunks
	acc    quota.Account
}

func newSortedRows(c *operator.Compiler, n *plan.IndexJoin, b *rowsBehind) (*sortedRows, error) {
	s := &sortedRows{behind: b, keys: Lookups{rows: &b.rows}}
	s.acc.Init(c.Run.Mem)
	var err error
	s.pageReaders, err = newPageReaders(c, b.primary, n.Ords, n.Cols, n.Filter)
	return s, err
}

func (s *sortedRows) open() {
	s.forget()
	s.most = minSorted
}

// forget drops the keys that were gathered.
func (s *sortedRows) forget() {
	s.stop()
	s.keys.Reset()
	s.left, s.queue = nil, s.queue[:0]
	s.acc.Close()
}

func (s *sortedRows) close() {
	s.forget()
	s.keys.Release()
	s.pageReaders.close()
}

// full reports whether no more entries are to be gathered.
func (s *sortedRows) full() bool { return s.keys.Len() >= s.most }

// gather adds the row of an entry. Without memory for more it is content with what it has.
func (s *sortedRows) gather(entry types.Row) error {
	if err := s.behind.ask(&s.keys, entry); err != nil {
		return err
	}
	size := int64(len(s.keys.Key(s.keys.Len()-1))) + int64(unsafe.Sizeof(kvpb.Span{})+unsafe.Sizeof(int(0))+unsafe.Sizeof(sortKey{}))
	if err := s.acc.Grow(size); err != nil {
		if s.keys.Len() < minSorted {
			return err
		}
		s.most = s.keys.Len()
	}
	return nil
}

// sort ends gathering and has the workers begin.
func (s *sortedRows) sort() error {
	s.keys.sort()
	s.left = s.keys.spans
	s.most = min(2*s.most, maxSorted)
	if err := s.start((len(s.left) + s.chunk() - 1) / s.chunk()); err != nil {
		return err
	}
	for _, w := range s.running() {
		s.beginChunk(w)
	}
	return nil
}

// chunk returns how many rows a worker reads at a time.
func (s *sortedRows) chunk() int { return min(vector.BatchRows, s.run.BatchRows) }

// beginChunk has a worker read the next chunk, if one is left.
func (s *sortedRows) beginChunk(w *pageReader) {
	if len(s.left) == 0 {
		return
	}
	n := min(len(s.left), s.chunk())
	w.spans, s.left = s.left[:n:n], s.left[n:]
	w.begin()
	s.queue = append(s.queue, w)
}

// read reads the next rows into b; none if all that was gathered is read.
func (s *sortedRows) read(b *vector.Batch) error { return s.next(b, s.turnPage) }

// turnPage takes the next page of the first chunk; false if there is none.
func (s *sortedRows) turnPage() (bool, error) {
	if len(s.queue) == 0 {
		return false, nil
	}
	w := s.queue[0]
	if err := s.take(w); err != nil {
		return false, err
	}
	if !w.busy() {
		s.queue = s.queue[:copy(s.queue, s.queue[1:])]
		s.beginChunk(w)
	}
	return true, nil
}
