package decimal

import (
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cockroachdb/apd/v3"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/types"
)

// randomBig is a number of up to n bits, with runs of equal bits in it.
func randomBig(r *rand.Rand, n int) *big.Int {
	x := new(big.Int)
	for have := 0; have < n; {
		run := 1 + r.IntN(100)
		x.Lsh(x, uint(run))
		switch r.IntN(3) {
		case 0:
			x.Add(x, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), uint(run)), big.NewInt(1)))
		case 1:
			x.Add(x, new(big.Int).SetUint64(r.Uint64()>>(64-min(run, 64))))
		}
		have += run
	}
	return x
}

// TestLongGCD compares with math/big, over numbers with and without common divisors.
func TestLongGCD(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		a, b, common := randomBig(r, r.IntN(12000)), randomBig(r, r.IntN(12000)), randomBig(r, r.IntN(6000))
		a.Mul(a, common)
		b.Mul(b, common)
		if r.IntN(2) == 0 {
			a.Neg(a)
		}
		want := new(big.Int).GCD(nil, nil, new(big.Int).Abs(a), new(big.Int).Abs(b))
		got, err := GCD(&call.Context{}, new(apd.BigInt).SetMathBigInt(a), new(apd.BigInt).SetMathBigInt(b))
		if err != nil || got.MathBigInt().Cmp(want) != 0 {
			t.Fatalf("gcd(%v, %v) = %v, %v, want %v", a, b, got, err, want)
		}
	}
}

// TestIntegerSqrt: the root squared is at most n, and that of the next number is more.
func TestIntegerSqrt(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for i := range 3000 {
		n := randomBig(r, r.IntN(3000))
		switch {
		case i < 1000:
			n.SetInt64(int64(i))
		case i%2 == 0: // a square, and the numbers beside it
			n.Add(n.Mul(n, n), big.NewInt(int64(r.IntN(3)-1)))
		}
		if n.Sign() < 0 {
			continue
		}
		want := new(big.Int).Sqrt(n)
		if got := integerSqrt(new(apd.BigInt).SetMathBigInt(n)); got.MathBigInt().Cmp(want) != 0 {
			t.Fatalf("sqrt(%v) = %v, want %v", n, got, want)
		}
	}
}

// TestLogarithms compares with the decimal library, whose own are exact to the last of the digits
// asked for.
func TestLogarithms(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	const scale = 60
	for range 300 {
		text := randomBig(r, 1+r.IntN(300)).String()
		switch r.IntN(3) {
		case 0:
			text = "0." + strings.Repeat("0", r.IntN(30)) + text
		case 1:
			text = "1." + strings.Repeat("0", r.IntN(40)) + text
		}
		x, _, err := apd.NewFromString(text)
		if err != nil {
			t.Fatal(err)
		}
		if x.IsZero() {
			continue
		}
		var want apd.Decimal
		if _, err := apd.BaseContext.WithPrecision(scale+40).Ln(&want, x); err != nil {
			t.Fatal(err)
		}
		got, err := lnFixed(types.NewDecimal(x), scale).decimal(scale)
		if err != nil {
			t.Fatal(err)
		}
		var have, diff apd.Decimal
		got.Decimal(&have)
		if _, err := apd.BaseContext.WithPrecision(scale+80).Sub(&diff, &have, &want); err != nil {
			t.Fatal(err)
		}
		if most := apd.New(1, -scale); diff.Abs(&diff).Cmp(most) > 0 {
			t.Fatalf("ln(%s) = %v, want %v", text, &have, &want)
		}
	}
}
