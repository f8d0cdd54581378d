package settings

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Fast holds parameters in the form in which every statement needs them.
type Fast struct {
	SearchPath       []string // as set; "$user" not yet resolved
	StatementTimeout time.Duration
	LockTimeout      time.Duration
	IdleInTxnTimeout time.Duration
	IdleTimeout      time.Duration
	DefaultIsolation kvpb.Isolation
	DefaultReadOnly  bool
	DefaultIntSize   int
	RulesOff         []string // rules of the optimizer that are not applied
	// MinMessages is the least severity of notices that clients get: an index
	// into Severities.
	MinMessages     int
	ApplicationName string
}

var defaultFast = Fast{
	SearchPath: []string{"$user", "public"}, DefaultIntSize: 4, MinMessages: slices.Index(Severities, "notice"),
}

// Severities are the values of client_min_messages, least first.
var Severities = []string{
	"debug5", "debug4", "debug3", "debug2", "debug1", "debug", "log", "notice", "warning", "error",
}

// Param is a configuration parameter.
type Param struct {
	Name    string
	Default string
	// Report says that clients are told of changes (ParameterStatus).
	Report bool
	// ReadOnly parameters can't be set.
	ReadOnly bool
	// NoEffect says that the value is kept and shown and changes nothing; Why
	// says what holds instead.
	NoEffect bool
	Why      string
	Doc      string

	norm  func(string) (string, bool) // canonical form of a value, false if invalid
	hint  string
	apply func(v *Values, value string)
}

func (p *Param) check(value string) (string, error) {
	if p.norm == nil {
		return value, nil
	}
	n, ok := p.norm(value)
	if !ok {
		e := pgerr.New(pgerr.InvalidParameterValue, "invalid value for parameter %q: %q", p.Name, value)
		if p.hint != "" {
			e = e.WithHint("%s", p.hint)
		}
		return "", e
	}
	return n, nil
}

func (v *Values) apply(p *Param, value string) {
	if p.apply != nil {
		p.apply(v, value)
	}
}

// canonical folds the case of a name and knows the spellings of TimeZone.
func canonical(name string) string {
	return strings.ToLower(name)
}

func lookup(name string) *Param {
	i, ok := slices.BinarySearchFunc(registry, name, func(p *Param, n string) int {
		return strings.Compare(strings.ToLower(p.Name), n)
	})
	if !ok {
		return nil
	}
	return registry[i]
}

// All returns every parameter, sorted by name.
func All() []*Param { return registry }

func boolValue(s string) (string, bool) {
	switch s := strings.ToLower(s); {
	case s == "on", s == "1", s != "" && strings.HasPrefix("true", s), s != "" && strings.HasPrefix("yes", s):
		return "on", true
	case s == "off", s == "of", s == "0", s != "" && strings.HasPrefix("false", s), s != "" && strings.HasPrefix("no", s):
		return "off", true
	}
	return "", false
}

func oneOf(values ...string) func(string) (string, bool) {
	return func(s string) (string, bool) {
		s = strings.ToLower(s)
		return s, slices.Contains(values, s)
	}
}

func intValue(lo, hi int64) func(string) (string, bool) {
	return func(s string) (string, bool) {
		n, err := strconv.ParseInt(strings.TrimSpace(s), 0, 64)
		return strconv.FormatInt(n, 10), err == nil && n >= lo && n <= hi
	}
}

func floatValue(s string) (string, bool) {
	f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	return strconv.FormatFloat(f, 'g', -1, 64), err == nil && !math.IsNaN(f)
}

// shareValue accepts a number from 0 to 1.
func shareValue(s string) (string, bool) {
	v, ok := floatValue(s)
	f, err := strconv.ParseFloat(v, 64)
	return v, ok && err == nil && f >= 0 && f <= 1
}

// sizeValue accepts a number of kilobytes or one with a unit, and keeps the form.
func sizeValue(s string) (string, bool) {
	num := strings.TrimRight(s, "kKMGTB ")
	_, err := strconv.ParseInt(num, 10, 64)
	unit := strings.TrimSpace(s[len(num):])
	return s, err == nil && slices.Contains([]string{"", "B", "kB", "MB", "GB", "TB"}, unit)
}

var timeUnits = []struct {
	name string
	unit time.Duration
}{
	{"d", 24 * time.Hour}, {"h", time.Hour}, {"min", time.Minute}, {"s", time.Second}, {"ms", time.Millisecond},
	{"us", time.Microsecond},
}

