package types

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// errSyntax is 22P02 for a value of type t.
func errSyntax(t *T, s string) error {
	return pgerr.New(pgerr.InvalidTextRepresentation, "invalid input syntax for type %s: \"%s\"", t.SQLName, s)
}

func errValueRange(t *T, s string) error {
	return pgerr.New(pgerr.NumericValueOutOfRange, "value \"%s\" is out of range for type %s", s, t.SQLName)
}

// trimSpace cuts C's white space off both ends.
func trimSpace(s string) string {
	for s != "" && isSpace(s[0]) {
		s = s[1:]
	}
	for s != "" && isSpace(s[len(s)-1]) {
		s = s[:len(s)-1]
	}
	return s
}

// intBounds returns the range of an integer type.
func intBounds(t *T) (lo, hi int64) {
	switch t.Oid {
	case Int2.Oid:
		return math.MinInt16, math.MaxInt16
	case Int4.Oid:
		return math.MinInt32, math.MaxInt32
	case Int8.Oid, Money.Oid, Xid8.Oid, PgLSN.Oid:
		return math.MinInt64, math.MaxInt64
	case TID.Oid:
		return 0, 1<<48 - 1
	}
	return 0, math.MaxUint32 // oid and its kin
}

// safeIntDigits is how many digits cannot overflow an int64.
const safeIntDigits = 18

func parseInt(t *T, s string) (Datum, error) {
	u := trimSpace(s)
	neg := false
	if u != "" && (u[0] == '-' || u[0] == '+') {
		neg = u[0] == '-'
		u = u[1:]
	}
	if u == "" || !isDigit(u[0]) {
		return Null, errSyntax(t, s)
	}
	lo, hi := intBounds(t)
	var n int64 // kept negative: the range is larger on that side
	for i := 0; i < len(u); i++ {
		if !isDigit(u[i]) {
			return Null, errSyntax(t, s)
		}
		c := int64(u[i] - '0')
		if i >= safeIntDigits && n < (math.MinInt64+c)/10 {
			return Null, errValueRange(t, s)
		}
		if n = n*10 - c; n < lo {
			return Null, errValueRange(t, s)
		}
	}
	if neg {
		return NewInt(n), nil
	}
	if n < -hi {
		return Null, errValueRange(t, s)
	}
	return NewInt(-n), nil
}

// parseOid reads an oid as strtoul does: a minus sign wraps, and values of
// the signed 32-bit range are taken too.
func parseOid(t *T, s string) (Datum, error) {
	u := trimSpace(s)
	neg := false
	if u != "" && (u[0] == '-' || u[0] == '+') {
		neg = u[0] == '-'
		u = u[1:]
	}
	n, err := strconv.ParseUint(strings.ReplaceAll(u, "_", "?"), 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return Null, errValueRange(t, s)
	case err != nil:
		return Null, errSyntax(t, s)
	case n > math.MaxUint32 || neg && n > 1<<31:
		return Null, errValueRange(t, s)
	}
	if neg {
		n = -n
	}
	return NewInt(int64(uint32(n))), nil
}

func parseFloat(t *T, s string) (Datum, error) {
	bits := 64
	if t.Oid == Float4.Oid {
		bits = 32
	}
	u := trimSpace(s)
	f, err := parseFloatBits(u, bits)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return Null, pgerr.New(pgerr.NumericValueOutOfRange, "\"%s\" is out of range for type %s", u, t.SQLName)
	case err != nil:
		return Null, errSyntax(t, s)
	case f == 0 && hasNonZeroDigit(u):
		return Null, pgerr.New(pgerr.NumericValueOutOfRange, "\"%s\" is out of range for type %s", u, t.SQLName)
	}
	return NewFloat(f), nil
}

// parseFloatBits is strtod on a whole string.
func parseFloatBits(u string, bits int) (float64, error) {
	v := u
	if v != "" && (v[0] == '-' || v[0] == '+') {
		v = v[1:]
	}
	if strings.EqualFold(v, "nan") {
		return math.NaN(), nil
	}
	if strings.IndexByte(v, '_') >= 0 {
		return 0, strconv.ErrSyntax
	}
	if len(v) > 2 && v[0] == '0' && v[1]|0x20 == 'x' && !strings.ContainsAny(v, "pP") {
		u += "p0"
	}
	return strconv.ParseFloat(u, bits)
}

func parseFloatLoose(s string) (float64, bool) {
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil
}

// hasNonZeroDigit reports whether a number that reads as zero was not written
// as zero, that is, underflowed.
func hasNonZeroDigit(s string) bool {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c|0x20 == 'e' || c|0x20 == 'p':
			return false
		case c >= '1' && c <= '9':
			return true
		}
	}
	return false
}

// appendFloat prints a float4 or float8.
func appendFloat(dst []byte, f float64, single bool, extraDigits int) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "NaN"...)
	case math.IsInf(f, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(f, -1):
		return append(dst, "-Infinity"...)
	}
	if extraDigits <= 0 {
		prec := 15
		if single {
			prec = 6
		}
		return appendGeneral(dst, f, max(prec+extraDigits, 1))
	}
	return appendShortest(dst, f, single)
}

// appendGeneral is C's %.*g.
func appendGeneral(dst []byte, f float64, prec int) []byte {
	return strconv.AppendFloat(dst, f, 'g', prec, 64)
}

// appendShortest prints the fewest digits that read back as f; exponents are
// used below 1e-4 and from the type's exact decimal digits on.
func appendShortest(dst []byte, f float64, single bool) []byte {
	bits, low, limit := 64, 1e-4, 1e15
	if single {
		bits, low, limit = 32, float64(float32(1e-4)), 1e6
	}
	if a := math.Abs(f); a != 0 && (a < low || a >= limit) {
		if start := len(dst); single {
			dst = strconv.AppendFloat(dst, f, 'e', -1, bits)
			for digits := 1; onEdge(dst[start:], f); digits++ {
				dst = strconv.AppendFloat(dst[:start], f, 'e', digits, bits)
			}
			return dst
		}
		return strconv.AppendFloat(dst, f, 'e', -1, bits)
	}
	return strconv.AppendFloat(dst, f, 'f', -1, bits)
}

// onEdge reports whether text is the number halfway between the float4 f and a
// neighbour, or beyond. What is halfway reads back as an even f; but PostgreSQL
// prints more digits then.
func onEdge(text []byte, f float64) bool {
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil || v == f {
		return false
	}
	toward := float32(math.Copysign(math.Inf(1), v-f))
	next := float64(math.Nextafter32(float32(f), toward))
	return math.Abs(v-f) >= math.Abs(next-f)/2
}
