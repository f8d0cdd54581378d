package datefuncs

import (
	"math/rand/v2"
	"testing"
	"time"
	_ "time/tzdata" // the zones must be there whatever the machine has

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/builtin/comparefuncs"
	"github.com/lichendb/lichen/internal/sql/types"
)

// instants returns timestamps of all kinds: infinite ones, the last and the first, midnights, and many around the
// days on which zones skip or repeat hours or a day.
func instants(rng *rand.Rand) []int64 {
	out := []int64{types.TimestampInf, types.TimestampNegInf, types.EndTimestamp - 1, types.MinTimestamp, 0, -1, 1}
	for _, day := range []string{"2011-12-30", "1844-12-31", "1867-10-18", "2021-03-14", "2021-11-07", "1987-10-25", "2018-02-18", "2018-11-04"} {
		at, err := time.Parse(time.DateOnly, day)
		if err != nil {
			panic(err)
		}
		midnight := types.MicrosFromTime(at)
		for range 40 {
			out = append(out, midnight+rng.Int64N(6*types.MicrosPerDay)-3*types.MicrosPerDay, midnight+(rng.Int64N(192)-96)*types.MicrosPerDay/48)
		}
	}
	return out
}

// TestComparable requires that the functions by which comparisons stay within one type say what the comparisons
// across types do, in zones that set clocks back at midnight or skip a day.
func TestComparable(t *testing.T) {
	for _, zone := range []string{"UTC", "America/New_York", "America/St_Johns", "Pacific/Apia", "America/Sao_Paulo", "Asia/Manila", "America/Sitka"} {
		loc, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		c := &call.Context{Format: &types.FormatContext{TimeZone: loc}}
		rng := rand.New(rand.NewPCG(1, 2))
		all := instants(rng)
		for _, ts := range all {
			dates := []int64{types.DateInf, types.DateNegInf, types.DateInf - 1, types.MinDate}
			if ts != types.TimestampInf && ts != types.TimestampNegInf {
				for d := types.FloorDiv(ts, types.MicrosPerDay) - 3; len(dates) < 11; d++ {
					dates = append(dates, d)
				}
			}
			for _, d := range dates {
				compareDate(t, c, d, ts)
			}
			for range 4 {
				compareTimestamp(t, c, all[rng.IntN(len(all))], ts)
				compareTimestamp(t, c, ts+rng.Int64N(types.MicrosPerDay)-types.MicrosPerDay/2, ts)
			}
		}
	}
}

// compareDate checks what is said of a date and of the timestamp and the timestamptz ts.
func compareDate(t *testing.T, c *call.Context, d, ts int64) {
	t.Helper()
	date, at, tz := types.NewDate(d), types.NewTimestamp(ts), types.NewTimestampTZ(ts)
	check := func(cmp int, last string, v types.Datum) {
		t.Helper()
		for _, inclusive := range []bool{false, true} {
			got := d <= run(t, c, LastDate+last, v, types.NewBool(inclusive)).Int()
			if want := cmp < 0 || inclusive && cmp == 0; got != want {
				t.Errorf("%v: date %d and timestamp %d, inclusive %v: %v, the comparison says %v", c.Format.Location(), d, ts, inclusive, got, want)
			}
		}
	}
	check(comparefuncs.CompareDateTimestamp(c, date, at), "(timestamp,bool)", at)
	check(comparefuncs.CompareDateTZ(c, date, tz), "(timestamptz,bool)", tz)
	same(t, comparefuncs.CompareTimestampDate(c, at, date), ts, run(t, c, AsTimestamp+"(date)", date).Int())
	same(t, comparefuncs.CompareTZDate(c, tz, date), ts, run(t, c, AsTimestampTZ+"(date)", date).Int())
}

// compareTimestamp checks what is said of a timestamp and a timestamptz.
func compareTimestamp(t *testing.T, c *call.Context, ts, instant int64) {
	t.Helper()
	at, tz := types.NewTimestamp(ts), types.NewTimestampTZ(instant)
	same(t, comparefuncs.CompareTZTimestamp(c, tz, at), instant, run(t, c, AsTimestampTZ+"(timestamp)", at).Int())
	cmp := comparefuncs.CompareTimestampTZ(c, at, tz)
	if hi := run(t, c, TimestampBound+"(timestamptz,bool)", tz, types.True).Int(); cmp <= 0 && ts > hi {
		t.Errorf("%v: timestamp %d is not after %d, and above %d", c.Format.Location(), ts, instant, hi)
	}
	if lo := run(t, c, TimestampBound+"(timestamptz,bool)", tz, types.False).Int(); cmp >= 0 && ts < lo {
		t.Errorf("%v: timestamp %d is not before %d, and below %d", c.Format.Location(), ts, instant, lo)
	}
}

// same requires that a compares to b as cmp says.
func same(t *testing.T, cmp int, a, b int64) {
	t.Helper()
	if comparefuncs.CompareInt(a, b) != cmp {
		t.Errorf("%d and %d compare otherwise than by %d", a, b, cmp)
	}
}

func run(t *testing.T, c *call.Context, key string, args ...types.Datum) types.Datum {
	t.Helper()
	for _, fn := range comparableFunctions() {
		if fn.Key() == key {
			d, err := fn.Fold(c, fn.Args, args)
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
	}
	t.Fatalf("there is no %s", key)
	return types.Null
}
