package exec

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
	datumSize        = int64(unsafe.Sizeof(types.Datum{}))
	sliceSize        = int64(unsafe.Sizeof(types.Row{}))
)

// rowStore keeps copies of rows, strings included, and accounts for them. Its
// first chunks stay with it from one use to the next: what open returns to
// reuse must not be referred to any more.
type rowStore struct {
	width int
	acc   quota.Account
	rows  []types.Row
	slots []types.Datum // what is left of the current chunk
	first []types.Datum // the first chunk, kept
	text  arena
	chunk int  // datums of the current chunk, 0 before the first
	few   bool // there are many such stores, each with few rows
}

// keepRows is how many rows' headers a store keeps room for between uses.
const keepRows = 256

// open empties the store and binds it to the statement's memory.
func (s *rowStore) open(r *run, width int) {
	s.close()
	s.width = width
	s.acc.Init(r.Mem)
}

// close gives the memory back.
func (s *rowStore) close() {
	s.acc.Close()
	s.slots, s.chunk = nil, 0
	if cap(s.rows) > keepRows {
		s.rows = nil
	}
	s.rows = s.rows[:0]
	s.text.reset()
}

func (s *rowStore) len() int { return len(s.rows) }

// least is how many rows the store makes room for at first: n, or fewer.
func (s *rowStore) least(n int) int {
	if s.few {
		return n / 4
	}
	return n
}

// add stores a copy of row and returns it.
func (s *rowStore) add(row types.Row) (types.Row, error) {
	dst, err := s.slot()
	if err != nil {
		return nil, err
	}
	for i := range row {
		if dst[i], err = s.text.copyDatum(row[i], &s.acc); err != nil {
			return nil, expr.MemoryError(err)
		}
	}
	if len(s.rows) == cap(s.rows) {
		n := max(s.least(16), 2*cap(s.rows))
		if err := s.acc.Grow(int64(n-cap(s.rows)) * sliceSize); err != nil {
			return nil, expr.MemoryError(err)
		}
		grown := make([]types.Row, len(s.rows), n)
		copy(grown, s.rows)
		s.rows = grown
	}
	s.rows = append(s.rows, dst)
	return dst, nil
}

// slot returns room for one row.
func (s *rowStore) slot() (types.Row, error) {
	if len(s.slots) < s.width {
		if err := s.nextChunk(); err != nil {
			return nil, expr.MemoryError(err)
		}
	}
	dst := s.slots[:s.width:s.width]
	s.slots = s.slots[s.width:]
	return dst, nil
}

func (s *rowStore) nextChunk() error {
	initial := s.chunk == 0
	s.chunk = min(max(2*s.chunk, s.least(8)*s.width), max(storeChunkDatums, s.width))
	if initial && len(s.first) >= s.width {
		s.chunk = len(s.first)
	}
	if err := s.acc.Grow(int64(s.chunk) * datumSize); err != nil {
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

// addBatch stores copies of the rows of b.
func (s *rowStore) addBatch(b *Batch) error {
	for i := 0; i < b.Len(); i++ {
		if _, err := s.add(b.Row(i)); err != nil {
			return err
		}
	}
	return nil
}

// arena keeps copies of strings.
type arena struct {
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
func (a *arena) reset() { a.free, a.next = nil, 0 }

// copyString returns a copy of s that stays.
func (a *arena) copyString(s string, acc *quota.Account) (string, error) {
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

func (a *arena) nextChunk(need int, acc *quota.Account) error {
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

// copyDatum returns d with memory of its own.
func (a *arena) copyDatum(d types.Datum, acc *quota.Account) (types.Datum, error) {
	var mk func(string) types.Datum
	switch d.Family() {
	case types.StringFamily:
		mk = types.NewString
	case types.BytesFamily:
		mk = types.NewBytes
	case types.UUIDFamily:
		mk = types.NewUUID
	case types.JSONFamily:
		mk = types.NewJSON
	case types.DecimalFamily:
		if _, _, small := d.SmallDecimal(); small {
			return d, nil
		}
		return a.copyEncoded(d, acc)
	case types.ArrayFamily, types.RecordFamily, types.IntervalFamily, types.EnumFamily, types.InetFamily, types.MACFamily,
		types.BitFamily, types.RangeFamily, types.MultirangeFamily, types.TSVectorFamily, types.TSQueryFamily, types.JSONPathFamily, types.OpaqueFamily:
		return a.copyEncoded(d, acc)
	default:
		return d, nil
	}
	s, err := a.copyString(d.Str(), acc)
	return mk(s), err
}

// copyEncoded copies a datum whose payload only types knows.
func (a *arena) copyEncoded(d types.Datum, acc *quota.Account) (types.Datum, error) {
	enc := types.AppendEncoded(nil, d)
	if err := acc.Grow(int64(len(enc))); err != nil {
		return types.Null, err
	}
	c, _, err := types.DecodeEncoded(unsafe.String(&enc[0], len(enc)))
	return c, err
}
