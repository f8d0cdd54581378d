package rowcodec

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// PrettyKey prints the columns of a key of the index, or of the beginning of one,
// as in /1/"abc": text, dates and the like in quotes, then the family. What is no
// value of the next column is printed as bytes; any bytes are accepted.
func (x *Index) PrettyKey(key []byte) string {
	rest, ok := bytes.CutPrefix(key, x.prefix)
	if !ok {
		return keys.Pretty(key)
	}
	var out strings.Builder
	if x.Desc.HashColumns > 0 && len(rest) >= bucketSize {
		out.WriteString("/" + strconv.Itoa(int(rest[0])<<8|int(rest[1])))
		rest = rest[bucketSize:]
	}
	r := keyReader{b: rest}
	n := len(x.Key)
	if x.unique {
		n = x.Declared
	}
	for i := 0; i < n && len(r.b) > 0; i++ {
		if r.null() {
			n = len(x.Key) // the suffix follows
			out.WriteString("/NULL")
			continue
		}
		before := r.b
		if r.mask = 0; x.Key[i].Desc {
			r.mask = 0xFF
		}
		text := r.pretty(x.Key[i].Type)
		if r.bad {
			r.b = before
			break
		}
		out.WriteString("/" + text)
	}
	if len(r.b) == 0 {
		return out.String()
	}
	if family, err := keys.DecodeFamily(r.b); err == nil && !r.bad {
		return out.String() + "/" + strconv.FormatUint(family, 10)
	}
	return out.String() + "/" + strconv.QuoteToASCII(string(r.b))
}

// pretty reads a value of type t and prints it.
func (r *keyReader) pretty(t *types.T) string {
	switch t.Family {
	case types.DecimalFamily:
		return r.prettyDecimal()
	case types.IntervalFamily:
		days, micros := r.int(), r.int()
		if r.bad || days != int64(int32(days)) {
			r.bad = true
			return ""
		}
		return quoteValue(types.Interval, types.NewInterval(types.IntervalValue{Days: int32(days), Micros: micros}))
	case types.ArrayFamily:
		return r.prettyArray(t)
	}
	var arena []byte
	d := r.datum(t, &arena)
	if r.bad {
		return ""
	}
	return quoteValue(t, d)
}

func quoteValue(t *types.T, d types.Datum) string {
	var fc types.FormatContext
	switch t.Family {
	case types.IntFamily, types.FloatFamily:
		return typeio.FormatDatum(t, d, &fc)
	case types.BoolFamily:
		return strconv.FormatBool(d.Bool())
	}
	return strconv.QuoteToASCII(typeio.FormatDatum(t, d, &fc))
}

// maxPlainExponent bounds the decimal exponents that are printed with zeros.
const maxPlainExponent = 40

func (r *keyReader) prettyDecimal() string {
	switch mark := r.byte(); mark {
	case decNegInfMark:
		return "-Infinity"
	case decInfMark:
		return "Infinity"
	case decNaNMark:
		return "NaN"
	case decZeroMark:
		return "0"
	case decPosMark:
		return r.prettyDigits()
	case decNegMark:
		r.mask = ^r.mask
		text := r.prettyDigits()
		r.mask = ^r.mask
		return "-" + text
	}
	r.bad = true
	return ""
}

// prettyDigits reads exponent and digits: 0.digits × 10^exponent.
func (r *keyReader) prettyDigits() string {
	exp := r.int()
	var digits []byte
	for !r.bad {
		c := r.byte()
		if c == 0 {
			break
		}
		if c > 100 {
			r.bad = true
		}
		digits = append(digits, '0'+(c-1)/10, '0'+(c-1)%10)
	}
	digits = bytes.TrimRight(digits, "0")
	n := int64(len(digits))
	switch {
	case r.bad || n == 0:
		r.bad = true
		return ""
	case exp < -maxPlainExponent || exp > n+maxPlainExponent:
		return "0." + string(digits) + "E" + strconv.FormatInt(exp, 10)
	case exp <= 0:
		return "0." + strings.Repeat("0", int(-exp)) + string(digits)
	case exp >= n:
		return string(digits) + strings.Repeat("0", int(exp-n))
	}
	return string(digits[:exp]) + "." + string(digits[exp:])
}

func (r *keyReader) prettyArray(t *types.T) string {
	if r.byte() != arrayMark || t.Elem == nil {
		r.bad = true
		return ""
	}
	var parts []string
	for !r.bad && len(r.b) > 0 {
		switch r.b[0] ^ r.mask {
		case elemsEnd:
			r.b = r.b[1:]
			for n := 2 * int(r.byte()); n > 0 && !r.bad; n-- {
				r.int()
			}
			return "{" + strings.Join(parts, ",") + "}"
		case nullLastMark:
			r.b = r.b[1:]
			parts = append(parts, "NULL")
		default:
			parts = append(parts, r.pretty(t.Elem))
		}
	}
	r.bad = true
	return ""
}
