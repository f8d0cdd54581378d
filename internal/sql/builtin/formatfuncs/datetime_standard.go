package formatfuncs

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/builtin/datefuncs"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/datetime"
)

// ReadTemplate reads a date or time by a template in the standard mode, that of SQL/JSON; what the
// template has decides the type. east is the offset of the zone in seconds, if there is one.
func ReadTemplate(c *call.Context, s, template string) (d types.Datum, t *types.T, east int, err error) {
	r, err := readStandard(c, s, template)
	if err != nil {
		return types.Null, nil, 0, err
	}
	dated, timed, zoned := r.kinds()
	t = types.Date
	switch {
	case dated && timed && zoned:
		t = types.TimestampTZ
	case dated && timed:
		t = types.Timestamp
	case dated && zoned:
		return types.Null, nil, 0, pgerr.New(pgerr.InvalidDatetimeFormat, "datetime format is zoned but not timed")
	case timed && zoned:
		t = types.TimeTZ
	case timed:
		t = types.Time
	case !dated:
		return types.Null, nil, 0, pgerr.New(pgerr.InvalidDatetimeFormat, "datetime format is not dated and not timed")
	}
	if zoned && !r.has[fieldZoneHour] {
		return types.Null, nil, 0, pgerr.New(pgerr.InvalidDatetimeFormat, "missing time zone in input string for type %s", t.Name)
	}
	if east, err = r.zone(); err != nil {
		return types.Null, nil, 0, err
	}
	d, err = r.datum(t, east)
	if err == nil && t != types.Date {
		d, err = r.fitted(d, t)
	}
	return d, t, east, err
}

// datum puts what was read together as a value of a type.
func (r *dateReader) datum(t *types.T, east int) (types.Datum, error) {
	micros, err := r.time()
	if err != nil {
		return types.Null, err
	}
	switch t {
	case types.Time:
		return types.NewTime(micros), nil
	case types.TimeTZ:
		return types.NewTimeTZ(micros, int32(-east)), nil
	}
	days, err := r.date()
	if err != nil {
		return types.Null, err
	}
	if t == types.Date {
		return types.NewDate(days), nil
	}
	ts, err := datetime.TimestampFromDate(days)
	if err != nil {
		return types.Null, err
	}
	ts += micros
	if t == types.TimestampTZ {
		return datefuncs.TimestampTZResult(datefuncs.ValidTimestamp(ts - int64(east)*types.MicrosPerSec))
	}
	return datefuncs.TimestampResult(datefuncs.ValidTimestamp(ts))
}
