package ttl

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// Schedule says at which times something is due, in UTC.
type Schedule struct {
	every time.Duration // of @every; 0: the fields decide
	// The fields: minutes, hours, days of the month, months, days of the week; bit i says that value i fits.
	minute, hour, day, month, weekday uint64
	// anyDay and anyWeekday say that a field was *: if neither was, one of both is enough.
	anyDay, anyWeekday bool
}

// field is the range of a field, with names of its values.
type field struct {
	low, high int
	names     string // of three letters each, from low on
}

var fields = [...]field{{0, 59, ""}, {0, 23, ""}, {1, 31, ""}, {1, 12, "janfebmaraprmayjunjulaugsepoctnovdec"}, {0, 7, "sunmontuewedthufrisat"}}

var words = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
	"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

var errCron = errors.New("ttl: no cron expression")

// ParseSchedule reads a cron expression: five fields, one of words, or @every and a duration.
func ParseSchedule(text string) (*Schedule, error) {
	text = strings.ToLower(strings.TrimSpace(text))
	if rest, ok := strings.CutPrefix(text, "@every "); ok {
		d, err := time.ParseDuration(strings.TrimSpace(rest))
		if err != nil || d < time.Second {
			return nil, errCron
		}
		return &Schedule{every: d.Truncate(time.Second)}, nil
	}
	if w, ok := words[text]; ok {
		text = w
	}
	parts := strings.Fields(text)
	if len(parts) != len(fields) {
		return nil, errCron
	}
	s := &Schedule{anyDay: starred(parts[2]), anyWeekday: starred(parts[4])}
	for i, bits := range []*uint64{&s.minute, &s.hour, &s.day, &s.month, &s.weekday} {
		var err error
		if *bits, err = fields[i].parse(parts[i]); err != nil {
			return nil, err
		}
	}
	if s.weekday&(1<<7) != 0 { // Sunday as well
		s.weekday |= 1
	}
	return s, nil
}

func starred(part string) bool { return strings.HasPrefix(part, "*") || part == "?" }

// parse reads a list of values, ranges and steps.
func (f field) parse(part string) (bits uint64, err error) {
	for _, item := range strings.Split(part, ",") {
		span, stepText, stepped := strings.Cut(item, "/")
		step, low, high := 1, f.low, f.high
		if stepped {
			if step, err = strconv.Atoi(stepText); err != nil || step < 1 {
				return 0, errCron
			}
		}
		if span != "*" && span != "?" {
			from, to, ranged := strings.Cut(span, "-")
			if low, err = f.value(from); err != nil {
				return 0, err
			}
			if ranged {
				high, err = f.value(to)
			} else if !stepped {
				high = low
			}
			if err != nil || high < low {
				return 0, errCron
			}
		}
		for v := low; v <= high; v += step {
			bits |= 1 << v
		}
	}
	return bits, nil
}

func (f field) value(text string) (int, error) {
	if i := strings.Index(f.names, text); len(text) == 3 && i >= 0 && i%3 == 0 {
		return f.low + i/3, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < f.low || n > f.high {
		return 0, errCron
	}
	return n, nil
}

// lookAhead bounds how far Next looks: February 29 comes within eight years.
const lookAhead = 9 * 366

// Next returns the first time after another one at which something is due; ok is false if there is none.
func (s *Schedule) Next(after time.Time) (next time.Time, ok bool) {
	after = after.UTC()
	if s.every > 0 {
		return after.Add(s.every), true
	}
	t := after.Truncate(time.Minute).Add(time.Minute)
	for range lookAhead {
		if s.fits(t) {
			for d := t.Day(); t.Day() == d; t = t.Add(time.Minute) {
				if s.hour&(1<<t.Hour()) != 0 && s.minute&(1<<t.Minute()) != 0 {
					return t, true
				}
			}
			continue
		}
		t = time.Date(t.Year(), t.Month(), t.Day()+1, 0, 0, 0, 0, time.UTC)
	}
	return time.Time{}, false
}

// fits reports whether the day of a time is one of the schedule.
func (s *Schedule) fits(t time.Time) bool {
	day, weekday := s.day&(1<<t.Day()) != 0, s.weekday&(1<<t.Weekday()) != 0
	if !s.anyDay && !s.anyWeekday {
		day = day || weekday
	} else {
		day = day && weekday
	}
	return day && s.month&(1<<t.Month()) != 0
}
