package builtin

import (
	"math"
	"math/bits"

	"github.com/cockroachdb/apd/v3"

	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

func numericFunctions() []*Overload {
	one := func(sig string, f func(d types.Datum) types.Datum) *Overload { return fn(sig, unaryNumeric(f)) }
	errs := func(sig string, f func(d types.Datum) (types.Datum, error)) *Overload {
		return fn(sig, func(_ *Context, a []types.Datum) (types.Datum, error) { return f(a[0]) })
	}
	return []*Overload{
		one("abs(numeric) numeric", absDecimal),
		fn("numeric_inc(numeric) numeric", func(_ *Context, a []types.Datum) (types.Datum, error) {
			return AddDecimal(a[0], types.NewDecimalInt(1, 0))
		}),
		fn("int8_sum(numeric,int8) numeric", func(_ *Context, a []types.Datum) (types.Datum, error) {
			switch {
			case a[1].IsNull():
				return a[0], nil
			case a[0].IsNull():
				return types.NewDecimalInt(a[1].Int(), 0), nil
			}
			return AddDecimal(a[0], types.NewDecimalInt(a[1].Int(), 0))
		}).nonStrict(),
		one("ceil(numeric) numeric", ceilDecimal), one("ceiling(numeric) numeric", ceilDecimal), one("floor(numeric) numeric", floorDecimal),
		one("round(numeric) numeric", func(d types.Datum) types.Datum { return types.RoundDecimal(d, 0) }),
		one("trunc(numeric) numeric", func(d types.Datum) types.Datum { return types.TruncDecimal(d, 0) }),
		fn("round(numeric,int4) numeric", toScale(types.RoundDecimal)), fn("trunc(numeric,int4) numeric", toScale(types.TruncDecimal)),
		one("sign(numeric) numeric", signDecimal),
		fn("mod(numeric,numeric) numeric", binaryNumeric(ModDecimal)), fn("div(numeric,numeric) numeric", binaryNumeric(TruncDivDecimal)),
		fn("power(numeric,numeric) numeric", binaryNumeric(powDecimal)), fn("pow(numeric,numeric) numeric", binaryNumeric(powDecimal)),
		errs("sqrt(numeric) numeric", sqrtDecimal), errs("exp(numeric) numeric", expDecimal), errs("ln(numeric) numeric", lnDecimal),
		errs("log(numeric) numeric", log10Decimal), errs("log10(numeric) numeric", log10Decimal),
		fn("log(numeric,numeric) numeric", binaryNumeric(logDecimal)),
		fn("gcd(numeric,numeric) numeric", gcdNumeric), fn("lcm(numeric,numeric) numeric", lcmNumeric),
		fn("factorial(int8) numeric", factorial),
		fn("scale(numeric) int4", func(_ *Context, a []types.Datum) (types.Datum, error) {
			if special(a[0]) {
				return types.Null, nil
			}
			return types.NewInt(int64(a[0].DecimalScale())), nil
		}),
		fn("min_scale(numeric) int4", func(_ *Context, a []types.Datum) (types.Datum, error) {
			if special(a[0]) {
				return types.Null, nil
			}
			return types.NewInt(int64(trimScale(a[0]).DecimalScale())), nil
		}),
		one("trim_scale(numeric) numeric", trimScale),
		fn("width_bucket(numeric,numeric,numeric,int4) int4", widthBucketNumeric),
	}
}

// toScale declares round or trunc to a scale, which reaches from before the first
// digit that a numeric can have to its last.
func toScale(f func(d types.Datum, scale int32) types.Datum) EvalFunc {
	return func(_ *Context, a []types.Datum) (types.Datum, error) {
		d := f(a[0], int32(min(max(a[1].Int(), -types.MaxDecimalDigits-1), types.MaxDecimalScale)))
		if special(d) || a[1].Int() >= 0 {
			return d, nil
		}
		var x apd.Decimal
		if tooLarge(d.Decimal(&x)) { // rounded up to one digit more
			return types.Null, fail(errNumericOverflow)
		}
		return d, nil
	}
}

func oneDecimal(n int64) types.Datum { return types.NewDecimalInt(n, 0) }

func floorDecimal(d types.Datum) types.Datum {
	t := types.TruncDecimal(d, 0)
	if !special(d) && d.DecimalSign() < 0 && types.Compare(t, d) != 0 {
		t, _ = SubDecimal(t, oneDecimal(1))
	}
	return t
}

func ceilDecimal(d types.Datum) types.Datum { return NegDecimal(floorDecimal(NegDecimal(d))) }

func signDecimal(d types.Datum) types.Datum {
	if d.IsNaN() {
		return d
	}
	return oneDecimal(int64(d.DecimalSign()))
}

// trimScale drops zeros at the end of the fraction.
func trimScale(d types.Datum) types.Datum {
	if special(d) || d.DecimalScale() == 0 {
		return d
	}
	n, scale := signedCoeff(d), d.DecimalScale()
	ten := apd.NewBigInt(10)
	var q, r apd.BigInt
	for scale > 0 {
		if q.QuoRem(n, ten, &r); r.Sign() != 0 {
			break
		}
		n.Set(&q)
		scale--
	}
	t, err := decimalOf(n, scale)
	if err != nil {
		return d
	}
	return t
}

// maxFactorial is the largest argument whose factorial numeric can hold.
const maxFactorial = 32177

func factorial(c *Context, a []types.Datum) (types.Datum, error) {
	n := a[0].Int()
	switch {
	case n < 0:
		return types.Null, pgerr.New(pgerr.NumericValueOutOfRange, "factorial of a negative number is undefined")
	case n > maxFactorial:
		return types.Null, fail(errNumericOverflow)
	case n < 2:
		return oneDecimal(1), nil
	}
	if err := c.Step(int(n)); err != nil {
		return types.Null, err
	}
	return decimalOf(new(apd.BigInt).MulRange(2, n), 0)
}

func widthBucketNumeric(_ *Context, a []types.Datum) (types.Datum, error) {
	x, lo, hi, n := a[0], a[1], a[2], a[3].Int()
	switch {
	case n <= 0:
		return types.Null, fail(errBucketCount)
	case x.IsNaN() || lo.IsNaN() || hi.IsNaN():
		return types.Null, pgerr.New("2201G", "operand, lower bound, and upper bound cannot be NaN")
	case lo.InfSign() != 0 || hi.InfSign() != 0:
		return types.Null, pgerr.New("2201G", "lower and upper bounds must be finite")
	}
	order := types.Compare(lo, hi)
	if order == 0 {
		return types.Null, pgerr.New("2201G", "lower bound cannot equal upper bound")
	}
	switch {
	case types.Compare(x, lo)*order > 0:
		return types.NewInt(0), nil
	case types.Compare(x, hi)*order <= 0:
		return intResult(4, n+1, nil)
	}
	// floor(n × (x - lo) / (hi - lo)) + 1, exactly.
	num, err := SubDecimal(x, lo)
	if err != nil {
		return types.Null, err
	}
	if num, err = MulDecimal(num, oneDecimal(n)); err != nil {
		return types.Null, err
	}
	span, err := SubDecimal(hi, lo)
	if err != nil {
		return types.Null, err
	}
	q, err := TruncDivDecimal(num, span)
	if err != nil {
		return types.Null, err
	}
	b, _ := types.DecimalToInt(q)
	return intResult(4, b+1, nil)
}

// inexact is the context of transcendental functions at a precision.
func inexact(precision int) *apd.Context {
	return &apd.Context{
		Precision: uint32(max(precision, 20)), Rounding: apd.RoundHalfUp,
		MaxExponent: apd.MaxExponent, MinExponent: apd.MinExponent,
	}
}

// guardDigits are computed beyond the result's, so that rounding is right but
// for cases next to impossible.
const guardDigits = 12

// rounded turns the result of a transcendental function into a numeric.
func rounded(x *apd.Decimal, scale int32, err error) (types.Datum, error) {
	if err != nil || x.Form != apd.Finite || int64(x.Exponent)+x.NumDigits() > types.MaxDecimalDigits {
		return types.Null, fail(errNumericOverflow)
	}
	return types.RoundDecimal(types.NewDecimal(x), scale), nil
}

func sqrtDecimal(d types.Datum) (types.Datum, error) {
	switch {
	case d.IsNaN() || d.InfSign() > 0:
		return d, nil
	case d.DecimalSign() < 0:
		return types.Null, pgerr.New(pgerr.InvalidArgumentForPowerFunction, "cannot take square root of a negative number")
	}
	weight, _ := leading(d)
	return sqrtToScale(d, clampScale(minSigDigits-((weight+1)*4/2-1), d))
}

// sqrtToScale is the square root of a finite d ≥ 0 at a scale.
func sqrtToScale(d types.Datum, scale int32) (types.Datum, error) {
	// The integer square root of the coefficient at twice the scale, with one
	// more digit to round by.
	n := signedCoeff(d)
	up := 2*(int64(scale)+1) - int64(d.DecimalScale())
	if up >= 0 {
		n.Mul(n, pow10Big(up))
	} else {
		n.Quo(n, pow10Big(-up))
	}
	r, err := decimalOf(integerSqrt(n), scale+1)
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

func expDecimal(d types.Datum) (types.Datum, error) {
	switch {
	case d.IsNaN() || d.InfSign() > 0:
		return d, nil
	case d.InfSign() < 0:
		return oneDecimal(0), nil
	}
	return expToScale(d, d)
}

// expToScale is e^d at the scale that d's size and the operands' scales ask for.
func expToScale(d types.Datum, operands ...types.Datum) (types.Datum, error) {
	val := types.DecimalToFloat(d)
	weight := min(max(val*math.Log10E, -maxResultScale), maxResultScale)
	scale := clampScale(minSigDigits-int(weight), operands...)
	switch {
	case val > 3*maxResultScale:
		return types.Null, fail(errNumericOverflow)
	case val < -3*maxResultScale:
		return types.NewDecimalInt(0, scale), nil
	}
	var x apd.Decimal
	d.Decimal(&x)
	return expFixed(&x, int(scale)+max(int(val*math.Log10E), 0)).decimal(scale)
}

// lnWeight estimates the decimal weight of ln(d) for d > 0, as PostgreSQL does
// to choose scales.
func lnWeight(d types.Datum) int {
	nearOne := types.Compare(d, types.NewDecimalInt(9, 1)) >= 0 && types.Compare(d, types.NewDecimalInt(11, 1)) <= 0
	if nearOne {
		x, err := SubDecimal(d, oneDecimal(1))
		if err != nil || x.DecimalSign() == 0 {
			return 0
		}
		weight, first := leading(x)
		return 4*weight + int(math.Log10(float64(first)))
	}
	digits, top := leadingDigits(d)
	exp := digits - min(digits, 8) - int(d.DecimalScale())
	ln := math.Log(float64(top)) + float64(exp)*math.Ln10
	return int(math.Log10(math.Abs(ln)))
}

func checkLog(d types.Datum) error {
	if d.IsNaN() {
		return nil
	}
	return logArgument(d.DecimalSign() == 0, d.DecimalSign() < 0)
}

func lnDecimal(d types.Datum) (types.Datum, error) {
	if err := checkLog(d); err != nil {
		return types.Null, err
	}
	if special(d) {
		return d, nil
	}
	scale := clampScale(minSigDigits-lnWeight(d), d)
	return lnFixed(d, int(scale)+guardDigits).decimal(scale)
}

func log10Decimal(d types.Datum) (types.Datum, error) { return logDecimal(oneDecimal(10), d) }

// logDecimal is the logarithm of x to a base.
func logDecimal(base, x types.Datum) (types.Datum, error) {
	if base.IsNaN() || x.IsNaN() {
		return types.DecimalNaN, nil
	}
	if special(base) || special(x) {
		if base.DecimalSign() < 0 || x.DecimalSign() < 0 {
			return types.Null, logArgument(false, true)
		}
	}
	for _, d := range []types.Datum{base, x} {
		if err := checkLog(d); err != nil {
			return types.Null, err
		}
	}
	switch {
	case base.InfSign() > 0 && x.InfSign() > 0:
		return types.DecimalNaN, nil
	case base.InfSign() > 0:
		return oneDecimal(0), nil
	case x.InfSign() > 0:
		return types.DecimalInf, nil
	}
	wb, wx := lnWeight(base), lnWeight(x)
	scale := clampScale(minSigDigits-(wx-wb), base, x)
	digits := int(scale) + wx - wb + guardDigits // significant ones
	lb := lnFixed(base, digits-wb)
	if lb.n.Sign() == 0 {
		return types.Null, fail(errDivisionByZero)
	}
	return lnFixed(x, digits-wx).quotient(lb, scale)
}
