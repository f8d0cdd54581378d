package sessionfuncs

import (
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// followerFunctions are the times that AS OF SYSTEM TIME takes for reads that the nearest
// replica serves.
func followerFunctions() []*call.Overload {
	nearest := func(c *call.Context) int64 {
		now := c.StmtTime
		if now == 0 {
			now = c.ClockMicros()
		}
		return now - kvpb.FollowerReadLag.Microseconds()
	}
	// What is asked for at least, or newer: what the nearest replica has.
	atLeast := func(c *call.Context, least int64, nearestOnly bool) (types.Datum, error) {
		if nearestOnly {
			return types.Null, pgerr.Unsupported("reads that fail rather than go to the leader (nearest_only) are not supported")
		}
		return types.NewTimestampTZ(max(least, nearest(c))), nil
	}
	back := func(c *call.Context, iv types.IntervalValue) int64 {
		return nearest(c) + kvpb.FollowerReadLag.Microseconds() - iv.Micros - (int64(iv.Days)+30*int64(iv.Months))*types.MicrosPerDay
	}
	return []*call.Overload{
		call.Fn("follower_read_timestamp() timestamptz", func(c *call.Context, _ []types.Datum) (types.Datum, error) {
			return types.NewTimestampTZ(nearest(c)), nil
		}).Stable(),
		call.Fn("with_min_timestamp(timestamptz) timestamptz", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			return atLeast(c, a[0].Int(), false)
		}).Stable(),
		call.Fn("with_min_timestamp(timestamptz,bool) timestamptz", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			return atLeast(c, a[0].Int(), a[1].Bool())
		}).Stable(),
		call.Fn("with_max_staleness(interval) timestamptz", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			return atLeast(c, back(c, a[0].Interval()), false)
		}).Stable(),
		call.Fn("with_max_staleness(interval,bool) timestamptz", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			return atLeast(c, back(c, a[0].Interval()), a[1].Bool())
		}).Stable(),
	}
}
