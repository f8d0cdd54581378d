package netfuncs

import (
	"math/big"
	"strconv"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/builtin/comparefuncs"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

func inetBool(f func(a, b types.Datum) bool) call.EvalFunc {
	return func(_ *call.Context, a []types.Datum) (types.Datum, error) { return types.NewBool(f(a[0], a[1])), nil }
}

func networkOperators() []*call.Overload {
	all := comparefuncs.SixOperators("inet", "inet", comparefuncs.CompareDatums)
	all = append(all, comparefuncs.SixOperators("macaddr", "macaddr", comparefuncs.CompareDatums)...)
	all = append(all, comparefuncs.SixOperators("macaddr8", "macaddr8", comparefuncs.CompareDatums)...)
	all = append(all,
		call.Op("inet << inet bool", inetBool(func(a, b types.Datum) bool { return types.InetContains(b, a, true) })),
		call.Op("inet <<= inet bool", inetBool(func(a, b types.Datum) bool { return types.InetContains(b, a, false) })),
		call.Op("inet >> inet bool", inetBool(func(a, b types.Datum) bool { return types.InetContains(a, b, true) })),
		call.Op("inet >>= inet bool", inetBool(func(a, b types.Datum) bool { return types.InetContains(a, b, false) })),
		call.Op("inet && inet bool", inetBool(func(a, b types.Datum) bool {
			return types.InetContains(a, b, false) || types.InetContains(b, a, false)
		})),
		call.Op("~ inet inet", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			return bytewise(a[0], a[0], func(x, _ byte) byte { return ^x })
		}),
		call.Op("inet & inet inet", inetBits(func(x, y byte) byte { return x & y }, "AND")),
		call.Op("inet | inet inet", inetBits(func(x, y byte) byte { return x | y }, "OR")),
		call.Op("inet + int8 inet", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			return inetAdd(a[0], big.NewInt(a[1].Int()))
		}),
		call.Op("int8 + inet inet", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			return inetAdd(a[1], big.NewInt(a[0].Int()))
		}),
		call.Op("inet - int8 inet", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			return inetAdd(a[0], big.NewInt(-a[1].Int())) // the least integer stays what it is
		}),
		call.Op("inet - inet int8", inetMinus))
	for _, t := range []string{"macaddr", "macaddr8"} {
		bits := func(f func(x, y byte) byte) call.EvalFunc {
			return func(_ *call.Context, a []types.Datum) (types.Datum, error) {
				b := []byte(a[0].Str())
				other := a[len(a)-1].Str()
				for i := range b {
					b[i] = f(b[i], other[i])
				}
				return types.NewMAC(string(b)), nil
			}
		}
		all = append(all, call.Op("~ "+t+" "+t, bits(func(x, _ byte) byte { return ^x })),
			call.Op(t+" & "+t+" "+t, bits(func(x, y byte) byte { return x & y })),
			call.Op(t+" | "+t+" "+t, bits(func(x, y byte) byte { return x | y })))
	}
	return all
}

func bytewise(a, b types.Datum, f func(x, y byte) byte) (types.Datum, error) {
	x, n := a.Inet()
	y, m := b.Inet()
	out := []byte(x)
	for i := range out {
		out[i] = f(out[i], y[i])
	}
	return types.NewInet(out, max(n, m)), nil
}

func inetBits(f func(x, y byte) byte, name string) call.EvalFunc {
	return func(_ *call.Context, a []types.Datum) (types.Datum, error) {
		if len(a[0].Str()) != len(a[1].Str()) {
			return types.Null, pgerr.New(pgerr.InvalidParameterValue, "cannot %s inet values of different sizes", name)
		}
		return bytewise(a[0], a[1], f)
	}
}

func inetAdd(d types.Datum, n *big.Int) (types.Datum, error) {
	addr, bits := d.Inet()
	sum := new(big.Int).Add(new(big.Int).SetBytes([]byte(addr)), n)
	if sum.Sign() < 0 || sum.BitLen() > 8*len(addr) {
		return types.Null, pgerr.New(pgerr.NumericValueOutOfRange, "result is out of range")
	}
	return types.NewInet(sum.FillBytes(make([]byte, len(addr))), bits), nil
}

func inetMinus(_ *call.Context, a []types.Datum) (types.Datum, error) {
	x, _ := a[0].Inet()
	y, _ := a[1].Inet()
	if len(x) != len(y) {
		return types.Null, pgerr.New(pgerr.InvalidParameterValue, "cannot subtract inet values of different sizes")
	}
	diff := new(big.Int).Sub(new(big.Int).SetBytes([]byte(x)), new(big.Int).SetBytes([]byte(y)))
	if !diff.IsInt64() {
		return types.Null, pgerr.New(pgerr.NumericValueOutOfRange, "result is out of range")
	}
	return types.NewInt(diff.Int64()), nil
}

