// Package datefuncs declares operators and functions of dates, times and intervals: the clock,
// arithmetic, extract and date_trunc, time zones, generate_series of timestamps.
//
// What depends on the session's time zone is stable, not immutable.
package datefuncs
