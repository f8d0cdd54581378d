package rowcodec

import (
	"encoding/binary"

	"github.com/lichendb/lichen/internal/sql/hstore"
	"github.com/lichendb/lichen/internal/sql/types"
)

// appendComposed appends bytes that sort as the values of a type without a form
// of its own do; the caller delimits them. The value does not come back from
// them.
func appendComposed(dst []byte, t *types.T, d types.Datum) []byte {
	switch d.Family() {
	case types.InetFamily:
		return appendInet(dst, d)
	case types.HstoreFamily:
		return appendHstore(dst, d.Str())
	case types.BitFamily:
		b, n := d.Bits()
		return binary.BigEndian.AppendUint32(appendBytes(dst, b), uint32(n))
	case types.JSONFamily:
		return appendJSON(dst, d.JSONB(nil), true)
	case types.RangeFamily:
		return appendRange(dst, t.Sub, d.Range())
	case types.MultirangeFamily:
		start := len(dst)
		for _, r := range d.Multirange(nil) {
			if len(dst)-start > MaxKeySize {
				return dst
			}
			dst = appendRange(append(dst, 1), t.Sub.Sub, r)
		}
		return append(dst, 0)
	case types.RecordFamily:
		fields := types.RecordFields(t, d, nil)
		for _, f := range fields {
			if f.IsNull() {
				dst = append(dst, nullLastMark)
				continue
			}
			dst = appendOrdered(dst, f.Type, f.Datum)
		}
		return append(dst, elemsEnd)
	}
	return dst
}

// appendInet orders by family, network, prefix length and host: each bit of the
// network takes two bits, of which 00 ends it.
func appendInet(dst []byte, d types.Datum) []byte {
	addr, bits := d.Inet()
	dst = append(dst, byte(len(addr)))
	var acc, n byte
	put := func(v byte) {
		acc = acc<<2 | v
		if n++; n == 4 {
			dst = append(dst, acc)
			acc, n = 0, 0
		}
	}
	for i := range bits {
		put(1 + addr[i/8]>>(7-i%8)&1)
	}
	put(0)
	for n != 0 {
		put(0)
	}
	return append(dst, addr...)
}

// Marks of jsonb values; arrays and objects follow with their size.
const (
	jsonEmptyArray = 1 // at the top only, where it is below everything
	jsonKinds      = 2
)

func appendJSON(dst []byte, v types.JSONValue, top bool) []byte {
	if top && v.Kind == types.KindArray && v.Elems.Len() == 0 {
		return append(dst, jsonEmptyArray)
	}
	dst = append(dst, jsonKinds+byte(v.Kind))
	switch v.Kind {
	case types.KindString:
		return appendBytes(dst, v.Str)
	case types.KindNumber:
		return appendDecimal(dst, v.Num)
	case types.KindBool:
		if v.Bool {
			return append(dst, 1)
		}
		return append(dst, 0)
	case types.KindArray:
		dst = binary.BigEndian.AppendUint32(dst, uint32(v.Elems.Len()))
		for _, e := range v.Elems.All() {
			dst = appendJSON(dst, e, false)
		}
	case types.KindObject:
		dst = binary.BigEndian.AppendUint32(dst, uint32(len(v.Fields)))
		for _, f := range v.Fields {
			dst = appendJSON(appendBytes(dst, f.Key), f.Value, false)
		}
	}
	return dst
}

func appendRange(dst []byte, sub *types.T, r types.Range) []byte {
	if r.Empty {
		return append(dst, 0)
	}
	dst = append(dst, 1)
	if r.Lower.Inf {
		dst = append(dst, 0)
	} else {
		dst = append(appendOrdered(append(dst, 1), sub, r.Lower.D), bit(!r.Lower.Incl))
	}
	if r.Upper.Inf {
		return append(dst, 1)
	}
	return append(appendOrdered(append(dst, 0), sub, r.Upper.D), bit(r.Upper.Incl))
}

func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// appendHstore orders by the texts of all pairs together, then as hstore.Compare does.
func appendHstore(dst []byte, s string) []byte { return hstore.AppendSortKey(dst, s, appendBytes) }
