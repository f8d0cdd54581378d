package rowcontainer

import (
	"cmp"
	"strings"
	"unsafe"

	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Sizes of a row store's chunks.
const (
	storeChunkDatums = 2048
	storeChunkBytes  = 32 << 10
	DatumSize        = int64(unsafe.Sizeof(types.Datum{}))
	sliceSize        = int64(unsafe.Sizeof(types.Row{}))
)

// Store keeps copies of rows, strings included, and accounts for them. Its
// first chunks stay with it from one use to the next: what open returns to
// reuse must not be referred to any more.
type Store struct {
	width int
	Acc   quota.Account
	Rows  []types.Row
	slots []types.Datum // what is left of the current chunk
	first []types.Datum // the first chunk, kept
	text  Arena
	chunk int  // datums of the current chunk, 0 before the first
	few   bool // see expectFew
}

// ExpectFew says that there are many such stores, each with few rows.
func (s *Store) ExpectFew() { s.few, s.text.start = true, fewBytes }

// keepRows is how many rows' headers a store keeps room for between uses.
const keepRows = 256

// Open empties the store and binds it to the statement's memory.
func (s *Store) Open(st *expr.State, width int) {
	s.Close()
	s.width = width
	s.Acc.Init(st.Mem)
}

// Close gives the memory back.
func (s *Store) Close() {
	s.Acc.Close()
	s.slots, s.chunk = nil, 0
	if cap(s.Rows) > keepRows {
		s.Rows = nil
	}
	s.Rows = s.Rows[:0]
	s.text.reset()
}

// Reset forgets the rows and keeps some of the memory reserved, for others that follow.
func (s *Store) Reset() {
	acc := s.Acc
	s.Acc = quota.Account{}
	s.Close()
	acc.Shrink(acc.Used())
	s.Acc = acc
}

// Len returns the number of rows.
func (s *Store) Len() int { return len(s.Rows) }

// At returns row i, from 0; it is not nil even without columns.
func (s *Store) At(i int) (types.Row, error) {
	if row := s.Rows[i]; row != nil {
		return row, nil
	}
	return noColumns, nil
}

var noColumns = types.Row{}

// least is how many rows the store makes room for at first: n, or fewer.
func (s *Store) least(n int) int {
	if s.few {
		return n / 4
	}
	return n
}

// Add stores a copy of row and returns it.
func (s *Store) Add(row types.Row) (types.Row, error) {
	dst, err := s.slot()
	if err != nil {
		return nil, err
	}
	for i := range row {
		if dst[i], err = s.text.CopyDatum(row[i], &s.Acc); err != nil {
			return nil, expr.MemoryError(err)
		}
	}
	if len(s.Rows) == cap(s.Rows) {
		n := max(s.least(16), 2*cap(s.Rows))
		if err := s.Acc.Grow(int64(n-cap(s.Rows)) * sliceSize); err != nil {
			return nil, expr.MemoryError(err)
		}
		grown := make([]types.Row, len(s.Rows), n)
		copy(grown, s.Rows)
		s.Rows = grown
	}
	s.Rows = append(s.Rows, dst)
	return dst, nil
}

// slot returns room for one row.
func (s *Store) slot() (types.Row, error) {
	if len(s.slots) < s.width {
		if err := s.nextChunk(); err != nil {
			return nil, expr.MemoryError(err)
		}
	}
	dst := s.slots[:s.width:s.width]
	s.slots = s.slots[s.width:]
	return dst, nil
}

func (s *Store) nextChunk() error {
	initial := s.chunk == 0
	s.chunk = min(max(2*s.chunk, s.least(8)*s.width), max(storeChunkDatums, s.width))
	if initial && len(s.first) >= s.width {
		s.chunk = len(s.first)
	}
	if err := s.Acc.Grow(int64(s.chunk) * DatumSize); err != nil {
		return err
	}
	if initial && len(s.first) == s.chunk {
		s.slots = s.first
		return nil
	}
	s.slots = make([]types.Datum, s.chunk)
	if initial || (s.chunk <= keepDatums && len(s.first) < s.chunk) {
		s.first = s.slots
	}
	return nil
}

// AddBatch stores copies of the rows of b.
func (s *Store) AddBatch(b *Batch) error {
	for i := 0; i < b.Len(); i++ {
		if _, err := s.Add(b.Row(i)); err != nil {
			return err
		}
	}
	return nil
}

// Arena keeps copies of strings.
type Arena struct {
	free  []byte // what is left of the current chunk
	first []byte // a chunk kept from one use to the next
	next  int    // size of the current chunk, 0 before the first
	start int    // size of the first chunk, 0 meaning arenaStart
}

const (
	arenaStart = 512
	// fewBytes begins an arena of which there are many, each with little in it.
	fewBytes = 64
)

// reset empties the arena; only the chunk it keeps is used again.
func (a *Arena) reset() { a.free, a.next = nil, 0 }

// copyString returns a copy of s that stays.
func (a *Arena) copyString(s string, acc *quota.Account) (string, error) {
	if s == "" {
		return "", nil
	}
	if len(s) > len(a.free) {
		if len(s) > storeChunkBytes/4 { // of its own: do not waste the chunk
			if err := acc.Grow(int64(len(s))); err != nil {
				return "", err
			}
			return strings.Clone(s), nil
		}
		if err := a.nextChunk(len(s), acc); err != nil {
			return "", err
		}
	}
	n := copy(a.free, s)
	c := viewString(a.free[:n])
	a.free = a.free[n:]
	return c, nil
}

func (a *Arena) nextChunk(need int, acc *quota.Account) error {
	initial := a.next == 0
	a.next = max(min(max(2*a.next, cmp.Or(a.start, arenaStart)), storeChunkBytes), need)
	if initial && len(a.first) >= need {
		a.next = len(a.first)
	}
	if err := acc.Grow(int64(a.next)); err != nil {
		return err
	}
	if initial && len(a.first) == a.next {
		a.free = a.first
		return nil
	}
	a.free = make([]byte, a.next)
	if initial || len(a.first) < a.next {
		a.first = a.free
	}
	return nil
}

// CopyDatum returns d with memory of its own.
func (a *Arena) CopyDatum(d types.Datum, acc *quota.Account) (types.Datum, error) {
	if d.Str() == "" {
		return d, nil
	}
	s, err := a.copyString(d.Str(), acc)
	return d.In(s), err
}
