package typeio

import (
	"github.com/lichendb/lichen/internal/sql/ascii"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// parseBits reads B101, X1F or bare binary digits.
func parseBits(s string, fc *types.FormatContext) (types.Datum, error) {
	if s != "" && s[0]|0x20 == 'x' {
		return ParseHexBits(s[1:], fc)
	}
	if s != "" && s[0]|0x20 == 'b' {
		s = s[1:]
	}
	return ParseBinaryBits(s, fc)
}

// ParseBinaryBits reads binary digits: the inside of B'...'.
func ParseBinaryBits(s string, fc *types.FormatContext) (types.Datum, error) {
	if len(s) > types.MaxBits {
		return types.Null, errBitsTooLong()
	}
	b, pace := make([]byte, (len(s)+7)/8), fc.Pace()
	for i := 0; i < len(s) && !pace.Stopped(i); i++ {
		switch s[i] {
		case '1':
			b[i/8] |= 1 << (7 - i%8)
		case '0':
		default:
			return types.Null, pgerr.New(pgerr.InvalidTextRepresentation, "\"%s\" is not a valid binary digit", firstRune(s[i:]))
		}
	}
	return types.NewBits(string(b), len(s)), nil
}

// ParseHexBits reads hexadecimal digits: the inside of X'...'.
func ParseHexBits(s string, fc *types.FormatContext) (types.Datum, error) {
	if len(s) > types.MaxBits/4 {
		return types.Null, errBitsTooLong()
	}
	b, pace := make([]byte, (len(s)+1)/2), fc.Pace()
	for i := 0; i < len(s) && !pace.Stopped(i); i++ {
		v, ok := ascii.HexDigit(s[i])
		if !ok {
			return types.Null, pgerr.New(pgerr.InvalidTextRepresentation, "\"%s\" is not a valid hexadecimal digit", firstRune(s[i:]))
		}
		b[i/2] |= v << (4 * (1 - i%2))
	}
	return types.NewBits(string(b), 4*len(s)), nil
}

func errBitsTooLong() error {
	return pgerr.New(pgerr.ProgramLimitExceeded, "bit string length exceeds the maximum allowed (%d)", types.MaxBits)
}

func firstRune(s string) string {
	for i := range s {
		if i > 0 {
			return s[:i]
		}
	}
	return s
}

func appendBits(dst []byte, d types.Datum, fc *types.FormatContext) []byte {
	pace := fc.Pace()
	for i := range int(d.Int()) {
		if pace.Stopped(i) {
			break
		}
		c := byte('0')
		if d.Bit(i) {
			c = '1'
		}
		dst = append(dst, c)
	}
	return dst
}

func (m *message) bits() (types.Datum, error) {
	n := m.int32()
	if n < 0 || n > types.MaxBits {
		return types.Null, errBinary("invalid length in external bit string")
	}
	b := m.take((int(n) + 7) / 8)
	if m.err != nil {
		return types.Null, m.err
	}
	return types.ResizeBits(types.NewBits(string(b), int(n)), int(n)), nil
}
