package rowcodec

import (
	"bytes"
	"encoding/binary"
	"math"
	"unsafe"

	"github.com/lichendb/lichen/internal/sql/types"
)

// keyReader reads ordered values off a key. mask is 0xFF while it reads a
// descending column. After the first malformed byte, bad stays true.
type keyReader struct {
	b    []byte
	mask byte
	bad  bool
}

func (r *keyReader) byte() byte {
	if len(r.b) == 0 {
		r.bad = true
		return 0
	}
	c := r.b[0] ^ r.mask
	r.b = r.b[1:]
	return c
}

// null consumes the marker of a NULL if one is next.
func (r *keyReader) null() bool {
	if len(r.b) > 0 && (r.b[0] == nullFirstMark || r.b[0] == nullLastMark) {
		r.b = r.b[1:]
		return true
	}
	return false
}

func (r *keyReader) int() int64 {
	c := r.byte()
	switch {
	case c >= intZero && c <= intZero+intSmallMax:
		return int64(c - intZero)
	case c > intBig && c <= intBig+8:
		return int64(r.bigEndian(int(c-intBig), 0))
	case c >= intNeg-8 && c < intNeg:
		return int64(r.bigEndian(int(intNeg-c), math.MaxUint64))
	}
	r.bad = true
	return 0
}

// bigEndian reads n bytes into the low end of fill.
func (r *keyReader) bigEndian(n int, fill uint64) uint64 {
	if len(r.b) < n {
		r.bad = true
		return 0
	}
	u := fill
	for _, c := range r.b[:n] {
		u = u<<8 | uint64(c^r.mask)
	}
	r.b = r.b[n:]
	return u
}

func (r *keyReader) float() float64 {
	if r.byte() != floatMark || len(r.b) < 8 {
		r.bad = true
		return 0
	}
	u := binary.BigEndian.Uint64(r.b)
	if r.mask != 0 {
		u = ^u
	}
	r.b = r.b[8:]
	switch {
	case u == math.MaxUint64:
		return types.NaN()
	case u>>63 != 0:
		return math.Float64frombits(u &^ (1 << 63))
	}
	return math.Float64frombits(^u)
}

// bytes reads escaped bytes. The result shares memory with the key, or with
// arena where the bytes had to be transformed; arena may grow.
func (r *keyReader) bytes(arena *[]byte) string {
	if r.byte() != bytesMark {
		r.bad = true
		return ""
	}
	i := bytes.IndexByte(r.b, escByte^r.mask)
	if i < 0 || i+1 >= len(r.b) {
		r.bad = true
		return ""
	}
	if r.b[i+1]^r.mask == escTerm && r.mask == 0 {
		s := viewString(r.b[:i])
		r.b = r.b[i+2:]
		return s
	}
	start := len(*arena)
	for {
		for _, c := range r.b[:i] {
			*arena = append(*arena, c^r.mask)
		}
		esc := r.b[i+1] ^ r.mask
		r.b = r.b[i+2:]
		if esc == escTerm {
			return viewString((*arena)[start:])
		}
		if esc != escZero {
			break
		}
		*arena = append(*arena, 0)
		if i = bytes.IndexByte(r.b, escByte^r.mask); i < 0 || i+1 >= len(r.b) {
			break
		}
	}
	r.bad = true
	return ""
}

// fixed reads n raw bytes after a mark.
func (r *keyReader) fixed(mark byte, n int, arena *[]byte) string {
	if r.byte() != mark || len(r.b) < n {
		r.bad = true
		return ""
	}
	b := r.b[:n]
	r.b = r.b[n:]
	if r.mask == 0 {
		return viewString(b)
	}
	start := len(*arena)
	*arena = append(*arena, b...)
	invert((*arena)[start:])
	return viewString((*arena)[start:])
}

