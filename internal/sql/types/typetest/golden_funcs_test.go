package typetest_test

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/datetime"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// goldenFunc is a function golden files call: as SQL, and as this package does
// it. Arguments are text; those of make_ functions are numbers.
type goldenFunc struct {
	sql func(args []string) string
	run func(g *goldenSession, args []string) (types.Datum, *types.T, error)
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
	return goldenValue(typeio.FormatDatum(t, d, g.fc)), nil
}

func (g *goldenSession) value(typ, s string) (*types.T, types.Datum) {
	t, ok := types.ByName(typ)
	if !ok {
		panic("no type " + typ)
	}
	d, err := typeio.ParseText(t, s, g.fc)
	if err != nil {
		panic(err)
	}
	return t, d
}

func (g *goldenSession) interval(s string) types.IntervalValue {
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

func intervals(f func(types.IntervalValue) (types.IntervalValue, error)) func(*goldenSession, []string) (types.Datum, *types.T, error) {
	return func(g *goldenSession, a []string) (types.Datum, *types.T, error) {
		v, err := f(g.interval(a[0]))
		return types.NewInterval(v), types.Interval, err
	}
}

func intervalPairs(f func(a, b types.IntervalValue) (types.IntervalValue, error)) func(*goldenSession, []string) (types.Datum, *types.T, error) {
	return func(g *goldenSession, a []string) (types.Datum, *types.T, error) {
		v, err := f(g.interval(a[0]), g.interval(a[1]))
		return types.NewInterval(v), types.Interval, err
	}
}

func intervalScale(f func(types.IntervalValue, float64) (types.IntervalValue, error)) func(*goldenSession, []string) (types.Datum, *types.T, error) {
	return func(g *goldenSession, a []string) (types.Datum, *types.T, error) {
		x, _ := strconv.ParseFloat(a[1], 64)
		v, err := f(g.interval(a[0]), x)
		return types.NewInterval(v), types.Interval, err
	}
}

func timestampPairs(typ string, f func(fc *types.FormatContext, a, b int64) (types.IntervalValue, error)) func(*goldenSession, []string) (types.Datum, *types.T, error) {
	return func(g *goldenSession, a []string) (types.Datum, *types.T, error) {
		_, x := g.value(typ, a[0])
		_, y := g.value(typ, a[1])
		v, err := f(g.fc, x.Int(), y.Int())
		return types.NewInterval(v), types.Interval, err
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
	"add": {infix(" + ", "timestamp", "interval"), func(g *goldenSession, a []string) (types.Datum, *types.T, error) {
		t, d := g.value("timestamp", a[0])
		ts, err := datetime.AddInterval(d.Int(), g.interval(a[1]))
		return types.NewTimestamp(ts), t, err
	}},
	"addtz": {infix(" + ", "timestamptz", "interval"), func(g *goldenSession, a []string) (types.Datum, *types.T, error) {
		t, d := g.value("timestamptz", a[0])
		ts, err := datetime.AddIntervalTZ(d.Int(), g.interval(a[1]), g.fc)
		return types.NewTimestampTZ(ts), t, err
	}},
	"addtime": {infix(" + ", "time", "interval"), func(g *goldenSession, a []string) (types.Datum, *types.T, error) {
		t, d := g.value("time", a[0])
		return types.NewTime(datetime.ShiftTime(d.Int(), g.interval(a[1]).Micros)), t, nil
	}},
	"sub": {infix(" - ", "timestamp", "timestamp"), timestampPairs("timestamp",
		func(_ *types.FormatContext, a, b int64) (types.IntervalValue, error) {
			return datetime.SubTimestamps(a, b)
		})},
	"age": {function("age", "timestamp", "timestamp"), timestampPairs("timestamp",
		func(_ *types.FormatContext, a, b int64) (types.IntervalValue, error) { return datetime.Age(a, b) })},
	"agetz": {function("age", "timestamptz", "timestamptz"), timestampPairs("timestamptz",
		func(fc *types.FormatContext, a, b int64) (types.IntervalValue, error) {
			return datetime.AgeTZ(a, b, fc)
		})},
	"justify_hours":    {function("justify_hours", "interval"), intervals(datetime.JustifyHours)},
	"justify_days":     {function("justify_days", "interval"), intervals(datetime.JustifyDays)},
	"justify_interval": {function("justify_interval", "interval"), intervals(datetime.JustifyInterval)},
	"neg":              {func(a []string) string { return "- " + lit("interval", a[0]) }, intervals(datetime.NegInterval)},
	"iadd":             {infix(" + ", "interval", "interval"), intervalPairs(datetime.AddIntervals)},
	"isub":             {infix(" - ", "interval", "interval"), intervalPairs(datetime.SubIntervals)},
	"mul":              {infix(" * ", "interval", "float8"), intervalScale(datetime.MulInterval)},
	"div":              {infix(" / ", "interval", "float8"), intervalScale(datetime.DivInterval)},
	"trunc": {func(a []string) string { return "date_trunc(" + quoteSQL(a[1]) + ", " + lit(a[0], a[2]) + ")" },
		goldenTrunc},
	"extract": {func(a []string) string { return "extract(" + a[1] + " from " + lit(a[0], a[2]) + ")" },
		func(g *goldenSession, a []string) (types.Datum, *types.T, error) {
			t, d := g.value(a[0], a[2])
			r, err := datetime.Extract(a[1], t, d, g.fc)
			return r, types.Numeric, err
		}},
	"part": {func(a []string) string { return "date_part(" + quoteSQL(a[1]) + ", " + lit(a[0], a[2]) + ")" },
		func(g *goldenSession, a []string) (types.Datum, *types.T, error) {
			t, d := g.value(a[0], a[2])
			r, err := datetime.DatePart(a[1], t, d, g.fc)
			return r, types.Float8, err
		}},
	"bin": {function("date_bin", "interval", "timestamp", "timestamp"), func(g *goldenSession, a []string) (types.Datum, *types.T, error) {
		_, x := g.value("timestamp", a[1])
		_, y := g.value("timestamp", a[2])
		ts, err := datetime.DateBin(g.interval(a[0]), x.Int(), y.Int())
		return types.NewTimestamp(ts), types.Timestamp, err
	}},
	"make_date": {function("make_date", "int", "int", "int"), func(_ *goldenSession, a []string) (types.Datum, *types.T, error) {
		n, _ := numbers(a)
		d, err := datetime.MakeDate(n[0], n[1], n[2])
		return types.NewDate(d), types.Date, err
	}},
	"make_time": {function("make_time", "int", "int", "float8"), func(_ *goldenSession, a []string) (types.Datum, *types.T, error) {
		n, f := numbers(a)
		d, err := datetime.MakeTime(n[0], n[1], f)
		return types.NewTime(d), types.Time, err
	}},
	"make_timestamp": {function("make_timestamp", "int", "int", "int", "int", "int", "float8"),
		func(_ *goldenSession, a []string) (types.Datum, *types.T, error) {
			n, f := numbers(a)
			d, err := datetime.MakeTimestamp(n[0], n[1], n[2], n[3], n[4], f)
			return types.NewTimestamp(d), types.Timestamp, err
		}},
	"make_interval": {function("make_interval", "int", "int", "int", "int", "int", "int", "float8"),
		func(_ *goldenSession, a []string) (types.Datum, *types.T, error) {
			n, f := numbers(a)
			v, err := datetime.MakeInterval(n[0], n[1], n[2], n[3], n[4], n[5], f)
			return types.NewInterval(v), types.Interval, err
		}},
}

func goldenTrunc(g *goldenSession, a []string) (types.Datum, *types.T, error) {
	t, d := g.value(a[0], a[2])
	switch t.Family {
	case types.TimestampFamily:
		ts, err := datetime.TruncTimestamp(a[1], d.Int())
		return types.NewTimestamp(ts), t, err
	case types.TimestampTZFamily:
		ts, err := datetime.TruncTimestampTZ(a[1], d.Int(), g.fc)
		return types.NewTimestampTZ(ts), t, err
	}
	v, err := datetime.TruncInterval(a[1], d.Interval())
	return types.NewInterval(v), t, err
}
