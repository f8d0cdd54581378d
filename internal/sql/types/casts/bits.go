package casts

import (
	"strings"

	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

func addBitCasts(add castAdder) {
	const i, e = types.CastImplicit, types.CastExplicit
	add(types.Bit, i, 'b', nil, types.Varbit)
	add(types.Varbit, i, 'b', nil, types.Bit)
	add(types.Bit, e, 'f', castBitsInt, types.Int4, types.Int8)
	add(types.Int4, e, 'f', castIntBits, types.Bit)
	add(types.Int8, e, 'f', castIntBits, types.Bit)
}

func castBitsInt(_ *types.FormatContext, d types.Datum, to *types.T) (types.Datum, error) {
	width := 64
	if to.Oid == types.Int4.Oid {
		width = 32
	}
	if int(d.Int()) > width {
		return types.Null, pgerr.New(pgerr.NumericValueOutOfRange, "%s out of range", strings.ToLower(to.SQLName))
	}
	var v uint64
	for i := range int(d.Int()) {
		v <<= 1
		if d.Bit(i) {
			v |= 1
		}
	}
	if width == 32 {
		return types.NewInt(int64(int32(v))), nil
	}
	return types.NewInt(int64(v)), nil
}

// castIntBits makes bit(n) of an integer: its low bits, sign-extended.
func castIntBits(_ *types.FormatContext, d types.Datum, to *types.T) (types.Datum, error) {
	n := max(int(to.Typmod), 1)
	const low = 64 // bits that may differ from the sign
	b := make([]byte, (n+7)/8)
	if d.Int() < 0 && n > low {
		fill(b[:(n-low)/8], 0xff)
	}
	for i := max((n-low)/8*8, 0); i < n; i++ {
		if d.Int()>>min(n-1-i, low-1)&1 != 0 {
			b[i/8] |= 1 << (7 - i%8)
		}
	}
	return types.NewBits(string(b), n), nil
}

// fill sets all bytes of b, which may be many.
func fill(b []byte, to byte) {
	if len(b) == 0 {
		return
	}
	b[0] = to
	for n := 1; n < len(b); n *= 2 {
		copy(b[n:], b[:n])
	}
}
