package types

import (
	"strconv"
	"strings"

	"github.com/cockroachdb/apd/v3"
	"github.com/lichendb/lichen/internal/sql/ascii"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// maxExponentInput is the largest exponent read before a value counts as
// overflowing whatever its digits.
const maxExponentInput = 1 << 30

// AppendDecimal appends the text form of a numeric.
func AppendDecimal(dst []byte, d Datum) []byte {
	switch d.k {
	case decNaN:
		return append(dst, "NaN"...)
	case decPosInf:
		return append(dst, "Infinity"...)
	case decNegInf:
		return append(dst, "-Infinity"...)
	}
	start := len(dst)
	if d.k == decSmall {
		if d.n < 0 {
			dst = append(dst, '-')
			start++
		}
		dst = strconv.AppendUint(dst, AbsUint64(d.n), 10)
	} else {
		var x apd.BigInt
		x.SetBytes([]byte(d.s))
		if d.h == 1 {
			dst = append(dst, '-')
			start++
		}
		dst = x.Append(dst, 10)
	}
	return insertPoint(dst, start, int(d.m))
}

// insertPoint puts a decimal point before the last scale digits of dst[start:].
func insertPoint(dst []byte, start, scale int) []byte {
	if scale == 0 {
		return dst
	}
	n := len(dst) - start
	pad := max(scale+1-n, 0) // leading zeros needed
	for range pad + 1 {
		dst = append(dst, '0')
	}
	point := len(dst) - 1 - scale
	if pad > 0 {
		copy(dst[start+pad:], dst[start:start+n])
		for i := range pad {
			dst[start+i] = '0'
		}
	}
	copy(dst[point+1:], dst[point:len(dst)-1])
	dst[point] = '.'
	return dst
}

func errDecimalSyntax(s string) error {
	return InvalidText(Numeric, s)
}

// ParseDecimal reads the text form of a numeric.
func ParseDecimal(s string) (Datum, error) {
	t := ascii.TrimSpace(s)
	if d, ok := parseSmallDecimal(t); ok {
		return d, nil
	}
	neg, rest := false, t
	if rest != "" && (rest[0] == '+' || rest[0] == '-') {
		neg = rest[0] == '-'
		rest = rest[1:]
	}
	if rest == "" || !ascii.IsDigit(rest[0]) && rest[0] != '.' {
		return parseSpecialDecimal(s, t)
	}
	return parseLongDecimal(s, rest, neg)
}

// parseSmallDecimal is the fast path: at most 18 digits, no exponent.
func parseSmallDecimal(t string) (Datum, bool) {
	i, neg := 0, false
	if t != "" && (t[0] == '-' || t[0] == '+') {
		neg = t[0] == '-'
		i++
	}
	var n int64
	digits, scale, point := 0, int32(0), false
	for ; i < len(t); i++ {
		switch c := t[i]; {
		case ascii.IsDigit(c):
			n = n*10 + int64(c-'0')
			digits++
			if point {
				scale++
			}
		case c == '.' && !point:
			point = true
		default:
			return Null, false
		}
		if digits > 18 {
			return Null, false
		}
	}
	if digits == 0 {
		return Null, false
	}
	if neg {
		n = -n
	}
	return NewDecimalInt(n, scale), true
}

func parseSpecialDecimal(s, t string) (Datum, error) {
	sign, u := byte('+'), t
	if u != "" && (u[0] == '+' || u[0] == '-') {
		sign, u = u[0], u[1:]
	}
	switch {
	case strings.EqualFold(t, "nan"):
		return DecimalNaN, nil
	case strings.EqualFold(u, "inf"), strings.EqualFold(u, "infinity"):
		if sign == '-' {
			return DecimalNegInf, nil
		}
		return DecimalInf, nil
	}
	return Null, errDecimalSyntax(s)
}

func parseLongDecimal(s, t string, neg bool) (Datum, error) {
	digits := make([]byte, 0, len(t))
	i, scale := 0, 0
	for i < len(t) && ascii.IsDigit(t[i]) {
		digits = append(digits, t[i])
		i++
	}
	if i < len(t) && t[i] == '.' {
		for i++; i < len(t) && ascii.IsDigit(t[i]); i++ {
			digits = append(digits, t[i])
			scale++
		}
	}
	if len(digits) == 0 {
		return Null, errDecimalSyntax(s)
	}
	exp, ok := 0, true
	if i < len(t) && t[i]|0x20 == 'e' {
		if exp, ok = parseExponent(t[i+1:]); !ok {
			return Null, errDecimalSyntax(s)
		}
	} else if i < len(t) {
		return Null, errDecimalSyntax(s)
	}
	return makeDecimal(digits, scale-exp, neg, exp)
}

// parseExponent reads the rest of a numeric after the e, clamped. White space
// may come first.
func parseExponent(t string) (int, bool) {
	neg := false
	t = ascii.TrimSpace(t)
	if t != "" && (t[0] == '-' || t[0] == '+') {
		neg = t[0] == '-'
		t = t[1:]
	}
	if t == "" {
		return 0, false
	}
	n := 0
	for i := 0; i < len(t); i++ {
		if !ascii.IsDigit(t[i]) {
			return 0, false
		}
		n = min(n*10+int(t[i]-'0'), maxExponentInput)
	}
	if neg {
		n = -n
	}
	return n, true
}

// makeDecimal returns digits × 10^-scale.
func makeDecimal(digits []byte, scale int, neg bool, exp int) (Datum, error) {
	text := strings.TrimLeft(string(digits), "0")
	if exp >= maxExponentInput || -exp >= maxExponentInput || scale > MaxDecimalScale ||
		text != "" && len(text)-scale > MaxDecimalDigits {
		return Null, NumericOverflow()
	}
	if text == "" {
		return NewDecimalInt(0, int32(max(scale, 0))), nil
	}
	var c apd.BigInt
	if _, ok := c.SetString(text, 10); !ok {
		return Null, pgerr.New(pgerr.DataCorrupted, "malformed digits of a numeric")
	}
	if scale < 0 {
		c.Mul(&c, Pow10Big(-scale))
		scale = 0
	}
	return NewDecimalBig(&c, neg, int32(scale)), nil
}
