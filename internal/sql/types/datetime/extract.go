package datetime

import (
	"math/big"

	"github.com/cockroachdb/apd/v3"

	"github.com/lichendb/lichen/internal/sql/types"
)

// Extract is extract(field from d) for a date, time, timetz, timestamp,
// timestamptz or interval: a numeric, or NULL (a field infinity does not have).
func Extract(field string, t *types.T, d types.Datum, fc *types.FormatContext) (types.Datum, error) {
	u := fieldUnit(field)
	var r types.Datum
	var ok bool
	switch t.Family {
	case types.DateFamily:
		r, ok = extractDate(u, d.Int())
	case types.TimeFamily:
		r, ok = extractTime(u, d.Int())
	case types.TimeTZFamily:
		r, ok = extractTimeTZ(u, d)
	case types.TimestampFamily:
		r, ok = extractTimestamp(u, d, d.Int(), nil)
	case types.TimestampTZFamily:
		east, _ := OffsetAt(fc.Location(), finiteOrZero(d.Int()))
		r, ok = extractTimestamp(u, d, d.Int(), &east)
	case types.IntervalFamily:
		r, ok = extractInterval(u, d.Interval())
	}
	if !ok {
		return types.Null, errUnit(u, field, t)
	}
	return r, nil
}

// DatePart is date_part, which yields float8.
func DatePart(field string, t *types.T, d types.Datum, fc *types.FormatContext) (types.Datum, error) {
	r, err := Extract(field, t, d, fc)
	if err != nil || r.IsNull() {
		return types.Null, err
	}
	return types.NewFloat(types.DecimalToFloat(r)), nil
}

func finiteOrZero(ts int64) int64 {
	if !isFinite(ts) {
		return 0
	}
	return ts
}

func intDecimal(n int) (types.Datum, bool)            { return types.NewDecimalInt(int64(n), 0), true }
func scaled(n int64, scale int32) (types.Datum, bool) { return types.NewDecimalInt(n, scale), true }

// extractInfinite returns infinity for a field that grows without bound, NULL
// for one that comes around.
func extractInfinite(u unit, sign int, timeFields bool) (types.Datum, bool) {
	switch u {
	case unitYear, unitDecade, unitCentury, unitMillennium, unitJulian, unitISOYear, unitEpoch:
		if sign < 0 {
			return types.DecimalNegInf, true
		}
		return types.DecimalInf, true
	case unitDay, unitMonth, unitQuarter, unitWeek, unitDOW, unitISODOW, unitDOY:
		return types.Null, true
	case unitMicrosecond, unitMillisecond, unitSecond, unitMinute, unitHour,
		unitTimezone, unitTimezoneHour, unitTimezoneMinute:
		return types.Null, timeFields
	}
	return types.Null, false
}

// yearNumber returns the number of an astronomical year; there is no year 0.
func yearNumber(y int) int {
	if y <= 0 {
		return y - 1
	}
	return y
}

// eraNumber returns which century (n = 100) or millennium (n = 1000) an
// astronomical year is in; there is no number 0.
func eraNumber(year, n int) int {
	if year > 0 {
		return (year + n - 1) / n
	}
	return -((n - year) / n)
}

// extractDay handles the fields of a finite day.
func extractDay(u unit, days int64) (types.Datum, bool) {
	y, m, d := CivilFromDays(days)
	switch u {
	case unitDay:
		return intDecimal(d)
	case unitMonth:
		return intDecimal(m)
	case unitQuarter:
		return intDecimal((m-1)/3 + 1)
	case unitWeek:
		_, w := ISOWeek(days)
		return intDecimal(w)
	case unitYear:
		return intDecimal(yearNumber(y))
	case unitDecade:
		return intDecimal(int(types.FloorDiv(int64(y), 10)))
	case unitCentury:
		return intDecimal(eraNumber(y, 100))
	case unitMillennium:
		return intDecimal(eraNumber(y, 1000))
	case unitISOYear:
		iso, _ := ISOWeek(days)
		return intDecimal(yearNumber(iso))
	case unitDOW:
		return intDecimal(DayOfWeek(days))
	case unitISODOW:
		return intDecimal((DayOfWeek(days)+6)%7 + 1)
	case unitDOY:
		return intDecimal(DayOfYear(y, m, d))
	}
	return types.Null, false
}

func extractDate(u unit, days int64) (types.Datum, bool) {
	if sign := types.InfSign(days, types.DateNegInf, types.DateInf); sign != 0 {
		return extractInfinite(u, sign, false)
	}
	switch u {
	case unitJulian:
		return scaled(JulianDay(days), 0)
	case unitEpoch:
		return scaled((days+types.EpochDiffDays)*86400, 0)
	}
	return extractDay(u, days)
}

// extractClock handles the fields of a time of day.
func extractClock(u unit, micros int64) (types.Datum, bool) {
	switch u {
	case unitMicrosecond:
		return scaled(micros%types.MicrosPerMin, 0)
	case unitMillisecond:
		return scaled(micros%types.MicrosPerMin, 3)
	case unitSecond:
		return scaled(micros%types.MicrosPerMin, 6)
	case unitMinute:
		return scaled(micros/types.MicrosPerMin%60, 0)
	case unitHour:
		return scaled(micros/types.MicrosPerHour, 0)
	}
	return types.Null, false
}

