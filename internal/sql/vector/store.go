package vector

import (
	"strings"
	"unsafe"

	"github.com/lichendb/lichen/internal/sql/types"
)

// Store keeps copies of rows as columns.
type Store struct {
	families []types.Family
	chunks   [][]*Vector // of BatchRows rows each; those behind the rows are to be used again
	n        int
}

// NewStore returns a store of rows with columns of the given families.
func NewStore(families []types.Family) Store { return Store{families: families} }

// Len returns the number of rows.
func (s *Store) Len() int { return s.n }

// Chunks returns how many chunks the rows take.
func (s *Store) Chunks() int { return (s.n + BatchRows - 1) / BatchRows }

// Chunk makes b the rows of chunk i.
func (s *Store) Chunk(i int, b *Batch) {
	n := min(s.n-i*BatchRows, BatchRows)
	b.N, b.Sel, b.Cols, b.Err = n, All(n), s.chunks[i], nil
}

// SizeOf estimates the memory that a store takes for the rows of sel.
func SizeOf(cols []*Vector, sel Selection) (size int64) {
	for _, v := range cols {
		size += int64(len(sel)) * v.width()
		switch v.Kind {
		case Strings:
			for _, i := range sel {
				size += int64(len(v.Strings[i]))
			}
		case Datums:
			for _, i := range sel {
				size += int64(len(v.Datums[i].Str()))
			}
		}
	}
	return size
}

// Width is what a row takes, strings aside.
func (s *Store) Width() int64 { return int64(len(s.families)) * 8 }

// Reset forgets all rows.
func (s *Store) Reset() { s.chunks, s.n = nil, 0 }

// Clear forgets all rows and keeps the memory for others.
func (s *Store) Clear() { s.n = 0 }

// Add adds a row, and returns the vectors and the position at which the caller sets its values.
func (s *Store) Add() (cols []*Vector, at uint16) {
	cols = s.last()
	s.n++
	return cols, uint16((s.n - 1) % BatchRows)
}

// last returns the chunk of the next row.
func (s *Store) last() []*Vector {
	c := s.n / BatchRows
	switch {
	case s.n%BatchRows > 0:
	case c < len(s.chunks):
		for i, v := range s.chunks[c] {
			v.Reset(s.families[i], BatchRows)
		}
	default:
		s.chunks = append(s.chunks, s.newChunk())
	}
	return s.chunks[c]
}

// Append copies the rows of sel.
func (s *Store) Append(cols []*Vector, sel Selection) {
	for len(sel) > 0 {
		at, chunk := s.n%BatchRows, s.last()
		n := min(len(sel), BatchRows-at)
		for c := range chunk {
			chunk[c].copyAt(at, cols[c], sel[:n])
		}
		s.n += n
		sel = sel[n:]
	}
}

func (s *Store) newChunk() []*Vector {
	chunk := make([]*Vector, len(s.families))
	for c := range chunk {
		chunk[c] = &Vector{}
		chunk[c].Reset(s.families[c], BatchRows)
	}
	return chunk
}

// width is what a position takes, strings aside.
func (v *Vector) width() int64 {
	switch v.Kind {
	case Strings:
		return int64(unsafe.Sizeof(""))
	case Datums:
		return int64(unsafe.Sizeof(types.Datum{}))
	}
	return 8
}

// copyAt copies the values of src at sel to the positions from at on.
func (v *Vector) copyAt(at int, src *Vector, sel Selection) {
	for k, i := range sel {
		if src.Nulls.Has(i) {
			v.Nulls.Add(uint16(at + k))
			continue
		}
		switch {
		case v.Kind == Ints:
			v.Ints[at+k] = src.Ints[i]
		case v.Kind == Decimals && src.Kind == Decimals && v.SetDecimal(uint16(at+k), src.Ints[i], src.Scale):
		case v.Kind == Floats:
			v.Floats[at+k] = src.Floats[i]
		case v.Kind == Strings:
			v.Strings[at+k] = strings.Clone(src.Strings[i])
		default:
			v.Set(uint16(at+k), src.Datum(i).Clone())
		}
	}
}

// Take sets dst to the values of column c in the given rows; a negative row is NULL.
func (s *Store) Take(dst *Vector, c int, rows []int32) {
	dst.Reset(s.families[c], len(rows))
	for k, r := range rows {
		if r < 0 {
			dst.Nulls.Add(uint16(k))
			continue
		}
		dst.copyFrom(uint16(k), s.chunks[r/BatchRows][c], uint16(r%BatchRows))
	}
}

// copyFrom sets position k to the value of src at i, whose memory it shares.
func (v *Vector) copyFrom(k uint16, src *Vector, i uint16) {
	switch {
	case src.Nulls.Has(i):
		v.Nulls.Add(k)
	case v.Kind == Ints:
		v.Ints[k] = src.Ints[i]
	case v.Kind == Strings:
		v.Strings[k] = src.Strings[i]
	case v.Kind == Decimals && src.Kind == Decimals && v.SetDecimal(k, src.Ints[i], src.Scale):
	default:
		v.Set(k, src.Datum(i))
	}
}

// Take sets v to the values of src at the given positions; a negative one is NULL.
func (v *Vector) Take(src *Vector, at []int32) {
	v.Reset(src.Family, len(at))
	for k, i := range at {
		if i < 0 {
			v.Nulls.Add(uint16(k))
			continue
		}
		v.copyFrom(uint16(k), src, uint16(i))
	}
}
