package casts

import (
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/datetime"
)

func addTimeCasts(add castAdder) {
	const i, a = types.CastImplicit, types.CastAssignment
	add(types.Date, i, 'f', castDateTimestamp, types.Timestamp)
	add(types.Date, i, 'f', castDateTimestampTZ, types.TimestampTZ)
	add(types.Timestamp, a, 'f', castTimestampDate, types.Date)
	add(types.Timestamp, a, 'f', castTimestampTime, types.Time)
	add(types.Timestamp, i, 'f', castTimestampTZ, types.TimestampTZ)
	add(types.TimestampTZ, a, 'f', castLocal(castTimestampDate), types.Date)
	add(types.TimestampTZ, a, 'f', castLocal(castTimestampTime), types.Time)
	add(types.TimestampTZ, a, 'f', castTimestampTZTimeTZ, types.TimeTZ)
	add(types.TimestampTZ, a, 'f', castTZTimestamp, types.Timestamp)
	add(types.Time, i, 'f', castTimeInterval, types.Interval)
	add(types.Time, i, 'f', castTimeTimeTZ, types.TimeTZ)
	add(types.TimeTZ, a, 'f', castTimeTZTime, types.Time)
	add(types.Interval, a, 'f', castIntervalTime, types.Time)
}

func castDateTimestamp(_ *types.FormatContext, d types.Datum, _ *types.T) (types.Datum, error) {
	ts, err := datetime.TimestampFromDate(d.Int())
	return types.NewTimestamp(ts), err
}

func castDateTimestampTZ(fc *types.FormatContext, d types.Datum, _ *types.T) (types.Datum, error) {
	ts, err := datetime.TimestampFromDate(d.Int())
	if err == nil {
		ts, err = datetime.TimestampTZFromLocal(ts, fc)
	}
	return types.NewTimestampTZ(ts), err
}

func castTimestampDate(_ *types.FormatContext, d types.Datum, _ *types.T) (types.Datum, error) {
	return types.NewDate(datetime.DateFromTimestamp(d.Int())), nil
}

// castTimestampTime yields NULL for infinity, which has no time of day.
func castTimestampTime(_ *types.FormatContext, d types.Datum, _ *types.T) (types.Datum, error) {
	if d.IsInf() {
		return types.Null, nil
	}
	return types.NewTime(types.FloorMod(d.Int(), types.MicrosPerDay)), nil
}

func castTimestampTZ(fc *types.FormatContext, d types.Datum, _ *types.T) (types.Datum, error) {
	ts, err := datetime.TimestampTZFromLocal(d.Int(), fc)
	return types.NewTimestampTZ(ts), err
}

func castTZTimestamp(fc *types.FormatContext, d types.Datum, _ *types.T) (types.Datum, error) {
	ts, err := datetime.LocalFromTimestampTZ(d.Int(), fc)
	return types.NewTimestamp(ts), err
}

// castLocal makes a cast from timestamp one from timestamptz.
func castLocal(fn types.CastFunc) types.CastFunc {
	return func(fc *types.FormatContext, d types.Datum, to *types.T) (types.Datum, error) {
		ts, err := datetime.LocalFromTimestampTZ(d.Int(), fc)
		if err != nil {
			return types.Null, err
		}
		return fn(fc, types.NewTimestamp(ts), to)
	}
}

func castTimestampTZTimeTZ(fc *types.FormatContext, d types.Datum, _ *types.T) (types.Datum, error) {
	if d.IsInf() {
		return types.Null, nil
	}
	east, _ := datetime.OffsetAt(fc.Location(), d.Int())
	local := d.Int() + int64(east)*types.MicrosPerSec
	return types.NewTimeTZ(types.FloorMod(local, types.MicrosPerDay), int32(-east)), nil
}

func castTimeInterval(_ *types.FormatContext, d types.Datum, _ *types.T) (types.Datum, error) {
	return types.NewInterval(types.IntervalValue{Micros: d.Int()}), nil
}

// castTimeTimeTZ takes the session's offset at that time today.
func castTimeTimeTZ(fc *types.FormatContext, d types.Datum, _ *types.T) (types.Datum, error) {
	loc := fc.Location()
	today := types.FloorDiv(datetime.LocalFromUTC(fc.NowMicros(), loc), types.MicrosPerDay)
	local := today*types.MicrosPerDay + d.Int()
	return types.NewTimeTZ(d.Int(), int32((datetime.UTCFromLocal(local, loc)-local)/types.MicrosPerSec)), nil
}

func castTimeTZTime(_ *types.FormatContext, d types.Datum, _ *types.T) (types.Datum, error) {
	return types.NewTime(d.Int()), nil
}

// castIntervalTime keeps the time part, around the clock.
func castIntervalTime(_ *types.FormatContext, d types.Datum, _ *types.T) (types.Datum, error) {
	return types.NewTime(types.FloorMod(d.Int(), types.MicrosPerDay)), nil
}
