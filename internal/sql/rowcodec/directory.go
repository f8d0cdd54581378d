package rowcodec

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/lichendb/lichen/internal/sql/types"
)

// A value of many columns ends with a directory, so that a column is found without those before it:
//
//	columns │ offset of each column (1, 2 or 4 bytes) │ bitmap of the ids that are there │ its length (1 byte)
//
// Bit i of the bitmap stands for the column with id i+1. Offsets count from the first column.

const (
	// minDirectory is how many columns an index stores at least whose values have a directory: fewer are passed
	// over as fast.
	minDirectory = 4
	// maxDirectoryID is the largest id that the bitmap has room for.
	maxDirectoryID = 8 * math.MaxUint8
)

// directoryWriter collects where the columns of a value begin.
type directoryWriter struct {
	first   int // where the first column begins
	offsets []uint32
	bitmap  [maxDirectoryID / 8]byte
	length  int // of bitmap
}

// directoryOf reports whether values of these columns have a directory.
func directoryOf(columns []storedColumn) bool {
	return len(columns) >= minDirectory && columns[len(columns)-1].id <= maxDirectoryID
}

// add notes that a column begins at the given position of the value.
func (w *directoryWriter) add(s *storedColumn, at int) {
	i := int(s.id - 1)
	w.bitmap[i/8] |= 1 << (i % 8)
	w.length = i/8 + 1
	w.offsets = append(w.offsets, uint32(at-w.first))
}

// finish appends the directory, and returns the flags that tell of it.
func (w *directoryWriter) finish(dst []byte) ([]byte, byte) {
	flags := byte(flagOffsets4)
	switch size := len(dst) - w.first; {
	case size <= math.MaxUint8:
		flags = flagOffsets1
		for _, o := range w.offsets {
			dst = append(dst, byte(o))
		}
	case size <= math.MaxUint16:
		flags = flagOffsets2
		for _, o := range w.offsets {
			dst = binary.LittleEndian.AppendUint16(dst, uint16(o))
		}
	default:
		for _, o := range w.offsets {
			dst = binary.LittleEndian.AppendUint32(dst, o)
		}
	}
	dst = append(dst, w.bitmap[:w.length]...)
	return append(dst, byte(w.length)), flags
}

// directory finds the wanted columns of values that have a directory. Most values of a table have the same
// columns: their positions are remembered.
type directory struct {
	end   []byte // the bitmap and its length, of the value before
	count int    // of its columns
	at    []int  // of each wanted column: its position among the columns, -1 if the value lacks it
}

// open finds the wanted columns in b, a value without its header, and reports whether it has a directory that fits.
func (d *directory) open(b []byte, flags byte, want []wanted) bool {
	if !d.same(b) || d.at == nil {
		n := len(b) - 1
		if n < 0 || int(b[n]) > n {
			return false
		}
		d.find(b[n-int(b[n]):], want)
	}
	return d.size(flags) <= len(b)
}

// same reports whether the value before had the columns of b.
func (d *directory) same(b []byte) bool {
	return len(b) >= len(d.end) && string(b[len(b)-len(d.end):]) == string(d.end)
}

// find remembers where the wanted columns are in values with this bitmap, which its length follows.
func (d *directory) find(end []byte, want []wanted) {
	d.end = append(d.end[:0], end...)
	if d.at == nil {
		d.at = make([]int, len(want))
	}
	w := 0
	d.count = 0
	for i, set := range end[:len(end)-1] {
		for ; w < len(want) && int(want[w].id-1)/8 == i; w++ {
			bit := byte(1) << ((want[w].id - 1) % 8)
			d.at[w] = -1
			if set&bit != 0 {
				d.at[w] = d.count + bits.OnesCount8(set&(bit-1))
			}
		}
		d.count += bits.OnesCount8(set)
	}
	for ; w < len(want); w++ {
		d.at[w] = -1
	}
}

// size returns how many bytes of a value the directory takes.
func (d *directory) size(flags byte) int { return d.count<<offsetShift(flags) + len(d.end) }

// place says where the offset of a column is: so many bytes before the end of the value, and how long it is.
type place struct {
	back  int
	shift int // base-two logarithm of the length
}

// place returns the place of the column at position i.
func (d *directory) place(flags byte, i int) place {
	shift := offsetShift(flags)
	return place{back: d.size(flags) - i<<shift, shift: shift}
}

// offsetShift returns the base-two logarithm of the length of an offset.
func offsetShift(flags byte) int { return int(flags&flagOffsets)>>flagOffsetsBit - 1 }

// column returns what follows the beginning of the column at p in b, which is large enough for a directory; nothing if
// the offset is wrong.
func (p place) column(b []byte) []byte {
	at := int(b[len(b)-p.back])
	if p.shift > 0 {
		at = p.long(b)
	}
	if at > len(b) {
		return nil
	}
	return b[at:]
}

// long returns an offset of more than one byte.
func (p place) long(b []byte) int {
	b = b[len(b)-p.back:]
	if p.shift == 1 {
		return int(binary.LittleEndian.Uint16(b))
	}
	return int(binary.LittleEndian.Uint32(b))
}

// decodeDirectory reads the wanted columns of a value that has a directory.
func (d *Decoder) decodeDirectory(b []byte, flags byte, row []types.Datum) bool {
	if !d.dir.open(b, flags, d.want) {
		return false
	}
	for w, i := range d.dir.at {
		if i < 0 {
			continue
		}
		dst := &row[d.want[w].slot]
		c := d.dir.place(flags, i).column(b)
		if _, found := decodeInto(dst, c, d.want[w].family); found {
			continue
		}
		if _, null := storedNull(flags, c); !null {
			return false
		}
		*dst = types.Null
	}
	return true
}