// maskOf makes hostmask or netmask.
func maskOf(host bool) call.EvalFunc {
	return func(_ *call.Context, a []types.Datum) (types.Datum, error) {
		addr, bits := a[0].Inet()
		b := make([]byte, len(addr))
		for i := range 8 * len(b) {
			if (i < bits) != host {
				b[i/8] |= 1 << (7 - i%8)
			}
		}
		return types.NewInet(b, 8*len(b)), nil
	}
}

// setMaskLength makes set_masklen, which clears the bits beyond the mask of a cidr.
func setMaskLength(clear bool) call.EvalFunc {
	return func(_ *call.Context, a []types.Datum) (types.Datum, error) {
		addr, _ := a[0].Inet()
		n := a[1].Int()
		if n == -1 {
			n = int64(8 * len(addr))
		}
		if n < 0 || n > int64(8*len(addr)) {
			return types.Null, pgerr.New(pgerr.InvalidParameterValue, "invalid mask length: %d", a[1].Int())
		}
		d := types.NewInet([]byte(addr), int(n))
		if clear {
			d = types.NetworkOf(d)
		}
		return d, nil
	}
}

func networkFunctions() []*call.Overload {
	abbrev := func(t *types.T) call.EvalFunc {
		return func(_ *call.Context, a []types.Datum) (types.Datum, error) { return call.Text(abbreviate(t, a[0])) }
	}
	return []*call.Overload{
		call.Fn("abbrev(inet) text", abbrev(types.Inet)), call.Fn("abbrev(cidr) text", abbrev(types.CIDR)),
		call.Fn("broadcast(inet) inet", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			addr, bits := a[0].Inet()
			b := []byte(addr)
			for i := bits; i < 8*len(b); i++ {
				b[i/8] |= 1 << (7 - i%8)
			}
			return types.NewInet(b, bits), nil
		}),
		call.Fn("family(inet) int4", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			if len(a[0].Str()) == 5 {
				return types.NewInt(4), nil
			}
			return types.NewInt(6), nil
		}),
		call.Fn("host(inet) text", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			addr, _ := a[0].Inet()
			return call.Text(string(typeio.AppendHost(nil, addr)))
		}),
		call.Fn("hostmask(inet) inet", maskOf(true)), call.Fn("netmask(inet) inet", maskOf(false)),
		call.Fn("inet_merge(inet,inet) cidr", inetMerge),
		call.Fn("inet_same_family(inet,inet) bool", inetBool(func(a, b types.Datum) bool { return len(a.Str()) == len(b.Str()) })),
		call.Fn("masklen(inet) int4", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			_, bits := a[0].Inet()
			return types.NewInt(int64(bits)), nil
		}),
		call.Fn("network(inet) cidr", func(_ *call.Context, a []types.Datum) (types.Datum, error) { return types.NetworkOf(a[0]), nil }),
		call.Fn("set_masklen(inet,int4) inet", setMaskLength(false)), call.Fn("set_masklen(cidr,int4) cidr", setMaskLength(true)),
		call.Fn("text(inet) text", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			return call.Text(typeio.FormatDatum(types.CIDR, a[0], nil))
		}),
		call.Fn("trunc(macaddr) macaddr", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			return types.NewMAC(a[0].Str()[:3] + "\x00\x00\x00"), nil
		}),
		call.Fn("trunc(macaddr8) macaddr8", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			return types.NewMAC(a[0].Str()[:3] + "\x00\x00\x00\x00\x00"), nil
		}),
		call.Fn("macaddr8_set7bit(macaddr8) macaddr8", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			b := []byte(a[0].Str())
			b[0] |= 2
			return types.NewMAC(string(b)), nil
		}),
	}
}

// abbreviate prints an address in its short form: a network without the octets
// of zeros that its length implies.
func abbreviate(t *types.T, d types.Datum) string {
	addr, bits := d.Inet()
	if t == types.Inet || len(addr) == 16 {
		return typeio.FormatDatum(t, d, nil)
	}
	s := ""
	for i := range max((bits+7)/8, 1) {
		if i > 0 {
			s += "."
		}
		s += strconv.Itoa(int(addr[i]))
	}
	return s + "/" + strconv.Itoa(bits)
}

func inetMerge(_ *call.Context, a []types.Datum) (types.Datum, error) {
	x, n := a[0].Inet()
	y, m := a[1].Inet()
	if len(x) != len(y) {
		return types.Null, pgerr.New(pgerr.InvalidParameterValue, "cannot merge addresses from different families")
	}
	bits := min(n, m)
	for i := range bits {
		if (x[i/8]^y[i/8])>>(7-i%8)&1 != 0 {
			bits = i
			break
		}
	}
	return types.NetworkOf(types.NewInet([]byte(x), bits)), nil
}
