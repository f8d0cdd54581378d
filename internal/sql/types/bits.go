package types

import (
	"strings"

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

// parseBits reads B101, X1F or bare binary digits.
func parseBits(s string) (Datum, error) {
	if s != "" && s[0]|0x20 == 'x' {
		return ParseHexBits(s[1:])
	}
	if s != "" && s[0]|0x20 == 'b' {
		s = s[1:]
	}
	return ParseBinaryBits(s)
}

// ParseBinaryBits reads binary digits: the inside of B'...'.
func ParseBinaryBits(s string) (Datum, error) {
	if len(s) > MaxBits {
		return Null, errBitsTooLong()
	}
	b := make([]byte, (len(s)+7)/8)
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '1':
			b[i/8] |= 1 << (7 - i%8)
		case '0':
		default:
			return Null, pgerr.New(pgerr.InvalidTextRepresentation, "\"%s\" is not a valid binary digit", firstRune(s[i:]))
		}
	}
	return NewBits(string(b), len(s)), nil
}

// ParseHexBits reads hexadecimal digits: the inside of X'...'.
func ParseHexBits(s string) (Datum, error) {
	if len(s) > MaxBits/4 {
		return Null, errBitsTooLong()
	}
	b := make([]byte, (len(s)+1)/2)
	for i := 0; i < len(s); i++ {
		v, ok := hexDigit(s[i])
		if !ok {
			return Null, pgerr.New(pgerr.InvalidTextRepresentation, "\"%s\" is not a valid hexadecimal digit", firstRune(s[i:]))
		}
		b[i/2] |= v << (4 * (1 - i%2))
	}
	return NewBits(string(b), 4*len(s)), nil
}

func errBitsTooLong() error {
	return pgerr.New(pgerr.ProgramLimitExceeded, "bit string length exceeds the maximum allowed (%d)", MaxBits)
}

func firstRune(s string) string {
	for i := range s {
		if i > 0 {
			return s[:i]
		}
	}
	return s
}

func appendBits(dst []byte, d Datum) []byte {
	for i := range int(d.n) {
		c := byte('0')
		if d.Bit(i) {
			c = '1'
		}
		dst = append(dst, c)
	}
	return dst
}

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

func (m *message) bits() (Datum, error) {
	n := m.int32()
	if n < 0 || n > MaxBits {
		return Null, errBinary("invalid length in external bit string")
	}
	b := m.take((int(n) + 7) / 8)
	if m.err != nil {
		return Null, m.err
	}
	return ResizeBits(NewBits(string(b), int(n)), int(n)), nil
}

func addBitCasts(add castAdder) {
	const i, e = CastImplicit, CastExplicit
	add(Bit, i, 'b', nil, Varbit)
	add(Varbit, i, 'b', nil, Bit)
	add(Bit, e, 'f', castBitsInt, Int4, Int8)
	add(Int4, e, 'f', castIntBits(32), Bit)
	add(Int8, e, 'f', castIntBits(64), Bit)
}

func castBitsInt(_ *FormatContext, d Datum, to *T) (Datum, error) {
	width := 64
	if to.Oid == Int4.Oid {
		width = 32
	}
	if int(d.n) > width {
		return Null, pgerr.New(pgerr.NumericValueOutOfRange, "%s out of range", strings.ToLower(to.SQLName))
	}
	var v uint64
	for i := range int(d.n) {
		v <<= 1
		if d.Bit(i) {
			v |= 1
		}
	}
	if width == 32 {
		return NewInt(int64(int32(v))), nil
	}
	return NewInt(int64(v)), nil
}

// castIntBits makes bit(n) of an integer: its low bits, sign-extended.
func castIntBits(width int) CastFunc {
	return func(_ *FormatContext, d Datum, to *T) (Datum, error) {
		n := 1
		if to.Typmod > 0 {
			n = int(to.Typmod)
		}
		b := make([]byte, (n+7)/8)
		for i := range n {
			shift := min(n-1-i, 63)
			if d.n>>shift&1 != 0 {
				b[i/8] |= 1 << (7 - i%8)
			}
		}
		return NewBits(string(b), n), nil
	}
}
