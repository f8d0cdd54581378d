package comparefuncs

import (
	"math"
	"strings"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/datetime"
)

// CompareInt orders integers as the operators do; compiled comparisons use it directly.
func CompareInt(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// CompareFloat orders floats: NaN equals itself and is above everything.
func CompareFloat(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	case a == b:
		return 0
	}
	return CompareInt(BoolInt(math.IsNaN(a)), BoolInt(math.IsNaN(b)))
}

// CompareBpchar orders character(n) values: trailing blanks do not count.
func CompareBpchar(a, b string) int {
	return strings.Compare(strings.TrimRight(a, " "), strings.TrimRight(b, " "))
}

// BoolInt returns 1 for true, 0 for false.
func BoolInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// CompareFunc is a three-way comparison.
type CompareFunc func(c *call.Context, a, b types.Datum) int

// CompareInts is a CompareFunc of integers.
func CompareInts(_ *call.Context, a, b types.Datum) int { return CompareInt(a.Int(), b.Int()) }

// CompareFloats is a CompareFunc of floats.
func CompareFloats(_ *call.Context, a, b types.Datum) int { return CompareFloat(a.Float(), b.Float()) }

// CompareStrs is a CompareFunc by bytes.
func CompareStrs(_ *call.Context, a, b types.Datum) int { return strings.Compare(a.Str(), b.Str()) }

// CompareBpchars is a CompareFunc of character(n).
func CompareBpchars(_ *call.Context, a, b types.Datum) int {
	return CompareBpchar(a.Str(), b.Str())
}

// CompareDatums is a CompareFunc of any one type.
func CompareDatums(c *call.Context, a, b types.Datum) int { return types.CompareSteps(a, b, c.Format) }

// The comparisons across date and time types turn the lesser type into the
// greater; a date is the midnight that begins it.

// CompareDateTimestamp is a CompareFunc of a date and a timestamp.
func CompareDateTimestamp(_ *call.Context, a, b types.Datum) int {
	return CompareInt(DateMicros(a.Int()), b.Int())
}

// CompareTimestampDate is a CompareFunc of a timestamp and a date.
func CompareTimestampDate(_ *call.Context, a, b types.Datum) int {
	return CompareInt(a.Int(), DateMicros(b.Int()))
}

// CompareDateTZ is a CompareFunc of a date and a timestamptz.
func CompareDateTZ(c *call.Context, a, b types.Datum) int {
	return CompareInt(c.ToUTC(DateMicros(a.Int())), b.Int())
}

// CompareTZDate is a CompareFunc of a timestamptz and a date.
func CompareTZDate(c *call.Context, a, b types.Datum) int {
	return CompareInt(a.Int(), c.ToUTC(DateMicros(b.Int())))
}

// CompareTimestampTZ is a CompareFunc of a timestamp and a timestamptz.
func CompareTimestampTZ(c *call.Context, a, b types.Datum) int {
	return CompareInt(c.ToUTC(a.Int()), b.Int())
}

// CompareTZTimestamp is a CompareFunc of a timestamptz and a timestamp.
func CompareTZTimestamp(c *call.Context, a, b types.Datum) int {
	return CompareInt(a.Int(), c.ToUTC(b.Int()))
}

// DateMicros is the timestamp of a date for comparisons: dates beyond the
// range of timestamps stay above all finite timestamps and below infinity.
func DateMicros(days int64) int64 {
	ts, err := datetime.TimestampFromDate(days)
	if err != nil {
		return types.TimestampInf - 1
	}
	return ts
}

// SixOperators declares = <> < <= > >= for one pair of types.
func SixOperators(left, right string, cmp CompareFunc) []*call.Overload {
	mk := func(name string, holds func(int) bool) *call.Overload {
		return call.Op(left+" "+name+" "+right+" bool", func(c *call.Context, args []types.Datum) (types.Datum, error) {
			return types.NewBool(holds(cmp(c, args[0], args[1]))), nil
		})
	}
	return []*call.Overload{
		mk("=", func(r int) bool { return r == 0 }), mk("<>", func(r int) bool { return r != 0 }),
		mk("<", func(r int) bool { return r < 0 }), mk("<=", func(r int) bool { return r <= 0 }),
		mk(">", func(r int) bool { return r > 0 }), mk(">=", func(r int) bool { return r >= 0 }),
	}
}

// IntComparisons declares the six operators over integers without the detour
// of a three-way comparison.
func IntComparisons(left, right string) []*call.Overload {
	mk := func(name string, f call.EvalFunc) *call.Overload { return call.Op(left+" "+name+" "+right+" bool", f) }
	return []*call.Overload{
		mk("=", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			return types.NewBool(a[0].Int() == a[1].Int()), nil
		}),
		mk("<>", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			return types.NewBool(a[0].Int() != a[1].Int()), nil
		}),
		mk("<", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			return types.NewBool(a[0].Int() < a[1].Int()), nil
		}),
		mk("<=", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			return types.NewBool(a[0].Int() <= a[1].Int()), nil
		}),
		mk(">", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			return types.NewBool(a[0].Int() > a[1].Int()), nil
		}),
		mk(">=", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			return types.NewBool(a[0].Int() >= a[1].Int()), nil
		}),
	}
}

