package types

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// goldenFunc is a function golden files call: as SQL, and as this package does
// it. Arguments are text; those of make_ functions are numbers.
type goldenFunc struct {
	sql func(args []string) string
	run func(g *goldenSession, args []string) (Datum, *T, error)
}

func (g *goldenSession) call(name string, args []string) (res string, err error) {
	f, ok := goldenFuncs[name]
	if !ok {
		return "", fmt.Errorf("no function %s", name)
	}
	defer func() { // arguments PostgreSQL refuses too
		if e, ok := recover().(*pgerr.Error); ok {
			res, err = goldenError(e), nil
		}
	}()
	d, t, err := f.run(g, args)
	if err != nil {
		return goldenError(err), nil
	}
	if d.IsNull() {
		return "= ", nil
	}
	return goldenValue(FormatDatum(t, d, g.fc)), nil
}

func (g *goldenSession) value(typ, s string) (*T, Datum) {
	t, ok := ByName(typ)
	if !ok {
		panic("no type " + typ)
	}
	d, err := ParseText(t, s, g.fc)
	if err != nil {
		panic(err)
	}
	return t, d
}

func (g *goldenSession) interval(s string) IntervalValue {
	_, d := g.value("interval", s)
	return d.Interval()
}

func lit(typ, s string) string { return quoteSQL(s) + "::" + typ }

// infix is a binary operator between literals of the given types.
func infix(op string, types ...string) func([]string) string {
	return func(a []string) string { return lit(types[0], a[0]) + op + lit(types[1], a[1]) }
}

// function is a call with literals of the given types.
func function(name string, types ...string) func([]string) string {
	return func(a []string) string {
		args := make([]string, len(types))
		for i, t := range types {
			args[i] = lit(t, a[i])
		}
		return name + "(" + strings.Join(args, ", ") + ")"
	}
}

func intervals(f func(IntervalValue) (IntervalValue, error)) func(*goldenSession, []string) (Datum, *T, error) {
	return func(g *goldenSession, a []string) (Datum, *T, error) {
		v, err := f(g.interval(a[0]))
		return NewInterval(v), Interval, err
	}
}

func intervalPairs(f func(a, b IntervalValue) (IntervalValue, error)) func(*goldenSession, []string) (Datum, *T, error) {
	return func(g *goldenSession, a []string) (Datum, *T, error) {
		v, err := f(g.interval(a[0]), g.interval(a[1]))
		return NewInterval(v), Interval, err
	}
}

func intervalScale(f func(IntervalValue, float64) (IntervalValue, error)) func(*goldenSession, []string) (Datum, *T, error) {
	return func(g *goldenSession, a []string) (Datum, *T, error) {
		x, _ := strconv.ParseFloat(a[1], 64)
		v, err := f(g.interval(a[0]), x)
		return NewInterval(v), Interval, err
	}
}

func timestampPairs(typ string, f func(fc *FormatContext, a, b int64) (IntervalValue, error)) func(*goldenSession, []string) (Datum, *T, error) {
	return func(g *goldenSession, a []string) (Datum, *T, error) {
		_, x := g.value(typ, a[0])
		_, y := g.value(typ, a[1])
		v, err := f(g.fc, x.Int(), y.Int())
		return NewInterval(v), Interval, err
	}
}

func numbers(a []string) (ns []int32, last float64) {
	for _, s := range a {
		f, _ := strconv.ParseFloat(s, 64)
		ns, last = append(ns, int32(f)), f
	}
	return ns, last
}

