package types

import "github.com/lichendb/lichen/internal/sql/pgerr"

func addTimeCasts(add castAdder) {
	const i, a = CastImplicit, CastAssignment
	add(Date, i, 'f', castDateTimestamp, Timestamp)
	add(Date, i, 'f', castDateTimestampTZ, TimestampTZ)
	add(Timestamp, a, 'f', castTimestampDate, Date)
	add(Timestamp, a, 'f', castTimestampTime, Time)
	add(Timestamp, i, 'f', castTimestampTZ, TimestampTZ)
	add(TimestampTZ, a, 'f', castLocal(castTimestampDate), Date)
	add(TimestampTZ, a, 'f', castLocal(castTimestampTime), Time)
	add(TimestampTZ, a, 'f', castTimestampTZTimeTZ, TimeTZ)
	add(TimestampTZ, a, 'f', castTZTimestamp, Timestamp)
	add(Time, i, 'f', castTimeInterval, Interval)
	add(Time, i, 'f', castTimeTimeTZ, TimeTZ)
	add(TimeTZ, a, 'f', castTimeTZTime, Time)
	add(Interval, a, 'f', castIntervalTime, Time)
}

// TimestampFromDate returns midnight of a date, infinities included.
func TimestampFromDate(days int64) (int64, error) {
	switch infSign(days, DateNegInf, DateInf) {
	case 1:
		return TimestampInf, nil
	case -1:
		return TimestampNegInf, nil
	}
	if days >= endTimestamp/MicrosPerDay {
		return 0, pgerr.New(pgerr.DatetimeFieldOverflow, "date out of range for timestamp")
	}
	return days * MicrosPerDay, nil
}

// DateFromTimestamp returns the day of a timestamp, infinities included.
func DateFromTimestamp(ts int64) int64 {
	switch infSign(ts, TimestampNegInf, TimestampInf) {
	case 1:
		return DateInf
	case -1:
		return DateNegInf
	}
	return floorDiv(ts, MicrosPerDay)
}

func errTimestampRange() error {
	return pgerr.New(pgerr.DatetimeFieldOverflow, "timestamp out of range")
}

// TimestampTZFromLocal reads a timestamp on the session's clock.
func TimestampTZFromLocal(ts int64, fc *FormatContext) (int64, error) {
	if infSign(ts, TimestampNegInf, TimestampInf) != 0 {
		return ts, nil
	}
	ts = UTCFromLocal(ts, fc.Location())
	if !ValidTimestamp(ts) {
		return 0, errTimestampRange()
	}
	return ts, nil
}

// LocalFromTimestampTZ returns what the session's clock shows at ts.
func LocalFromTimestampTZ(ts int64, fc *FormatContext) (int64, error) {
	if infSign(ts, TimestampNegInf, TimestampInf) != 0 {
		return ts, nil
	}
	ts = LocalFromUTC(ts, fc.Location())
	if !ValidTimestamp(ts) {
		return 0, errTimestampRange()
	}
	return ts, nil
}

func castDateTimestamp(_ *FormatContext, d Datum, _ *T) (Datum, error) {
	ts, err := TimestampFromDate(d.n)
	return NewTimestamp(ts), err
}

func castDateTimestampTZ(fc *FormatContext, d Datum, _ *T) (Datum, error) {
	ts, err := TimestampFromDate(d.n)
	if err == nil {
		ts, err = TimestampTZFromLocal(ts, fc)
	}
	return NewTimestampTZ(ts), err
}

func castTimestampDate(_ *FormatContext, d Datum, _ *T) (Datum, error) {
	return NewDate(DateFromTimestamp(d.n)), nil
}

// castTimestampTime yields NULL for infinity, which has no time of day.
func castTimestampTime(_ *FormatContext, d Datum, _ *T) (Datum, error) {
	if d.IsInf() {
		return Null, nil
	}
	return NewTime(floorMod(d.n, MicrosPerDay)), nil
}

func castTimestampTZ(fc *FormatContext, d Datum, _ *T) (Datum, error) {
	ts, err := TimestampTZFromLocal(d.n, fc)
	return NewTimestampTZ(ts), err
}

func castTZTimestamp(fc *FormatContext, d Datum, _ *T) (Datum, error) {
	ts, err := LocalFromTimestampTZ(d.n, fc)
	return NewTimestamp(ts), err
}

// castLocal makes a cast from timestamp one from timestamptz.
func castLocal(fn CastFunc) CastFunc {
	return func(fc *FormatContext, d Datum, to *T) (Datum, error) {
		ts, err := LocalFromTimestampTZ(d.n, fc)
		if err != nil {
			return Null, err
		}
		return fn(fc, NewTimestamp(ts), to)
	}
}

func castTimestampTZTimeTZ(fc *FormatContext, d Datum, _ *T) (Datum, error) {
	if d.IsInf() {
		return Null, nil
	}
	east, _ := OffsetAt(fc.Location(), d.n)
	local := d.n + int64(east)*MicrosPerSec
	return NewTimeTZ(floorMod(local, MicrosPerDay), int32(-east)), nil
}

func castTimeInterval(_ *FormatContext, d Datum, _ *T) (Datum, error) {
	return NewInterval(IntervalValue{Micros: d.n}), nil
}

// castTimeTimeTZ takes the session's offset at that time today.
func castTimeTimeTZ(fc *FormatContext, d Datum, _ *T) (Datum, error) {
	loc := fc.Location()
	today := floorDiv(LocalFromUTC(fc.NowMicros(), loc), MicrosPerDay)
	local := today*MicrosPerDay + d.n
	return NewTimeTZ(d.n, int32((UTCFromLocal(local, loc)-local)/MicrosPerSec)), nil
}

func castTimeTZTime(_ *FormatContext, d Datum, _ *T) (Datum, error) { return NewTime(d.n), nil }

// castIntervalTime keeps the time part, around the clock.
func castIntervalTime(_ *FormatContext, d Datum, _ *T) (Datum, error) {
	return NewTime(floorMod(d.n, MicrosPerDay)), nil
}