// datum reads a value of type t, whose exactness is not never.
func (r *keyReader) datum(t *types.T, arena *[]byte) types.Datum {
	switch t.Family {
	case types.BoolFamily:
		return types.NewBool(r.int() != 0)
	case types.IntFamily:
		return types.NewInt(r.int())
	case types.DateFamily:
		return types.NewDate(r.int())
	case types.TimeFamily:
		return types.NewTime(r.int())
	case types.TimestampFamily:
		return types.NewTimestamp(r.int())
	case types.TimestampTZFamily:
		return types.NewTimestampTZ(r.int())
	case types.StringFamily:
		return types.NewString(r.bytes(arena))
	case types.BytesFamily:
		return types.NewBytes(r.bytes(arena))
	case types.CitextFamily:
		return types.NewCitext(r.bytes(arena))
	case types.LabelFamily:
		return types.NewLabels(r.bytes(arena))
	case types.EnumFamily:
		return types.NewEnum(r.bytes(arena))
	case types.UUIDFamily:
		return types.NewUUID(r.fixed(uuidMark, 16, arena))
	case types.FloatFamily:
		return types.NewFloat(r.float())
	case types.TimeTZFamily:
		utc, west := r.int(), r.int()
		if west != int64(int32(west)) {
			r.bad = true
			return types.Null
		}
		return types.NewTimeTZ(utc-west*types.MicrosPerSec, int32(west))
	}
	r.bad = true
	return types.Null
}

// skip passes over a value of type t.
func (r *keyReader) skip(t *types.T) {
	switch t.Family {
	case types.BoolFamily, types.IntFamily, types.DateFamily, types.TimeFamily,
		types.TimestampFamily, types.TimestampTZFamily:
		r.int()
	case types.TimeTZFamily, types.IntervalFamily:
		r.int()
		r.int()
	case types.StringFamily, types.BytesFamily, types.EnumFamily, types.MACFamily, types.InetFamily, types.BitFamily,
		types.RangeFamily, types.MultirangeFamily, types.JSONFamily, types.RecordFamily, types.CitextFamily, types.HstoreFamily, types.LabelFamily:
		r.skipBytes()
	case types.UUIDFamily:
		r.skipFixed(17)
	case types.FloatFamily:
		r.skipFixed(9)
	case types.DecimalFamily:
		r.skipDecimal()
	case types.ArrayFamily:
		r.skipArray(t)
	default:
		r.bad = true
	}
}

func (r *keyReader) skipFixed(n int) {
	if len(r.b) < n {
		r.bad = true
		return
	}
	r.b = r.b[n:]
}

func (r *keyReader) skipBytes() {
	if r.byte() != bytesMark {
		r.bad = true
		return
	}
	for {
		i := bytes.IndexByte(r.b, escByte^r.mask)
		if i < 0 || i+1 >= len(r.b) {
			r.bad = true
			return
		}
		esc := r.b[i+1] ^ r.mask
		r.b = r.b[i+2:]
		if esc == escTerm {
			return
		}
		if esc != escZero {
			r.bad = true
			return
		}
	}
}

func (r *keyReader) skipDecimal() {
	switch r.byte() {
	case decNegInfMark, decInfMark, decNaNMark, decZeroMark:
		return
	case decNegMark:
		r.mask = ^r.mask
		r.skipDigits()
		r.mask = ^r.mask
	case decPosMark:
		r.skipDigits()
	default:
		r.bad = true
	}
}

func (r *keyReader) skipDigits() {
	r.int()
	i := bytes.IndexByte(r.b, r.mask)
	if i < 0 {
		r.bad = true
		return
	}
	r.b = r.b[i+1:]
}

func (r *keyReader) skipArray(t *types.T) {
	if r.byte() != arrayMark || t.Elem == nil {
		r.bad = true
		return
	}
	for !r.bad {
		if len(r.b) == 0 {
			r.bad = true
			return
		}
		switch r.b[0] ^ r.mask {
		case elemsEnd:
			r.b = r.b[1:]
			for n := 2 * int(r.byte()); n > 0 && !r.bad; n-- {
				r.int()
			}
			return
		case nullLastMark:
			r.b = r.b[1:]
		default:
			r.skip(t.Elem)
		}
	}
}

// viewString returns a string over b's memory.
func viewString(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	return unsafe.String(&b[0], len(b))
}
