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
	add(types.Int4, e, 'f', castIntBits(32), types.Bit)
	add(types.Int8, e, 'f', castIntBits(64), types.Bit)
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
func castIntBits(width int) types.CastFunc {
	return func(_ *types.FormatContext, d types.Datum, to *types.T) (types.Datum, error) {
		n := 1
		if to.Typmod > 0 {
			n = int(to.Typmod)
		}
		b := make([]byte, (n+7)/8)
		for i := range n {
			shift := min(n-1-i, 63)
			if d.Int()>>shift&1 != 0 {
				b[i/8] |= 1 << (7 - i%8)
			}
		}
		return types.NewBits(string(b), n), nil
	}
}
