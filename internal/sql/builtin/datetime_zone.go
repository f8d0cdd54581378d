package builtin

import (
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/datetime"
)

// zoneListFunctions declares the lists of time zones and their abbreviations.
func zoneListFunctions() []*Overload {
	return []*Overload{
		srf("pg_timezone_abbrevs() setof record", zoneAbbrevs).stable().columns(
			[]string{"abbrev", "utc_offset", "is_dst"}, []*types.T{types.Text, types.Interval, types.Bool}),
		srf("pg_timezone_names() setof record", zoneNames).stable().columns(
			[]string{"name", "abbrev", "utc_offset", "is_dst"}, []*types.T{types.Text, types.Text, types.Interval, types.Bool}),
	}
}

// zoneNames lists the time zones with what holds at the current time.
func zoneNames(c *Context, _ []types.Datum) (RowIterator, error) {
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
	return newRows(rows), nil
}

// zoneAbbrevs lists the abbreviations of time zones that input may have.
func zoneAbbrevs(*Context, []types.Datum) (RowIterator, error) {
	var rows [][]types.Datum
	datetime.EachZoneAbbrev(func(name string, east int32, dst bool) {
		rows = append(rows, []types.Datum{types.NewString(name),
			types.NewInterval(types.IntervalValue{Micros: int64(east) * types.MicrosPerSec}), types.NewBool(dst)})
	})
	return newRows(rows), nil
}
