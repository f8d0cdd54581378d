package decimal

import (
	"github.com/cockroachdb/apd/v3"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
)

// gcdBits is by how many bits GCD shortens its numbers at a time.
const gcdBits = 1024

// GCD is the greatest common divisor of a and b. Numbers of many digits take long: it
// shortens them, as Lehmer does, by what follows from their first digits, and counts its steps.
func GCD(c *call.Context, a, b *apd.BigInt) (*apd.BigInt, error) {
	a, b = new(apd.BigInt).Abs(a), new(apd.BigInt).Abs(b)
	for b.BitLen() > 2*gcdBits {
		if err := c.Step(a.BitLen() / 4); err != nil {
			return nil, err
		}
		if a.Cmp(b) < 0 {
			a, b = b, a
		}
		before := b.BitLen()
		if a.BitLen() < before+gcdBits {
			shorten(a, b)
		}
		if b.Sign() != 0 && max(a.BitLen(), b.BitLen()) >= before {
			a, b = b, a.Rem(a, b)
		}
	}
	return new(apd.BigInt).GCD(nil, nil, a, b), nil
}

// shorten replaces a ≥ b by combinations of both that have the same divisors, whatever their first
// digits are, because the steps of Euclid that lead to them can be undone.
func shorten(a, b *apd.BigInt) {
	shift := uint(a.BitLen() - 2*gcdBits)
	x, y := new(apd.BigInt).Rsh(a, shift), new(apd.BigInt).Rsh(b, shift)
	// x = xa × a + xb × b, y = ya × a + yb × b, but for the digits that follow.
	xa, xb, ya, yb := apd.NewBigInt(1), new(apd.BigInt), new(apd.BigInt), apd.NewBigInt(1)
	for q, t := new(apd.BigInt), new(apd.BigInt); y.BitLen() > gcdBits; {
		q.QuoRem(x, y, x)
		x, y = y, x
		xa.Sub(xa, t.Mul(q, ya))
		xb.Sub(xb, t.Mul(q, yb))
		xa, xb, ya, yb = ya, yb, xa, xb
	}
	next := combine(a, b, ya, yb)
	a.Set(combine(a, b, xa, xb))
	b.Set(next)
}

// combine is the absolute value of a × fa + b × fb.
func combine(a, b, fa, fb *apd.BigInt) *apd.BigInt {
	sum := new(apd.BigInt).Mul(a, fa)
	sum.Add(sum, new(apd.BigInt).Mul(b, fb))
	return sum.Abs(sum)
}
