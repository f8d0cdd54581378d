package types

import (
	"math"
	"strconv"
)

// AppendFloat prints a float4 or float8.
func AppendFloat(dst []byte, f float64, single bool, extraDigits int) []byte {
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
