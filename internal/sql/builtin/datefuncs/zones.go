package datefuncs

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/datetime"
)

// zoneListFunctions declares the lists of time zones and their abbreviations.
func zoneListFunctions() []*call.Overload {
	return []*call.Overload{
		call.SRF("pg_timezone_abbrevs() setof record", zoneAbbrevs).Stable().Columns(
			[]string{"abbrev", "utc_offset", "is_dst"}, []*types.T{types.Text, types.Interval, types.Bool}),
		call.SRF("pg_timezone_names() setof record", zoneNames).Stable().Columns(
			[]string{"name", "abbrev", "utc_offset", "is_dst"}, []*types.T{types.Text, types.Text, types.Interval, types.Bool}),
	}
}

// zoneNames lists the time zones with what holds at the current time.
func zoneNames(c *call.Context, _ []types.Datum) (call.RowIterator, error) {
	var rows [][]types.Datum
	at := types.TimeFromMicros(c.StmtTime)
	for _, name := range datetime.ZoneNames() {
		loc, ok := datetime.LoadZone(name, nil)
		if !ok {
			continue
		}
		local := at.In(loc)
		abbrev, east := local.Zone()
		rows = append(rows, []types.Datum{types.NewString(name), types.NewString(abbrev),
			types.NewInterval(types.IntervalValue{Micros: int64(east) * types.MicrosPerSec}), types.NewBool(local.IsDST())})
	}
	return call.NewRows(rows), nil
}

// zoneAbbrevs lists the abbreviations of time zones that input may have.
func zoneAbbrevs(*call.Context, []types.Datum) (call.RowIterator, error) {
	var rows [][]types.Datum
	datetime.EachZoneAbbrev(func(name string, east int32, dst bool) {
		rows = append(rows, []types.Datum{types.NewString(name),
			types.NewInterval(types.IntervalValue{Micros: int64(east) * types.MicrosPerSec}), types.NewBool(dst)})
	})
	return call.NewRows(rows), nil
}
