package datefuncs

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/builtin/numfuncs"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/datetime"
)

// timeSeriesFunctions declares generate_series of timestamps.
func timeSeriesFunctions() []*call.Overload {
	return []*call.Overload{
		call.SRF("generate_series(timestamp,timestamp,interval) setof timestamp", generateTimes(false)),
		call.SRF("generate_series(timestamptz,timestamptz,interval) setof timestamptz", generateTimes(true)).Stable(),
	}
}

type timeSeries struct {
	c          *call.Context
	next, stop int64
	step       types.IntervalValue
	up, zoned  bool
	row        [1]types.Datum
}

// Next implements RowIterator.
func (s *timeSeries) Next() ([]types.Datum, bool, error) {
	if s.up && s.next > s.stop || !s.up && s.next < s.stop {
		return nil, false, nil
	}
	var err error
	at := s.next
	if s.zoned {
		s.row[0] = types.NewTimestampTZ(at)
		s.next, err = datetime.AddIntervalTZ(at, s.step, s.c.Format)
	} else {
		s.row[0] = types.NewTimestamp(at)
		s.next, err = datetime.AddInterval(at, s.step)
	}
	if err == nil && s.next == at {
		// A step may be lost (infinity, a leap over a zone change): stop there.
		s.next, s.stop, s.up = 1, 0, true
	}
	return s.row[:], err == nil, err
}

func generateTimes(zoned bool) call.SRFFunc {
	return func(c *call.Context, a []types.Datum) (call.RowIterator, error) {
		s := &timeSeries{c: c, next: a[0].Int(), stop: a[1].Int(), step: a[2].Interval(), zoned: zoned}
		sign := types.CompareIntervals(s.step, types.IntervalValue{})
		if sign == 0 {
			return nil, call.Fail(numfuncs.ErrZeroStep)
		}
		s.up = sign > 0
		return s, nil
	}
}
