package settings

import (
	"slices"
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

	is    Kind
	hint  string
	apply func(v *Values, value string)
}

func (p *Param) check(value string) (string, error) {
	if p.is.norm == nil {
		return value, nil
	}
	n, ok := p.is.norm(value)
	if _, is := boolValue(value); !ok && p.is.Type == "bool" && !is {
		return "", pgerr.New(pgerr.InvalidParameterValue, "parameter %q requires a Boolean value", p.Name)
	}
	if !ok {
		e := pgerr.New(pgerr.InvalidParameterValue, "invalid value for parameter %q: %q", p.Name, value)
		switch k := p.is; {
		case p.hint != "":
			e = e.WithHint("%s", p.hint)
		case k.Min != "":
			e = e.WithHint("Valid are numbers from %s to %s.", k.Min, strings.TrimSpace(k.Max+" "+k.Unit))
		case k.Enum != nil:
			e = e.WithHint("Available values: %s.", strings.Join(k.Enum, ", "))
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

// parameterNames yields the names of all parameters.
func parameterNames(yield func(string) bool) {
	for _, p := range registry {
		if !yield(p.Name) {
			return
		}
	}
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
