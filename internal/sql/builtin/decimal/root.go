package decimal

import (
	"math/bits"

	"github.com/cockroachdb/apd/v3"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Sqrt is the square root of d; 2201F if d is negative.
func Sqrt(d types.Datum) (types.Datum, error) {
	switch {
	case d.IsNaN() || d.InfSign() > 0:
		return d, nil
	case d.DecimalSign() < 0:
		return types.Null, pgerr.New(pgerr.InvalidArgumentForPowerFunction, "cannot take square root of a negative number")
	}
	weight, _ := leading(d)
	return SqrtToScale(d, clampScale(minSigDigits-((weight+1)*4/2-1), d))
}

// SqrtToScale is the square root of a finite d ≥ 0 at a scale.
func SqrtToScale(d types.Datum, scale int32) (types.Datum, error) {
	// The integer square root of the coefficient at twice the scale, with one
	// more digit to round by.
	n := SignedCoeff(d)
	up := 2*(int64(scale)+1) - int64(d.DecimalScale())
	if up >= 0 {
		n.Mul(n, Pow10Big(up))
	} else {
		n.Quo(n, Pow10Big(-up))
	}
	r, err := Of(integerSqrt(n), scale+1)
	if err != nil {
		return types.Null, err
	}
	return types.RoundDecimal(r, scale), nil
}

// integerSqrt is the square root of n, rounded down. It doubles the bits that are known of the
// root in each step of Newton's method, so that all steps take about as long as the last one.
func integerSqrt(n *apd.BigInt) *apd.BigInt {
	if n.Sign() == 0 {
		return n
	}
	half := (n.BitLen() - 1) / 2
	root, rest := apd.NewBigInt(1), new(apd.BigInt)
	for known, s := 0, bits.Len(uint(half))-1; s >= 0; s-- {
		next := half >> s
		rest.Rsh(n, uint(2*half-known-next+1))
		rest.Quo(rest, root)
		root.Add(root.Lsh(root, uint(next-known-1)), rest)
		known = next
	}
	if rest.Mul(root, root).Cmp(n) > 0 {
		root.Sub(root, apd.NewBigInt(1))
	}
	return root
}
