package builtin

import (
	"math"
	"strings"

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
	return CompareInt(boolInt(math.IsNaN(a)), boolInt(math.IsNaN(b)))
}

// CompareBpchar orders character(n) values: trailing blanks do not count.
func CompareBpchar(a, b string) int {
	return strings.Compare(strings.TrimRight(a, " "), strings.TrimRight(b, " "))
}

func boolInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// compareFunc is a three-way comparison.
type compareFunc func(c *Context, a, b types.Datum) int

func compareInts(_ *Context, a, b types.Datum) int   { return CompareInt(a.Int(), b.Int()) }
func compareFloats(_ *Context, a, b types.Datum) int { return CompareFloat(a.Float(), b.Float()) }
func compareStrs(_ *Context, a, b types.Datum) int   { return strings.Compare(a.Str(), b.Str()) }
func compareBpchars(_ *Context, a, b types.Datum) int {
	return CompareBpchar(a.Str(), b.Str())
}
func compareDatums(c *Context, a, b types.Datum) int { return types.CompareSteps(a, b, c.Format) }

// The comparisons across date and time types turn the lesser type into the
// greater; a date is the midnight that begins it.
func compareDateTimestamp(_ *Context, a, b types.Datum) int {
	return CompareInt(dateMicros(a.Int()), b.Int())
}
func compareTimestampDate(_ *Context, a, b types.Datum) int {
	return CompareInt(a.Int(), dateMicros(b.Int()))
}
func compareDateTZ(c *Context, a, b types.Datum) int {
	return CompareInt(c.toUTC(dateMicros(a.Int())), b.Int())
}
func compareTZDate(c *Context, a, b types.Datum) int {
	return CompareInt(a.Int(), c.toUTC(dateMicros(b.Int())))
}
func compareTimestampTZ(c *Context, a, b types.Datum) int {
	return CompareInt(c.toUTC(a.Int()), b.Int())
}
func compareTZTimestamp(c *Context, a, b types.Datum) int {
	return CompareInt(a.Int(), c.toUTC(b.Int()))
}

// dateMicros is the timestamp of a date for comparisons: dates beyond the
// range of timestamps stay above all finite timestamps and below infinity.
func dateMicros(days int64) int64 {
	ts, err := datetime.TimestampFromDate(days)
	if err != nil {
		return types.TimestampInf - 1
	}
	return ts
}

// sixOperators declares = <> < <= > >= for one pair of types.
func sixOperators(left, right string, cmp compareFunc) []*Overload {
	mk := func(name string, holds func(int) bool) *Overload {
		return op(left+" "+name+" "+right+" bool", func(c *Context, args []types.Datum) (types.Datum, error) {
			return types.NewBool(holds(cmp(c, args[0], args[1]))), nil
		})
	}
	return []*Overload{
		mk("=", func(r int) bool { return r == 0 }), mk("<>", func(r int) bool { return r != 0 }),
		mk("<", func(r int) bool { return r < 0 }), mk("<=", func(r int) bool { return r <= 0 }),
		mk(">", func(r int) bool { return r > 0 }), mk(">=", func(r int) bool { return r >= 0 }),
	}
}

// intComparisons declares the six operators over integers without the detour
// of a three-way comparison.
func intComparisons(left, right string) []*Overload {
	mk := func(name string, f EvalFunc) *Overload { return op(left+" "+name+" "+right+" bool", f) }
	return []*Overload{
		mk("=", func(_ *Context, a []types.Datum) (types.Datum, error) {
			return types.NewBool(a[0].Int() == a[1].Int()), nil
		}),
		mk("<>", func(_ *Context, a []types.Datum) (types.Datum, error) {
			return types.NewBool(a[0].Int() != a[1].Int()), nil
		}),
		mk("<", func(_ *Context, a []types.Datum) (types.Datum, error) {
			return types.NewBool(a[0].Int() < a[1].Int()), nil
		}),
		mk("<=", func(_ *Context, a []types.Datum) (types.Datum, error) {
			return types.NewBool(a[0].Int() <= a[1].Int()), nil
		}),
		mk(">", func(_ *Context, a []types.Datum) (types.Datum, error) {
			return types.NewBool(a[0].Int() > a[1].Int()), nil
		}),
		mk(">=", func(_ *Context, a []types.Datum) (types.Datum, error) {
			return types.NewBool(a[0].Int() >= a[1].Int()), nil
		}),
	}
}

