package call

import (
	"time"

	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/datetime"
)

// TimeOfDay returns the microseconds of a timestamp since its midnight.
func TimeOfDay(ts int64) int64 {
	t := ts % types.MicrosPerDay
	if t < 0 {
		t += types.MicrosPerDay
	}
	return t
}

// maxSleep is the longest sleep; longer ones are cut to it.
const maxSleep = 365 * 24 * time.Hour

// Sleep waits for some seconds or until the statement is cancelled.
func (c *Context) Sleep(seconds float64) (types.Datum, error) {
	if !(seconds > 0) {
		return types.VoidDatum, c.CheckCancel()
	}
	d := time.Duration(maxSleep)
	if seconds < maxSleep.Seconds() {
		d = time.Duration(seconds * float64(time.Second))
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return types.VoidDatum, nil
	case <-c.ctx().Done():
		return types.Null, c.cancelCause()
	}
}

// ToUTC reads a timestamp as one in the session's time zone.
func (c *Context) ToUTC(local int64) int64 {
	if local == types.TimestampInf || local == types.TimestampNegInf || !types.ValidTimestamp(local) {
		return local
	}
	return datetime.UTCFromLocal(local, c.Format.Location())
}

// ToLocal is the inverse of toUTC.
func (c *Context) ToLocal(utc int64) int64 {
	if utc == types.TimestampInf || utc == types.TimestampNegInf {
		return utc
	}
	return datetime.LocalFromUTC(utc, c.Format.Location())
}

// Clock reads the wall clock.
func (c *Context) Clock() time.Time {
	if c.Now != nil {
		return c.Now()
	}
	return time.Now()
}

// PgEpochSeconds is 2000-01-01 in Unix time, where timestamps count from.
const PgEpochSeconds = 946684800

// ClockMicros returns the wall clock in microseconds since 2000-01-01 UTC.
func (c *Context) ClockMicros() int64 { return c.Clock().UnixMicro() - PgEpochSeconds*1_000_000 }

// Midnight is the beginning of the current day in the session's time zone.
func (c *Context) Midnight() int64 {
	local := c.ToLocal(c.TxnTime)
	return local - TimeOfDay(local)
}
