package builtin

import (
	"strings"

	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/casts"
)

var errMoneyRange = pgerr.New(pgerr.NumericValueOutOfRange, "money out of range")

func moneyOperators() []*Overload {
	all := intComparisons("money", "money")
	exact := func(f func(a, b int64) (int64, error)) EvalFunc {
		return func(_ *Context, a []types.Datum) (types.Datum, error) { return moneyOf(f(a[0].Int(), a[1].Int())) }
	}
	all = append(all, op("money + money money", exact(AddInt8)), op("money - money money", exact(SubInt8)),
		op("money / money float8", func(_ *Context, a []types.Datum) (types.Datum, error) {
			if a[1].Int() == 0 {
				return types.Null, fail(errDivisionByZero)
			}
			return types.NewFloat(float64(a[0].Int()) / float64(a[1].Int())), nil
		}))
	for _, t := range []string{"int2", "int4", "int8"} {
		all = append(all, op("money * "+t+" money", exact(MulInt8)), op(t+" * money money", exact(MulInt8)), op("money / "+t+" money", exact(DivInt8)))
	}
	for _, t := range []string{"float4", "float8"} {
		all = append(all,
			op("money * "+t+" money", func(_ *Context, a []types.Datum) (types.Datum, error) {
				return casts.MoneyFromFloat(float64(a[0].Int()) * a[1].Float())
			}),
			op(t+" * money money", func(_ *Context, a []types.Datum) (types.Datum, error) {
				return casts.MoneyFromFloat(a[0].Float() * float64(a[1].Int()))
			}),
			op("money / "+t+" money", func(_ *Context, a []types.Datum) (types.Datum, error) {
				if a[1].Float() == 0 {
					return types.Null, fail(errDivisionByZero)
				}
				return casts.MoneyFromFloat(float64(a[0].Int()) / a[1].Float())
			}))
	}
	return all
}

// moneyOf is the result of a computation in cents.
func moneyOf(cents int64, err error) (types.Datum, error) {
	if pgerr.CodeOf(err) == pgerr.NumericValueOutOfRange {
		err = fail(errMoneyRange)
	}
	return types.NewInt(cents), err
}

func moneyFunctions() []*Overload {
	units := func(_ *Context, a []types.Datum) (types.Datum, error) {
		return casts.MoneyFromDecimal(types.NewDecimalInt(a[0].Int(), 0))
	}
	return []*Overload{
		fn("money(int4) money", units).stable(), fn("money(int8) money", units).stable(),
		fn("money(numeric) money", func(_ *Context, a []types.Datum) (types.Datum, error) {
			return casts.MoneyFromDecimal(a[0])
		}).stable(),
		fn("cash_words(money) text", func(_ *Context, a []types.Datum) (types.Datum, error) {
			return text(moneyWords(a[0].Int()))
		}),
	}
}

var (
	numberWords = strings.Fields("zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen " +
		"sixteen seventeen eighteen nineteen twenty")
	tensWords  = strings.Fields("zero ten twenty thirty forty fifty sixty seventy eighty ninety")
	scaleWords = strings.Fields("quadrillion trillion billion million thousand")
)

// hundredsWords spells a number below 1000 as cash_words does, "and" before the teens included.
func hundredsWords(n uint64) string {
	tens, ones := n%100, n%10
	words := ""
	if n >= 100 {
		words = numberWords[n/100] + " hundred"
		if tens == 0 {
			return words
		}
		words += " "
	}
	switch {
	case tens > 10 && ones == 0:
		return words + tensWords[tens/10]
	case tens < 20 && n >= 100:
		return words + "and " + numberWords[tens]
	case tens < 20:
		return words + numberWords[tens]
	}
	return words + tensWords[tens/10] + " " + numberWords[ones]
}

// moneyWords spells an amount.
func moneyWords(cents int64) string {
	u := absUint(cents)
	words := ""
	if cents < 0 {
		words = "minus "
	}
	units, rest := u/100, u%100
	div := uint64(1_000_000_000_000_000)
	for _, scale := range scaleWords {
		if n := units / div % 1000; n > 0 {
			words += hundredsWords(n) + " " + scale + " "
		}
		div /= 1000
	}
	if n := units % 1000; n > 0 || units == 0 {
		words += hundredsWords(n)
	}
	words += counted(units, " dollar") + " and " + hundredsWords(rest) + counted(rest, " cent")
	return strings.ToUpper(words[:1]) + words[1:]
}

// counted adds the plural's s to a unit unless there is one.
func counted(n uint64, unit string) string {
	if n == 1 {
		return unit
	}
	return unit + "s"
}
