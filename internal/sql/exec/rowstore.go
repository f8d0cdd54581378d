package exec

import (
	"unsafe"

	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Sizes of a row store's chunks.
const (
	storeChunkDatums = 2048
	storeChunkBytes  = 32 << 10
	datumSize        = int64(unsafe.Sizeof(types.Datum{}))
	sliceSize        = int64(unsafe.Sizeof(Row{}))
)

// rowStore keeps copies of rows, strings included, and accounts for them.
type rowStore struct {
	width int
	acc   quota.Account
	rows  []Row
	slots []types.Datum // what is left of the current chunk
	text  arena
	chunk int // datums of the next chunk
}

// open empties the store and binds it to the statement's memory.
func (s *rowStore) open(r *run, width int) {
	s.close()
	s.width = width
	s.acc.Init(r.env.Mem)
}

// close gives the memory back.
func (s *rowStore) close() {
	s.acc.Close()
	s.rows, s.slots, s.chunk = nil, nil, 0
	s.text = arena{}
}

func (s *rowStore) len() int { return len(s.rows) }

// add stores a copy of row and returns it.
func (s *rowStore) add(row Row) (Row, error) {
	dst, err := s.slot()
	if err != nil {
		return nil, err
	}
	for i := range row {
		if dst[i], err = s.text.copyDatum(row[i], &s.acc); err != nil {
			return nil, memoryError(err)
		}
	}
	if len(s.rows) == cap(s.rows) {
		n := max(16, 2*cap(s.rows))
		if err := s.acc.Grow(int64(n-cap(s.rows)) * sliceSize); err != nil {
			return nil, memoryError(err)
		}
		grown := make([]Row, len(s.rows), n)
		copy(grown, s.rows)
		s.rows = grown
	}
	s.rows = append(s.rows, dst)
	return dst, nil
}

// slot returns room for one row.
func (s *rowStore) slot() (Row, error) {
	if len(s.slots) < s.width {
		s.chunk = min(max(2*s.chunk, 8*s.width), max(storeChunkDatums, s.width))
		if err := s.acc.Grow(int64(s.chunk) * datumSize); err != nil {
			return nil, memoryError(err)
		}
		s.slots = make([]types.Datum, s.chunk)
	}
	dst := s.slots[:s.width:s.width]
	s.slots = s.slots[s.width:]
	return dst, nil
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
	free []byte
	next int
}

// copyString returns a copy of s that stays.
func (a *arena) copyString(s string, acc *quota.Account) (string, error) {
	if s == "" {
		return "", nil
	}
	if len(s) > len(a.free) {
		a.next = min(max(2*a.next, 512), storeChunkBytes)
		n := max(a.next, len(s))
		if err := acc.Grow(int64(n)); err != nil {
			return "", err
		}
		if len(s) > storeChunkBytes/4 { // of its own: do not waste the chunk
			b := make([]byte, len(s))
			copy(b, s)
			return unsafe.String(&b[0], len(b)), nil
		}
		a.free = make([]byte, n)
	}
	n := copy(a.free, s)
	c := unsafe.String(&a.free[0], n)
	a.free = a.free[n:]
	return c, nil
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
	case types.ArrayFamily, types.RecordFamily, types.IntervalFamily:
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
