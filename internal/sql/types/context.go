package types

import (
	"iter"
	"time"
)

// DateFormat is the output half of the DateStyle setting.
type DateFormat uint8

// The date formats; ISO is the default.
const (
	DateISO DateFormat = iota
	DateSQL
	DatePostgres
	DateGerman
)

// DateOrder is the input half of the DateStyle setting: how 01/02/03 is read.
type DateOrder uint8

// The date orders; MDY is the default.
const (
	OrderMDY DateOrder = iota
	OrderDMY
	OrderYMD
)

// DateStyle is the DateStyle setting. Its zero value is "ISO, MDY".
type DateStyle struct {
	Format DateFormat
	Order  DateOrder
}

// IntervalStyle is the IntervalStyle setting.
type IntervalStyle uint8

// The interval styles; postgres is the default.
const (
	IntervalPostgres IntervalStyle = iota
	IntervalPostgresVerbose
	IntervalSQLStandard
	IntervalISO8601
)

// ByteaOutput is the bytea_output setting.
type ByteaOutput uint8

// The bytea formats; hex is the default.
const (
	ByteaHex ByteaOutput = iota
	ByteaEscape
)

// Names turns the oids of the reg* types into names and back. The SQL layer
// fills it from the catalog; without it those types read and print numbers,
// and regtype knows the predeclared types.
type Names interface {
	// NameOf returns the name of object oid, of the kind t (Regclass,
	// Regproc, Regtype, Regnamespace) holds.
	NameOf(t *T, oid uint32) (string, bool)
	// OidOf is the inverse; its error is what the client sees.
	OidOf(t *T, name string) (uint32, error)
}

// FormatContext carries the session settings on which text forms and time zone
// arithmetic depend. A nil *FormatContext means NewFormatContext().
type FormatContext struct {
	TimeZone         *time.Location // nil means UTC
	DateStyle        DateStyle
	IntervalStyle    IntervalStyle
	ExtraFloatDigits int // 1 by default: shortest exact output
	ByteaOutput      ByteaOutput
	Escapes          bool       // backslashes in '...' are escapes: standard_conforming_strings is off
	Now              time.Time  // start of the transaction, for 'now' and 'today'
	Zones            *ZoneCache // parsed time zones; nil loads them each time
	Names            Names      // nil: no catalog
	// Step counts n steps of a loop over a value, which may be large, and fails once the
	// statement is cancelled, and from then on; nil: it can't be. What returns no error then ends
	// early with a result that the caller of Step's owner throws away.
	Step func(n int) error
	// TypeByOid finds user-defined types, for fields of records; nil: none.
	TypeByOid func(oid uint32) (*T, bool)
	// CheckDomain returns an error if d breaks a constraint of the domain t, or of the one that
	// t is an array of; nil: records with fields of domains can't be made.
	CheckDomain func(t *T, d Datum) error
	// Cast converts a value by a cast with a function, where no expression does so; nil: no such value can be converted.
	Cast func(from, to *T, d Datum) (Datum, error)
}

// NewFormatContext returns PostgreSQL's default settings, in UTC.
func NewFormatContext() *FormatContext { return &FormatContext{ExtraFloatDigits: 1} }

// Location returns the session's time zone.
func (fc *FormatContext) Location() *time.Location {
	if fc == nil || fc.TimeZone == nil {
		return time.UTC
	}
	return fc.TimeZone
}

// NowMicros returns Now as a timestamptz value, or the clock's reading when Now
// is not set.
func (fc *FormatContext) NowMicros() int64 {
	if fc == nil || fc.Now.IsZero() {
		return MicrosFromTime(time.Now())
	}
	return MicrosFromTime(fc.Now)
}

// StepBytes is how many bytes of a value a function works on between two steps.
const StepBytes = 64 << 10

// Pieces yields the pieces of s that lie between two steps. It ends early once the statement is
// cancelled: see Step.
func (fc *FormatContext) Pieces(s string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for len(s) > StepBytes {
			if !yield(s[:StepBytes]) || fc.Stopped(StepBytes) {
				return
			}
			s = s[StepBytes:]
		}
		yield(s)
	}
}

// Pace counts the steps of a pass over the bytes of a value.
type Pace struct {
	fc  *FormatContext
	due int // where the next step is
}

// Pace returns the pace of a pass that begins.
func (fc *FormatContext) Pace() Pace { return Pace{fc: fc, due: StepBytes} }

// Stopped reports whether the statement is cancelled: see Step. at is how many bytes the pass
// is through with.
func (p *Pace) Stopped(at int) bool { return at >= p.due && p.step(at) }

func (p *Pace) step(at int) bool {
	n := StepBytes + at - p.due
	p.due = at + StepBytes
	return p.fc.Stopped(n)
}

// Stopped counts n steps and reports whether the statement is cancelled: see Step.
func (fc *FormatContext) Stopped(n int) bool { return fc.CountSteps(n) != nil }

// CountSteps counts n steps of a loop over a value: see Step.
func (fc *FormatContext) CountSteps(n int) error {
	if fc == nil || fc.Step == nil {
		return nil
	}
	return fc.Step(n)
}
