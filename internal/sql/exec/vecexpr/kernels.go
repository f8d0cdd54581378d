package vecexpr

import (
	"math"
	"math/bits"

	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/vector"
)

// ordered are the types whose operators < and = order as their SQL types do.
type ordered interface{ ~int64 | ~string }

// compareConst appends to out the positions of sel at which a holds op against c.
func compareConst[T ordered](op expr.Comparison, a []T, c T, sel, out vector.Selection) vector.Selection {
	n := len(out)
	out = out[:n+len(sel)]
	switch op {
	case expr.EQ:
		for _, i := range sel {
			out[n] = i
			n += one(a[i] == c)
		}
	case expr.NE:
		for _, i := range sel {
			out[n] = i
			n += one(a[i] != c)
		}
	case expr.LT:
		for _, i := range sel {
			out[n] = i
			n += one(a[i] < c)
		}
	case expr.LE:
		for _, i := range sel {
			out[n] = i
			n += one(a[i] <= c)
		}
	case expr.GT:
		for _, i := range sel {
			out[n] = i
			n += one(a[i] > c)
		}
	case expr.GE:
		for _, i := range sel {
			out[n] = i
			n += one(a[i] >= c)
		}
	}
	return out[:n]
}

// compare appends to out the positions of sel at which a holds op against b.
func compare[T ordered](op expr.Comparison, a, b []T, sel, out vector.Selection) vector.Selection {
	n := len(out)
	out = out[:n+len(sel)]
	switch op {
	case expr.EQ:
		for _, i := range sel {
			out[n] = i
			n += one(a[i] == b[i])
		}
	case expr.NE:
		for _, i := range sel {
			out[n] = i
			n += one(a[i] != b[i])
		}
	case expr.LT:
		for _, i := range sel {
			out[n] = i
			n += one(a[i] < b[i])
		}
	case expr.LE:
		for _, i := range sel {
			out[n] = i
			n += one(a[i] <= b[i])
		}
	case expr.GT:
		for _, i := range sel {
			out[n] = i
			n += one(a[i] > b[i])
		}
	case expr.GE:
		for _, i := range sel {
			out[n] = i
			n += one(a[i] >= b[i])
		}
	}
	return out[:n]
}

// one is 1 for true: loops add it, so that they do not branch.
func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

// These compute an operator, and report whether there is a result and it fits 64 bits.
func add64(a, b int64) (int64, bool) {
	v := a + b
	return v, (v > a) == (b > 0)
}

func sub64(a, b int64) (int64, bool) {
	v := a - b
	return v, (v < a) == (b > 0)
}

func mul64(a, b int64) (int64, bool) {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	// The signed product's high half.
	h := int64(hi) - a>>63&b - b>>63&a
	return int64(lo), h == int64(lo)>>63
}

func div64(a, b int64) (int64, bool) {
	if b == 0 || b == -1 && a == math.MinInt64 {
		return 0, false
	}
	return a / b, true
}

func mod64(a, b int64) (int64, bool) {
	if b == 0 {
		return 0, false
	}
	return a % b, true
}

// limits are the least and the largest integer of a type.
type limits struct{ lo, hi int64 }

// has reports whether v, if it fits 64 bits, is within the limits.
func (l limits) has(v int64, fits bool) bool { return fits && v >= l.lo && v <= l.hi }

// intKernel computes an integer operator for the rows of sel, up to the first whose result does not
// fit; it returns how many it has computed. A nil b stands for c in every row.
func intKernel(op arithmetic, l limits, out, a, b []int64, c int64, sel vector.Selection) int {
	switch op {
	case plus:
		for n, i := range sel {
			if b != nil {
				c = b[i]
			}
			v, fits := add64(a[i], c)
			if out[i] = v; !l.has(v, fits) {
				return n
			}
		}
	case minus:
		for n, i := range sel {
			if b != nil {
				c = b[i]
			}
			v, fits := sub64(a[i], c)
			if out[i] = v; !l.has(v, fits) {
				return n
			}
		}
	case times:
		for n, i := range sel {
			if b != nil {
				c = b[i]
			}
			v, fits := mul64(a[i], c)
			if out[i] = v; !l.has(v, fits) {
				return n
			}
		}
	case over:
		return intRows(div64, l, out, a, b, c, sel)
	case modulo:
		return intRows(mod64, l, out, a, b, c, sel)
	}
	return len(sel)
}

// intRows is intKernel for operators that take longer than a call.
func intRows(op func(a, b int64) (int64, bool), l limits, out, a, b []int64, c int64, sel vector.Selection) int {
	for n, i := range sel {
		if b != nil {
			c = b[i]
		}
		v, fits := op(a[i], c)
		if out[i] = v; !l.has(v, fits) {
			return n
		}
	}
	return len(sel)
}
