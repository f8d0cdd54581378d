package rowcontainer

import (
	"strings"

	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/types"
)

// CopyRow makes dst a copy of row that outlives the buffers that row came from.
func CopyRow(dst, row types.Row) types.Row {
	dst = dst[:0]
	for _, d := range row {
		dst = append(dst, CopyDatum(d))
	}
	return dst
}

// CopyDatum keeps a datum beyond the buffers it came from.
func CopyDatum(d types.Datum) types.Datum {
	return d.In(strings.Clone(d.Str()))
}

// CopySlots maps an input row to another order of columns.
func CopySlots(dst, src types.Row, pos []int) {
	for i, p := range pos {
		dst[i] = src[p]
	}
}

// Row copies the strings of a row into memory that outlives the buffers of
// the operator that made it.
func (a *Scratch) Row(row types.Row) {
	for i := range row {
		row[i] = a.Datum(row[i])
	}
}

// Scratch is memory for the strings of one batch; reset frees it all.
type Scratch struct {
	buf  []byte
	size int
}

// Reset frees everything.
func (a *Scratch) Reset() {
	if cap(a.buf) > MaxScratch {
		a.buf = nil
	}
	a.buf, a.size = a.buf[:0], 0
}

// Len returns the size of the strings.
func (a *Scratch) Len() int { return a.size }

// MaxScratch is the largest scratch that is kept for the next batch.
const MaxScratch = 64 << 10

// Bytes returns a copy of b that lives until reset. What was returned before
// stays valid when the buffer grows: the old memory is left to it.
func (a *Scratch) Bytes(b []byte) []byte {
	if len(a.buf)+len(b) > cap(a.buf) {
		a.buf = make([]byte, 0, max(2*cap(a.buf), len(b), 256))
	}
	n := len(a.buf)
	a.size += len(b)
	a.buf = append(a.buf, b...)
	return a.buf[n:len(a.buf):len(a.buf)]
}

// Value returns a value that a transaction has read, in memory that lives until reset. A large
// one belongs to who read it and is not copied.
func (a *Scratch) Value(v []byte) []byte {
	if len(v) >= quota.LargeValue {
		return v
	}
	return a.Bytes(v)
}

// Datum returns d with its string in scratch.
func (a *Scratch) Datum(d types.Datum) types.Datum { return d.In(a.string(d.Str())) }

func (a *Scratch) string(s string) string {
	if s == "" {
		return ""
	}
	return viewString(a.Bytes(viewBytes(s)))
}