func extractTime(u unit, micros int64) (types.Datum, bool) {
	if u == unitEpoch {
		return scaled(micros, 6)
	}
	return extractClock(u, micros)
}

func extractZone(u unit, east int) (types.Datum, bool) {
	switch u {
	case unitTimezone:
		return intDecimal(east)
	case unitTimezoneHour:
		return intDecimal(east / 3600)
	case unitTimezoneMinute:
		return intDecimal(east / 60 % 60)
	}
	return types.Null, false
}

func extractTimeTZ(u unit, d types.Datum) (types.Datum, bool) {
	if u == unitEpoch {
		return scaled(types.TimeTZInstant(d), 6)
	}
	micros, west := d.TimeTZ()
	if r, ok := extractZone(u, -int(west)); ok {
		return r, true
	}
	return extractClock(u, micros)
}

// extractTimestamp handles a timestamp, or with an offset east a timestamptz.
func extractTimestamp(u unit, d types.Datum, ts int64, east *int) (types.Datum, bool) {
	if sign := d.InfSign(); sign != 0 {
		return extractInfinite(u, sign, true)
	}
	if u == unitEpoch {
		return epochDecimal(ts), true
	}
	if east != nil {
		if r, ok := extractZone(u, *east); ok {
			return r, true
		}
		ts += int64(*east) * types.MicrosPerSec
	}
	days := types.FloorDiv(ts, types.MicrosPerDay)
	micros := ts - days*types.MicrosPerDay
	if u == unitJulian {
		return julianDecimal(JulianDay(days), micros), true
	}
	if r, ok := extractClock(u, micros); ok {
		return r, true
	}
	return extractDay(u, days)
}

// epochDecimal returns the seconds since 1970, which may exceed an int64 of
// microseconds.
func epochDecimal(ts int64) types.Datum {
	if n, ok := types.AddInt64(ts, types.EpochDiffMicros); ok {
		return types.NewDecimalInt(n, 6)
	}
	var c apd.BigInt
	c.SetMathBigInt(new(big.Int).Add(big.NewInt(ts), big.NewInt(types.EpochDiffMicros)))
	return types.NewDecimalBig(&c, false, 6)
}

// julianDecimal returns day + micros/86400e6 with the digits numeric division
// gives.
func julianDecimal(day, micros int64) types.Datum {
	scale := divisionScale(micros, types.MicrosPerDay)
	var x, y apd.BigInt
	x.Mul(apd.NewBigInt(micros), types.Pow10Big(int(scale)+1))
	x.Quo(&x, apd.NewBigInt(types.MicrosPerDay))
	frac := types.RoundDecimal(types.NewDecimalBig(&x, false, scale+1), scale)
	var f apd.Decimal
	frac.Decimal(&f)
	y.Mul(apd.NewBigInt(day), types.Pow10Big(int(scale)))
	y.Add(&y, &f.Coeff)
	return types.NewDecimalBig(&y, false, scale)
}

// divisionScale returns the display scale of a / b for integers a ≥ 0, b > 0, as
// numeric division chooses it: sixteen significant digits at least.
func divisionScale(a, b int64) int32 {
	wa, da := leadingGroup(a)
	wb, db := leadingGroup(b)
	weight := wa - wb
	if da <= db {
		weight--
	}
	return int32(max(16-4*weight, 0))
}

// leadingGroup returns the position and value of the first base 10000 digit.
func leadingGroup(n int64) (weight int, digit int64) {
	for n >= 10000 {
		n /= 10000
		weight++
	}
	return weight, n
}

func extractInterval(u unit, v types.IntervalValue) (types.Datum, bool) {
	years, months := int(v.Months/12), int(v.Months%12)
	switch u {
	case unitDay:
		return intDecimal(int(v.Days))
	case unitMonth:
		return intDecimal(months)
	case unitQuarter:
		return intDecimal(months/3 + 1)
	case unitYear:
		return intDecimal(years)
	case unitDecade:
		return intDecimal(years / 10)
	case unitCentury:
		return intDecimal(years / 100)
	case unitMillennium:
		return intDecimal(years / 1000)
	case unitEpoch:
		return intervalEpoch(years, months, v), true
	}
	return extractClock(u, v.Micros)
}

// intervalEpoch counts years of 365.25 days and months of 30.
func intervalEpoch(years, months int, v types.IntervalValue) types.Datum {
	secs := (int64(years)*1461 + int64(months)*120 + int64(v.Days)*4) * 21600
	if micros, ok := types.MulInt64(secs, types.MicrosPerSec); ok {
		if n, ok := types.AddInt64(micros, v.Micros); ok {
			return types.NewDecimalInt(n, 6)
		}
	}
	n := new(big.Int).Mul(big.NewInt(secs), big.NewInt(types.MicrosPerSec))
	n.Add(n, big.NewInt(v.Micros))
	var c apd.BigInt
	c.SetMathBigInt(new(big.Int).Abs(n))
	return types.NewDecimalBig(&c, n.Sign() < 0, 6)
}