var goldenFuncs = map[string]goldenFunc{
	"add": {infix(" + ", "timestamp", "interval"), func(g *goldenSession, a []string) (Datum, *T, error) {
		t, d := g.value("timestamp", a[0])
		ts, err := AddInterval(d.Int(), g.interval(a[1]))
		return NewTimestamp(ts), t, err
	}},
	"addtz": {infix(" + ", "timestamptz", "interval"), func(g *goldenSession, a []string) (Datum, *T, error) {
		t, d := g.value("timestamptz", a[0])
		ts, err := AddIntervalTZ(d.Int(), g.interval(a[1]), g.fc)
		return NewTimestampTZ(ts), t, err
	}},
	"addtime": {infix(" + ", "time", "interval"), func(g *goldenSession, a []string) (Datum, *T, error) {
		t, d := g.value("time", a[0])
		return NewTime(AddTimeInterval(d.Int(), g.interval(a[1]))), t, nil
	}},
	"sub": {infix(" - ", "timestamp", "timestamp"), timestampPairs("timestamp",
		func(_ *FormatContext, a, b int64) (IntervalValue, error) { return SubTimestamps(a, b) })},
	"age": {function("age", "timestamp", "timestamp"), timestampPairs("timestamp",
		func(_ *FormatContext, a, b int64) (IntervalValue, error) { return Age(a, b) })},
	"agetz": {function("age", "timestamptz", "timestamptz"), timestampPairs("timestamptz",
		func(fc *FormatContext, a, b int64) (IntervalValue, error) { return AgeTZ(a, b, fc) })},
	"justify_hours":    {function("justify_hours", "interval"), intervals(JustifyHours)},
	"justify_days":     {function("justify_days", "interval"), intervals(JustifyDays)},
	"justify_interval": {function("justify_interval", "interval"), intervals(JustifyInterval)},
	"neg":              {func(a []string) string { return "- " + lit("interval", a[0]) }, intervals(NegInterval)},
	"iadd":             {infix(" + ", "interval", "interval"), intervalPairs(AddIntervals)},
	"isub":             {infix(" - ", "interval", "interval"), intervalPairs(SubIntervals)},
	"mul":              {infix(" * ", "interval", "float8"), intervalScale(MulInterval)},
	"div":              {infix(" / ", "interval", "float8"), intervalScale(DivInterval)},
	"trunc": {func(a []string) string { return "date_trunc(" + quoteSQL(a[1]) + ", " + lit(a[0], a[2]) + ")" },
		goldenTrunc},
	"extract": {func(a []string) string { return "extract(" + a[1] + " from " + lit(a[0], a[2]) + ")" },
		func(g *goldenSession, a []string) (Datum, *T, error) {
			t, d := g.value(a[0], a[2])
			r, err := Extract(a[1], t, d, g.fc)
			return r, Numeric, err
		}},
	"part": {func(a []string) string { return "date_part(" + quoteSQL(a[1]) + ", " + lit(a[0], a[2]) + ")" },
		func(g *goldenSession, a []string) (Datum, *T, error) {
			t, d := g.value(a[0], a[2])
			r, err := DatePart(a[1], t, d, g.fc)
			return r, Float8, err
		}},
	"bin": {function("date_bin", "interval", "timestamp", "timestamp"), func(g *goldenSession, a []string) (Datum, *T, error) {
		_, x := g.value("timestamp", a[1])
		_, y := g.value("timestamp", a[2])
		ts, err := DateBin(g.interval(a[0]), x.Int(), y.Int())
		return NewTimestamp(ts), Timestamp, err
	}},
	"make_date": {function("make_date", "int", "int", "int"), func(_ *goldenSession, a []string) (Datum, *T, error) {
		n, _ := numbers(a)
		d, err := MakeDate(n[0], n[1], n[2])
		return NewDate(d), Date, err
	}},
	"make_time": {function("make_time", "int", "int", "float8"), func(_ *goldenSession, a []string) (Datum, *T, error) {
		n, f := numbers(a)
		d, err := MakeTime(n[0], n[1], f)
		return NewTime(d), Time, err
	}},
	"make_timestamp": {function("make_timestamp", "int", "int", "int", "int", "int", "float8"),
		func(_ *goldenSession, a []string) (Datum, *T, error) {
			n, f := numbers(a)
			d, err := MakeTimestamp(n[0], n[1], n[2], n[3], n[4], f)
			return NewTimestamp(d), Timestamp, err
		}},
	"make_interval": {function("make_interval", "int", "int", "int", "int", "int", "int", "float8"),
		func(_ *goldenSession, a []string) (Datum, *T, error) {
			n, f := numbers(a)
			v, err := MakeInterval(n[0], n[1], n[2], n[3], n[4], n[5], f)
			return NewInterval(v), Interval, err
		}},
}

func goldenTrunc(g *goldenSession, a []string) (Datum, *T, error) {
	t, d := g.value(a[0], a[2])
	switch t.Family {
	case TimestampFamily:
		ts, err := TruncTimestamp(a[1], d.Int())
		return NewTimestamp(ts), t, err
	case TimestampTZFamily:
		ts, err := TruncTimestampTZ(a[1], d.Int(), g.fc)
		return NewTimestampTZ(ts), t, err
	}
	v, err := TruncInterval(a[1], d.Interval())
	return NewInterval(v), t, err
}