func stableAll(os []*call.Overload) []*call.Overload {
	for _, o := range os {
		o.Stable()
	}
	return os
}

// comparisonOperators declares the comparisons of every pair of types that
// PostgreSQL has them for; the missing pairs go through implicit casts.
func comparisonOperators() []*call.Overload {
	var all []*call.Overload
	for _, l := range []string{"int2", "int4", "int8"} {
		for _, r := range []string{"int2", "int4", "int8"} {
			all = append(all, IntComparisons(l, r)...)
		}
	}
	all = append(all, IntComparisons("oid", "oid")...)
	all = append(all, IntComparisons("bool", "bool")...)
	for _, o := range []string{"=", "<>"} {
		for _, r := range []string{"xid", "int4"} {
			holds := o == "="
			all = append(all, call.Op("xid "+o+" "+r+" bool", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
				return types.NewBool((uint32(a[0].Int()) == uint32(a[1].Int())) == holds), nil
			}))
		}
	}
	for _, l := range []string{"float4", "float8"} {
		for _, r := range []string{"float4", "float8"} {
			all = append(all, SixOperators(l, r, CompareFloats)...)
		}
	}
	for _, t := range []string{"text", "char", "name", "bytea", "uuid"} {
		all = append(all, SixOperators(t, t, CompareStrs)...)
	}
	all = append(all, SixOperators("name", "text", CompareStrs)...)
	all = append(all, SixOperators("text", "name", CompareStrs)...)
	all = append(all, SixOperators("bpchar", "bpchar", CompareBpchars)...)
	for _, t := range []string{"date", "time", "timestamp", "timestamptz"} {
		all = append(all, IntComparisons(t, t)...)
	}
	for _, t := range []string{"timetz", "interval", "numeric", "jsonb", "oidvector"} {
		all = append(all, SixOperators(t, t, CompareDatums)...)
	}
	all = append(all, recordComparisons("", types.CompareTyped, comparableType)...)
	all = append(all, undecidedComparison())
	all = append(all, SixOperators("date", "timestamp", CompareDateTimestamp)...)
	all = append(all, SixOperators("timestamp", "date", CompareTimestampDate)...)
	all = append(all, stableAll(SixOperators("date", "timestamptz", CompareDateTZ))...)
	all = append(all, stableAll(SixOperators("timestamptz", "date", CompareTZDate))...)
	all = append(all, stableAll(SixOperators("timestamp", "timestamptz", CompareTimestampTZ))...)
	all = append(all, stableAll(SixOperators("timestamptz", "timestamp", CompareTZTimestamp))...)
	return append(all, anyArrayComparisons()...)
}

// comparableType checks that values of a type have what an operator needs.
func comparableType(operator string, t *types.T) error {
	needs, has := "an equality operator", types.HasEquality(t)
	if operator != "=" && operator != "<>" {
		needs, has = "a comparison function", types.HasOrder(t)
	}
	if has {
		return nil
	}
	return pgerr.New(pgerr.UndefinedFunction, "could not identify %s for type %s", needs, t.SQLName)
}

// comparableElems is comparableType for the elements of arrays.
func comparableElems(operator string, t *types.T) error {
	if t.Elem == nil {
		return nil
	}
	return comparableType(operator, t.Elem)
}

// anyArrayComparisons declares the comparisons of arrays, which compare their
// elements as the element type does.
func anyArrayComparisons() []*call.Overload {
	mk := func(name string, holds func(int) bool) *call.Overload {
		return call.OpBind("anyarray "+name+" anyarray bool", func(b call.Binding) (call.EvalFunc, error) {
			t := b.Types[0]
			if err := comparableElems(name, t); err != nil {
				return nil, err
			}
			return func(c *call.Context, args []types.Datum) (types.Datum, error) {
				return types.NewBool(holds(types.CompareTyped(t, args[0], args[1], c.Format))), nil
			}, nil
		})
	}
	return []*call.Overload{
		mk("=", func(r int) bool { return r == 0 }), mk("<>", func(r int) bool { return r != 0 }),
		mk("<", func(r int) bool { return r < 0 }), mk("<=", func(r int) bool { return r <= 0 }),
		mk(">", func(r int) bool { return r > 0 }), mk(">=", func(r int) bool { return r >= 0 }),
	}
}

// CompareAs compares values of one type.
func CompareAs(t *types.T) CompareFunc {
	return func(c *call.Context, a, b types.Datum) int { return types.CompareTyped(t, a, b, c.Format) }
}
