package stringfuncs

import (
	"math/bits"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/builtin/comparefuncs"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

func bitStringOperators() []*call.Overload {
	logic := func(name string, f func(x, y byte) byte) call.EvalFunc {
		return func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			x, n := a[0].Bits()
			y, m := a[1].Bits()
			if n != m {
				return types.Null, pgerr.New("22026", "cannot %s bit strings of different sizes", name)
			}
			b := []byte(x)
			for i := range b {
				b[i] = f(b[i], y[i])
			}
			return types.NewBits(string(b), n), nil
		}
	}
	shift := func(sign int64) call.EvalFunc {
		return func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			return shiftBits(a[0], int(sign*a[1].Int())), nil
		}
	}
	all := append(comparefuncs.SixOperators("bit", "bit", comparefuncs.CompareDatums), comparefuncs.SixOperators("varbit", "varbit", comparefuncs.CompareDatums)...)
	return append(all,
		call.Op("bit & bit bit", logic("AND", func(x, y byte) byte { return x & y })),
		call.Op("bit | bit bit", logic("OR", func(x, y byte) byte { return x | y })),
		call.Op("bit # bit bit", logic("XOR", func(x, y byte) byte { return x ^ y })),
		call.Op("~ bit bit", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			s, n := a[0].Bits()
			b := []byte(s)
			for i := range b {
				b[i] = ^b[i]
			}
			return types.ResizeBits(types.NewBits(string(b), n), n), nil
		}),
		call.Op("bit << int4 bit", shift(1)), call.Op("bit >> int4 bit", shift(-1)),
		call.Op("varbit || varbit varbit", func(_ *call.Context, a []types.Datum) (types.Datum, error) { return catBits(a[0], a[1]) }))
}

// shiftBits moves bits to the left, or for a negative n to the right.
func shiftBits(d types.Datum, n int) types.Datum {
	s, size := d.Bits()
	b := make([]byte, len(s))
	from, shift := n>>3, n&7
	for i := max(0, -from-1); i < len(b) && from+i < len(s); i++ {
		if from+i >= 0 {
			b[i] = s[from+i] << shift
		}
		if from+i+1 < len(s) {
			b[i] |= s[from+i+1] >> (8 - shift)
		}
	}
	return types.ResizeBits(types.NewBits(string(b), size), size)
}

func catBits(x, y types.Datum) (types.Datum, error) {
	s, n := x.Bits()
	tail, m := y.Bits()
	if n+m > types.MaxBits {
		return types.Null, pgerr.New(pgerr.ProgramLimitExceeded, "bit string length exceeds the maximum allowed (%d)", types.MaxBits)
	}
	b := make([]byte, (n+m+7)/8)
	copy(b, s)
	shift := n % 8
	for i := range len(tail) {
		b[n/8+i] |= tail[i] >> shift
		if low := tail[i] << (8 - shift); low != 0 {
			b[n/8+i+1] = low
		}
	}
	return types.NewBits(string(b), n+m), nil
}

func bitStringFunctions() []*call.Overload {
	length := func(_ *call.Context, a []types.Datum) (types.Datum, error) {
		_, n := a[0].Bits()
		return types.NewInt(int64(n)), nil
	}
	return []*call.Overload{
		call.Fn("length(bit) int4", length), call.Fn("bit_length(bit) int4", length),
		call.Fn("octet_length(bit) int4", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			_, n := a[0].Bits()
			return types.NewInt(int64(n+7) / 8), nil
		}),
		call.Fn("bit_count(bit) int8", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			s, _ := a[0].Bits()
			n := 0
			for i := 0; i < len(s); i++ {
				n += bits.OnesCount8(s[i])
			}
			return types.NewInt(int64(n)), nil
		}),
		call.Fn("get_bit(bit,int4) int4", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			if err := bitIndex(a[0], a[1].Int()); err != nil {
				return types.Null, err
			}
			return types.NewInt(comparefuncs.BoolInt(a[0].Bit(int(a[1].Int())))), nil
		}),
		call.Fn("set_bit(bit,int4,int4) bit", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			i, v := a[1].Int(), a[2].Int()
			if err := bitIndex(a[0], i); err != nil {
				return types.Null, err
			}
			if v != 0 && v != 1 {
				return types.Null, pgerr.New(pgerr.InvalidParameterValue, "new bit must be 0 or 1")
			}
			s, n := a[0].Bits()
			b := []byte(s)
			b[i/8] &^= 1 << (7 - i%8)
			b[i/8] |= byte(v) << (7 - i%8)
			return types.NewBits(string(b), n), nil
		}),
		call.Fn("substring(bit,int4) bit", func(_ *call.Context, a []types.Datum) (types.Datum, error) { return subBits(a[0], a[1].Int(), -1) }),
		call.Fn("substring(bit,int4,int4) bit", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			if a[2].Int() < 0 {
				return types.Null, pgerr.New(pgerr.SubstringError, "negative substring length not allowed")
			}
			return subBits(a[0], a[1].Int(), a[2].Int())
		}),
		call.Fn("overlay(bit,bit,int4) bit", overlayBits), call.Fn("overlay(bit,bit,int4,int4) bit", overlayBits),
		call.Fn("position(bit,bit) int4", func(c *call.Context, a []types.Datum) (types.Datum, error) { return findBits(c, a[0], a[1]) }),
	}
}

func bitIndex(d types.Datum, i int64) error {
	_, n := d.Bits()
	if i < 0 || i >= int64(n) {
		return pgerr.New(pgerr.ArraySubscriptError, "bit index %d out of valid range (0..%d)", i, n-1)
	}
	return nil
}

// subBits cuts length bits from position from, which counts from 1; a negative
// length means all that follow.
func subBits(d types.Datum, from, length int64) (types.Datum, error) {
	_, n := d.Bits()
	end := int64(n) + 1
	if length >= 0 {
		end = min(from+length, end)
	}
	from = max(from, 1)
	if end <= from {
		return types.NewBits("", 0), nil
	}
	return types.ResizeBits(shiftBits(d, int(from-1)), int(end-from)), nil
}

func overlayBits(_ *call.Context, a []types.Datum) (types.Datum, error) {
	_, n := a[1].Bits()
	from, length := a[2].Int(), int64(n)
	if len(a) == 4 {
		length = a[3].Int()
	}
	if from <= 0 {
		return types.Null, pgerr.New(pgerr.SubstringError, "negative substring length not allowed")
	}
	head, err := subBits(a[0], 1, from-1)
	if err != nil {
		return types.Null, err
	}
	tail, err := subBits(a[0], from+length, -1)
	if err != nil {
		return types.Null, err
	}
	out, err := catBits(head, a[1])
	if err != nil {
		return types.Null, err
	}
	return catBits(out, tail)
}

// findBits returns where a bit string contains another, from 1, 0 for nowhere.
func findBits(c *call.Context, d, part types.Datum) (types.Datum, error) {
	_, n := d.Bits()
	_, m := part.Bits()
	if n == 0 || m > n {
		return types.NewInt(0), nil
	}
next:
	for i := 0; i+m <= n; i++ {
		for j := range m {
			if err := c.Step(1); err != nil {
				return types.Null, err
			}
			if d.Bit(i+j) != part.Bit(j) {
				continue next
			}
		}
		return types.NewInt(int64(i + 1)), nil
	}
	return types.NewInt(0), nil
}