func parseTimeout(s string) (time.Duration, bool) {
	s = strings.TrimSpace(s)
	num := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyz ")
	f, err := strconv.ParseFloat(num, 64)
	if err != nil || f < 0 {
		return 0, false
	}
	unit := time.Millisecond
	if u := strings.TrimSpace(s[len(num):]); u != "" {
		i := slices.IndexFunc(timeUnits, func(t struct {
			name string
			unit time.Duration
		}) bool {
			return t.name == u
		})
		if i < 0 {
			return 0, false
		}
		unit = timeUnits[i].unit
	}
	if d := f * float64(unit); d <= float64(math.MaxInt32)*float64(time.Millisecond) {
		return time.Duration(d).Round(time.Millisecond), true
	}
	return 0, false
}

// timeoutValue prints a duration in the largest unit that divides it, as SHOW does.
func timeoutValue(s string) (string, bool) {
	d, ok := parseTimeout(s)
	if !ok {
		return "", false
	}
	if d == 0 {
		return "0", true
	}
	for _, u := range timeUnits {
		if d%u.unit == 0 {
			return fmt.Sprintf("%d%s", d/u.unit, u.name), true
		}
	}
	return "", false
}

func timeout(set func(*Fast, time.Duration)) func(*Values, string) {
	return func(v *Values, s string) {
		d, _ := parseTimeout(s)
		set(&v.Fast, d)
	}
}

// ParseIsolation reads an isolation level's name.
func ParseIsolation(s string) (kvpb.Isolation, bool) {
	switch strings.ToLower(s) {
	case "serializable":
		return kvpb.Serializable, true
	case "repeatable read":
		return kvpb.RepeatableRead, true
	case "read committed", "read uncommitted":
		return kvpb.ReadCommitted, true
	}
	return 0, false
}

func isolationValue(s string) (string, bool) {
	l, ok := ParseIsolation(s)
	return l.String(), ok
}

// SplitList splits a list of identifiers as search_path has it; quotes protect.
func SplitList(s string) ([]string, bool) {
	var out []string
	for rest := strings.TrimSpace(s); rest != ""; {
		var item string
		if rest[0] == '"' {
			end := strings.IndexByte(rest[1:], '"')
			if end < 0 {
				return nil, false
			}
			item, rest = rest[1:1+end], strings.TrimSpace(rest[end+2:])
		} else {
			end := strings.IndexByte(rest, ',')
			if end < 0 {
				end = len(rest)
			}
			item, rest = strings.ToLower(strings.TrimSpace(rest[:end])), rest[end:]
		}
		out = append(out, item)
		if rest == "" {
			break
		}
		if rest[0] != ',' {
			return nil, false
		}
		rest = strings.TrimSpace(rest[1:])
	}
	return out, true
}

func listValue(s string) (string, bool) { _, ok := SplitList(s); return s, ok }

func dateStyleValue(s string) (string, bool) {
	d, ok := ParseDateStyle(s)
	return FormatDateStyle(d), ok
}

// ParseDateStyle reads a DateStyle setting.
func ParseDateStyle(s string) (d types.DateStyle, ok bool) {
	for _, w := range strings.Split(s, ",") {
		switch strings.ToLower(strings.TrimSpace(w)) {
		case "iso":
			d.Format = types.DateISO
		case "sql":
			d.Format = types.DateSQL
		case "postgres":
			d.Format = types.DatePostgres
		case "german":
			d.Format, d.Order = types.DateGerman, types.OrderDMY
		case "mdy", "us", "noneuro", "noneuropean":
			d.Order = types.OrderMDY
		case "dmy", "euro", "european":
			d.Order = types.OrderDMY
		case "ymd":
			d.Order = types.OrderYMD
		case "default":
			d = types.DateStyle{}
		default:
			return d, false
		}
	}
	return d, true
}

// FormatDateStyle prints a DateStyle setting.
func FormatDateStyle(d types.DateStyle) string {
	return [...]string{"ISO", "SQL", "Postgres", "German"}[d.Format] + ", " + [...]string{"MDY", "DMY", "YMD"}[d.Order]
}

var intervalStyles = []string{"postgres", "postgres_verbose", "sql_standard", "iso_8601"}

func zoneValue(s string) (string, bool) {
	if strings.EqualFold(s, "local") || strings.EqualFold(s, "default") {
		return "UTC", true
	}
	loc, ok := types.LoadZone(s, nil)
	if !ok {
		return "", false
	}
	return loc.String(), true
}

func encodingValue(s string) (string, bool) {
	switch strings.ToLower(strings.NewReplacer("-", "", "_", "", "'", "").Replace(s)) {
	case "utf8", "unicode":
		return "UTF8", true
	case "sqlascii":
		return "SQL_ASCII", true
	}
	return "", false
}
