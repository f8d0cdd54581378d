package numfuncs

import (
	"strings"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/builtin/comparefuncs"
	"github.com/lichendb/lichen/internal/sql/builtin/decimal"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/casts"
)

// ErrMoneyRange is 22003 for money.
var ErrMoneyRange = pgerr.New(pgerr.NumericValueOutOfRange, "money out of range")

func moneyOperators() []*call.Overload {
	all := comparefuncs.IntComparisons("money", "money")
	exact := func(f func(a, b int64) (int64, error)) call.EvalFunc {
		return func(_ *call.Context, a []types.Datum) (types.Datum, error) { return moneyOf(f(a[0].Int(), a[1].Int())) }
	}
	all = append(all, call.Op("money + money money", exact(AddInt8)), call.Op("money - money money", exact(SubInt8)),
		call.Op("money / money float8", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			if a[1].Int() == 0 {
				return types.Null, call.Fail(call.ErrDivisionByZero)
			}
			return types.NewFloat(float64(a[0].Int()) / float64(a[1].Int())), nil
		}))
	for _, t := range []string{"int2", "int4", "int8"} {
		all = append(all, call.Op("money * "+t+" money", exact(MulInt8)), call.Op(t+" * money money", exact(MulInt8)), call.Op("money / "+t+" money", exact(DivInt8)))
	}
	for _, t := range []string{"float4", "float8"} {
		all = append(all,
			call.Op("money * "+t+" money", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
				return casts.MoneyFromFloat(float64(a[0].Int()) * a[1].Float())
			}),
			call.Op(t+" * money money", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
				return casts.MoneyFromFloat(a[0].Float() * float64(a[1].Int()))
			}),
			call.Op("money / "+t+" money", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
				if a[1].Float() == 0 {
					return types.Null, call.Fail(call.ErrDivisionByZero)
				}
				return casts.MoneyFromFloat(float64(a[0].Int()) / a[1].Float())
			}))
	}
	return all
}

// moneyOf is the result of a computation in cents.
func moneyOf(cents int64, err error) (types.Datum, error) {
	if pgerr.CodeOf(err) == pgerr.NumericValueOutOfRange {
		err = call.Fail(ErrMoneyRange)
	}
	return types.NewInt(cents), err
}

func moneyFunctions() []*call.Overload {
	units := func(_ *call.Context, a []types.Datum) (types.Datum, error) {
		return casts.MoneyFromDecimal(types.NewDecimalInt(a[0].Int(), 0))
	}
	return []*call.Overload{
		call.Fn("money(int4) money", units).Stable(), call.Fn("money(int8) money", units).Stable(),
		call.Fn("money(numeric) money", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			return casts.MoneyFromDecimal(a[0])
		}).Stable(),
		call.Fn("cash_words(money) text", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			return call.Text(moneyWords(a[0].Int()))
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
	u := decimal.AbsUint(cents)
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
