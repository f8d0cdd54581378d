package datetime

import (
	"math"

	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// isFinite reports whether a timestamp is not infinite.
func isFinite(ts int64) bool { return ts != types.TimestampInf && ts != types.TimestampNegInf }

// addCalendar adds months, clamped to the month's last day, and days to a
// timestamp.
func addCalendar(ts int64, months, days int32) (int64, bool) {
	c := TimestampParts(ts)
	if months != 0 {
		m := int64(c.Year)*12 + int64(c.Month-1) + int64(months)
		c.Year, c.Month = int(types.FloorDiv(m, 12)), int(types.FloorMod(m, 12))+1
		c.Day = min(c.Day, DaysInMonth(c.Year, c.Month))
	}
	day := DaysFromCivil(c.Year, c.Month, c.Day) + int64(days)
	if day < types.MinDate-1 || day > types.EndTimestamp/types.MicrosPerDay {
		return 0, false
	}
	return types.AddInt64(day*types.MicrosPerDay, c.TimeMicros())
}

// AddInterval returns ts + v for a timestamp: months first (clamped to the
// month's last day), then days, then time.
func AddInterval(ts int64, v types.IntervalValue) (int64, error) {
	if !isFinite(ts) {
		return ts, nil
	}
	ok := true
	if v.Months != 0 || v.Days != 0 {
		if ts, ok = addCalendar(ts, v.Months, v.Days); !ok {
			return 0, errTimestampRange()
		}
	}
	if ts, ok = types.AddInt64(ts, v.Micros); !ok || !types.ValidTimestamp(ts) {
		return 0, errTimestampRange()
	}
	return ts, nil
}

// AddIntervalTZ is AddInterval for a timestamptz; months and days move on the
// calendar of the session's zone.
func AddIntervalTZ(ts int64, v types.IntervalValue, fc *types.FormatContext) (int64, error) {
	if !isFinite(ts) {
		return ts, nil
	}
	loc := fc.Location()
	step := func(months, days int32) bool {
		local, ok := addCalendar(LocalFromUTC(ts, loc), months, days)
		if ok {
			ts = UTCFromLocal(local, loc)
		}
		return ok && types.ValidTimestamp(ts)
	}
	if v.Months != 0 && !step(v.Months, 0) || v.Days != 0 && !step(0, v.Days) {
		return 0, errTimestampRange()
	}
	ts, ok := types.AddInt64(ts, v.Micros)
	if !ok || !types.ValidTimestamp(ts) {
		return 0, errTimestampRange()
	}
	return ts, nil
}

// SubTimestamps returns a - b as days and time.
func SubTimestamps(a, b int64) (types.IntervalValue, error) {
	if !isFinite(a) || !isFinite(b) {
		return types.IntervalValue{}, pgerr.New(pgerr.DatetimeFieldOverflow, "cannot subtract infinite timestamps")
	}
	d, ok := types.SubInt64(a, b)
	if !ok {
		return types.IntervalValue{}, errIntervalRange()
	}
	return JustifyHours(types.IntervalValue{Micros: d})
}

// Age returns age(a, b) for timestamps: a difference in years, months and days.
func Age(a, b int64) (types.IntervalValue, error) {
	if !isFinite(a) || !isFinite(b) {
		return types.IntervalValue{}, errTimestampRange()
	}
	if a < b {
		v := ageBetween(b, a)
		return types.IntervalValue{Months: -v.Months, Days: -v.Days, Micros: -v.Micros}, nil
	}
	return ageBetween(a, b), nil
}

// ageBetween returns hi - lo; days are borrowed from lo's month.
func ageBetween(hi, lo int64) types.IntervalValue {
	h, l := TimestampParts(hi), TimestampParts(lo)
	micros := h.TimeMicros() - l.TimeMicros()
	days := h.Day - l.Day
	months := (h.Year-l.Year)*12 + h.Month - l.Month
	if micros < 0 {
		micros += types.MicrosPerDay
		days--
	}
	for days < 0 {
		days += DaysInMonth(l.Year, l.Month)
		months--
	}
	return types.IntervalValue{Months: int32(months), Days: int32(days), Micros: micros}
}

// AgeTZ is Age for timestamptz values, on the calendar of the session's zone.
func AgeTZ(a, b int64, fc *types.FormatContext) (types.IntervalValue, error) {
	if !isFinite(a) || !isFinite(b) {
		return types.IntervalValue{}, errTimestampRange()
	}
	loc := fc.Location()
	return Age(LocalFromUTC(a, loc), LocalFromUTC(b, loc))
}

// JustifyHours turns every 24 hours into a day.
func JustifyHours(v types.IntervalValue) (types.IntervalValue, error) {
	days := v.Micros / types.MicrosPerDay
	v.Micros -= days * types.MicrosPerDay
	if !addInt32(&v.Days, days) {
		return v, errIntervalRange()
	}
	alignTime(&v)
	return v, nil
}

// alignTime gives the time the sign of the days.
func alignTime(v *types.IntervalValue) {
	switch {
	case v.Days > 0 && v.Micros < 0:
		v.Micros += types.MicrosPerDay
		v.Days--
	case v.Days < 0 && v.Micros > 0:
		v.Micros -= types.MicrosPerDay
		v.Days++
	}
}

// JustifyDays turns every 30 days into a month.
func JustifyDays(v types.IntervalValue) (types.IntervalValue, error) {
	months := v.Days / 30
	v.Days -= months * 30
	if !addInt32(&v.Months, int64(months)) {
		return v, errIntervalRange()
	}
	switch {
	case v.Months > 0 && v.Days < 0:
		v.Days += 30
		v.Months--
	case v.Months < 0 && v.Days > 0:
		v.Days -= 30
		v.Months++
	}
	return v, nil
}

// JustifyInterval does both, and makes all signs agree.
func JustifyInterval(v types.IntervalValue) (types.IntervalValue, error) {
	days := int64(v.Days) + v.Micros/types.MicrosPerDay
	v.Micros %= types.MicrosPerDay
	months := days / 30
	v.Days = int32(days - months*30)
	if !addInt32(&v.Months, months) {
		return v, errIntervalRange()
	}
	switch {
	case v.Months > 0 && (v.Days < 0 || v.Days == 0 && v.Micros < 0):
		v.Days += 30
		v.Months--
	case v.Months < 0 && (v.Days > 0 || v.Days == 0 && v.Micros > 0):
		v.Days -= 30
		v.Months++
	}
	alignTime(&v)
	return v, nil
}

// AddIntervals returns a + b.
func AddIntervals(a, b types.IntervalValue) (types.IntervalValue, error) {
	micros, ok := types.AddInt64(a.Micros, b.Micros)
	if !ok || !addInt32(&a.Months, int64(b.Months)) || !addInt32(&a.Days, int64(b.Days)) {
		return types.IntervalValue{}, errIntervalRange()
	}
	a.Micros = micros
	return a, nil
}

// SubIntervals returns a - b.
func SubIntervals(a, b types.IntervalValue) (types.IntervalValue, error) {
	micros, ok := types.SubInt64(a.Micros, b.Micros)
	if !ok || !addInt32(&a.Months, -int64(b.Months)) || !addInt32(&a.Days, -int64(b.Days)) {
		return types.IntervalValue{}, errIntervalRange()
	}
	a.Micros = micros
	return a, nil
}

// NegInterval returns -v.
func NegInterval(v types.IntervalValue) (types.IntervalValue, error) {
	return SubIntervals(types.IntervalValue{}, v)
}

// MulInterval returns v * f; fractions of a month spill into days, of a day
// into time.
func MulInterval(v types.IntervalValue, f float64) (types.IntervalValue, error) {
	return scaleInterval(v, func(x float64) float64 { return x * f })
}

// DivInterval returns v / f.
func DivInterval(v types.IntervalValue, f float64) (types.IntervalValue, error) {
	if f == 0 {
		return v, pgerr.New(pgerr.DivisionByZero, "division by zero")
	}
	return scaleInterval(v, func(x float64) float64 { return x / f })
}

func scaleInterval(v types.IntervalValue, scale func(float64) float64) (types.IntervalValue, error) {
	months, days := scale(float64(v.Months)), scale(float64(v.Days))
	r := types.IntervalValue{}
	if !setInt32(&r.Months, months) || !setInt32(&r.Days, days) {
		return v, errIntervalRange()
	}
	monthRest := roundTo6((months - float64(r.Months)) * 30)
	wholeDays := math.Trunc(monthRest)
	secRest := roundTo6((days - float64(r.Days) + monthRest - wholeDays) * 86400)
	if math.Abs(secRest) >= 86400 {
		extra := math.Trunc(secRest / 86400)
		if !addInt32(&r.Days, int64(extra)) {
			return v, errIntervalRange()
		}
		secRest -= extra * 86400
	}
	if !addInt32(&r.Days, int64(wholeDays)) {
		return v, errIntervalRange()
	}
	micros := math.RoundToEven(scale(float64(v.Micros)) + secRest*1e6)
	if math.IsNaN(micros) || micros < -1<<63 || micros >= 1<<63 {
		return v, errIntervalRange()
	}
	r.Micros = int64(micros)
	return r, nil
}

func setInt32(to *int32, f float64) bool {
	if math.IsNaN(f) || f > math.MaxInt32 || f < math.MinInt32 {
		return false
	}
	*to = int32(f)
	return true
}

func roundTo6(f float64) float64 { return math.RoundToEven(f*1e6) / 1e6 }

// ShiftTime moves a time of day around the clock.
func ShiftTime(micros, by int64) int64 {
	return types.FloorMod(micros+by%types.MicrosPerDay, types.MicrosPerDay)
}

// DateBin is date_bin for timestamps (and timestamptz values): the start of
// the stride, counted from origin, that ts falls in.
func DateBin(stride types.IntervalValue, ts, origin int64) (int64, error) {
	if !isFinite(ts) {
		return ts, nil
	}
	if !isFinite(origin) {
		return 0, pgerr.New(pgerr.DatetimeFieldOverflow, "origin out of range")
	}
	if stride.Months != 0 {
		return 0, pgerr.Unsupported("timestamps cannot be binned into intervals containing months or years")
	}
	width, ok := types.MulInt64(int64(stride.Days), types.MicrosPerDay)
	if ok {
		width, ok = types.AddInt64(width, stride.Micros)
	}
	if !ok {
		return 0, errIntervalRange()
	}
	if width <= 0 {
		return 0, pgerr.New(pgerr.DatetimeFieldOverflow, "stride must be greater than zero")
	}
	diff, ok := types.SubInt64(ts, origin)
	if !ok {
		return 0, errIntervalRange()
	}
	r, ok := types.SubInt64(ts, types.FloorMod(diff, width))
	if !ok || !types.ValidTimestamp(r) {
		return 0, errTimestampRange()
	}
	return r, nil
}

// TimestampFromDate returns midnight of a date, infinities included.
func TimestampFromDate(days int64) (int64, error) {
	switch types.InfSign(days, types.DateNegInf, types.DateInf) {
	case 1:
		return types.TimestampInf, nil
	case -1:
		return types.TimestampNegInf, nil
	}
	if days >= types.EndTimestamp/types.MicrosPerDay {
		return 0, pgerr.New(pgerr.DatetimeFieldOverflow, "date out of range for timestamp")
	}
	return days * types.MicrosPerDay, nil
}

// DateFromTimestamp returns the day of a timestamp, infinities included.
func DateFromTimestamp(ts int64) int64 {
	switch types.InfSign(ts, types.TimestampNegInf, types.TimestampInf) {
	case 1:
		return types.DateInf
	case -1:
		return types.DateNegInf
	}
	return types.FloorDiv(ts, types.MicrosPerDay)
}

func errTimestampRange() error {
	return pgerr.New(pgerr.DatetimeFieldOverflow, "timestamp out of range")
}

// TimestampTZFromLocal reads a timestamp on the session's clock.
func TimestampTZFromLocal(ts int64, fc *types.FormatContext) (int64, error) {
	if types.InfSign(ts, types.TimestampNegInf, types.TimestampInf) != 0 {
		return ts, nil
	}
	ts = UTCFromLocal(ts, fc.Location())
	if !types.ValidTimestamp(ts) {
		return 0, errTimestampRange()
	}
	return ts, nil
}

// LocalFromTimestampTZ returns what the session's clock shows at ts.
func LocalFromTimestampTZ(ts int64, fc *types.FormatContext) (int64, error) {
	if types.InfSign(ts, types.TimestampNegInf, types.TimestampInf) != 0 {
		return ts, nil
	}
	ts = LocalFromUTC(ts, fc.Location())
	if !types.ValidTimestamp(ts) {
		return 0, errTimestampRange()
	}
	return ts, nil
}
