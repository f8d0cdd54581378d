package types

import (
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// MaxBits bounds the length of a bit string.
const MaxBits = 83886080

// NewBits returns a bit string of n bits; b holds them, zero-padded to whole
// bytes.
func NewBits(b string, n int) Datum { return Datum{fam: BitFamily, s: b, n: int64(n)} }

// Bits returns the bits of a bit string, zero-padded, and their number.
func (d Datum) Bits() (b string, n int) { return d.s, int(d.n) }

// Bit returns bit i.
func (d Datum) Bit(i int) bool { return d.s[i/8]>>(7-i%8)&1 != 0 }

func bitTypmod(t *T, args []int64) (int32, error) {
	name := "bit"
	if t.Oid == Varbit.Oid {
		name = "varbit"
	}
	switch {
	case len(args) != 1:
		return 0, pgerr.New(pgerr.InvalidParameterValue, "invalid type modifier")
	case args[0] < 1:
		return 0, pgerr.New(pgerr.InvalidParameterValue, "length for type %s must be at least 1", name)
	case args[0] > MaxBits:
		return 0, pgerr.New(pgerr.InvalidParameterValue, "length for type %s cannot exceed %d", name, MaxBits)
	}
	return int32(args[0]), nil
}

// fitBits fits a bit string to the length of its type: bit(n) has n bits
// exactly, bit varying(n) at most.
func fitBits(d Datum, t *T, explicit bool) (Datum, error) {
	n := int(t.Typmod)
	if t.Oid == Varbit.Oid {
		if int(d.n) <= n {
			return d, nil
		}
		if !explicit {
			return Null, pgerr.New(pgerr.StringDataRightTruncation, "bit string too long for type bit varying(%d)", n)
		}
		return ResizeBits(d, n), nil
	}
	if int(d.n) == n {
		return d, nil
	}
	if !explicit {
		return Null, pgerr.New("22026", "bit string length %d does not match type bit(%d)", d.n, n)
	}
	return ResizeBits(d, n), nil
}

// ResizeBits cuts a bit string or pads it with zeros on its right.
func ResizeBits(d Datum, n int) Datum {
	b := make([]byte, (n+7)/8)
	copy(b, d.s)
	if r := n % 8; r != 0 {
		b[len(b)-1] &= 0xff << (8 - r)
	}
	return NewBits(string(b), n)
}