func stableAll(os []*Overload) []*Overload {
	for _, o := range os {
		o.stable()
	}
	return os
}

// comparisonOperators declares the comparisons of every pair of types that
// PostgreSQL has them for; the missing pairs go through implicit casts.
func comparisonOperators() []*Overload {
	var all []*Overload
	for _, l := range []string{"int2", "int4", "int8"} {
		for _, r := range []string{"int2", "int4", "int8"} {
			all = append(all, intComparisons(l, r)...)
		}
	}
	all = append(all, intComparisons("oid", "oid")...)
	all = append(all, intComparisons("bool", "bool")...)
	for _, o := range []string{"=", "<>"} {
		for _, r := range []string{"xid", "int4"} {
			holds := o == "="
			all = append(all, op("xid "+o+" "+r+" bool", func(_ *Context, a []types.Datum) (types.Datum, error) {
				return types.NewBool((uint32(a[0].Int()) == uint32(a[1].Int())) == holds), nil
			}))
		}
	}
	for _, l := range []string{"float4", "float8"} {
		for _, r := range []string{"float4", "float8"} {
			all = append(all, sixOperators(l, r, compareFloats)...)
		}
	}
	for _, t := range []string{"text", "char", "name", "bytea", "uuid"} {
		all = append(all, sixOperators(t, t, compareStrs)...)
	}
	all = append(all, sixOperators("name", "text", compareStrs)...)
	all = append(all, sixOperators("text", "name", compareStrs)...)
	all = append(all, sixOperators("bpchar", "bpchar", compareBpchars)...)
	for _, t := range []string{"date", "time", "timestamp", "timestamptz"} {
		all = append(all, intComparisons(t, t)...)
	}
	for _, t := range []string{"timetz", "interval", "numeric", "jsonb", "oidvector"} {
		all = append(all, sixOperators(t, t, compareDatums)...)
	}
	all = append(all, recordComparisons("", types.CompareTyped)...)
	all = append(all, sixOperators("date", "timestamp", compareDateTimestamp)...)
	all = append(all, sixOperators("timestamp", "date", compareTimestampDate)...)
	all = append(all, stableAll(sixOperators("date", "timestamptz", compareDateTZ))...)
	all = append(all, stableAll(sixOperators("timestamptz", "date", compareTZDate))...)
	all = append(all, stableAll(sixOperators("timestamp", "timestamptz", compareTimestampTZ))...)
	all = append(all, stableAll(sixOperators("timestamptz", "timestamp", compareTZTimestamp))...)
	return append(all, anyArrayComparisons()...)
}

// comparableElems checks that the elements of arrays have what an operator needs.
func comparableElems(operator string, t *types.T) error {
	needs, has := "an equality operator", types.HasEquality(t)
	if operator != "=" && operator != "<>" {
		needs, has = "a comparison function", types.HasOrder(t)
	}
	if has || t.Elem == nil {
		return nil
	}
	return pgerr.New(pgerr.UndefinedFunction, "could not identify %s for type %s", needs, t.Elem.SQLName)
}

// anyArrayComparisons declares the comparisons of arrays, which compare their
// elements as the element type does.
func anyArrayComparisons() []*Overload {
	mk := func(name string, holds func(int) bool) *Overload {
		return opBind("anyarray "+name+" anyarray bool", func(b Binding) (EvalFunc, error) {
			t := b.Types[0]
			if err := comparableElems(name, t); err != nil {
				return nil, err
			}
			return func(_ *Context, args []types.Datum) (types.Datum, error) {
				return types.NewBool(holds(types.CompareTyped(t, args[0], args[1]))), nil
			}, nil
		})
	}
	return []*Overload{
		mk("=", func(r int) bool { return r == 0 }), mk("<>", func(r int) bool { return r != 0 }),
		mk("<", func(r int) bool { return r < 0 }), mk("<=", func(r int) bool { return r <= 0 }),
		mk(">", func(r int) bool { return r > 0 }), mk(">=", func(r int) bool { return r >= 0 }),
	}
}

// compareAs compares values of one type.
func compareAs(t *types.T) compareFunc {
	return func(_ *Context, a, b types.Datum) int { return types.CompareTyped(t, a, b) }
}
