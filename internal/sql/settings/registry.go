package settings

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/charset"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types/datetime"
)

// Fast holds parameters in the form in which every statement needs them.
type Fast struct {
	SearchPath       []string // as set; "$user" not yet resolved
	StatementTimeout time.Duration
	LockTimeout      time.Duration
	IdleInTxnTimeout time.Duration
	IdleTimeout      time.Duration
	ClientCheck      time.Duration // client_connection_check_interval
	DefaultIsolation kvpb.Isolation
	DefaultReadOnly  bool
	// DefaultDeferrable and DefaultUncommitted are what transactions show, without effect.
	DefaultDeferrable, DefaultUncommitted bool
	DefaultIntSize                        int
	RulesOff                              []string // rules of the optimizer that are not applied
	Vectorize                             string   // auto, on or off
	WorkMem                               int64    // work_mem in bytes
	ParallelWorkers                       int      // max_parallel_workers_per_gather
	Distribute                            string   // distsql: off, auto, on or always
	// MinMessages is the least severity of notices that clients get: an index
	// into Severities.
	MinMessages     int
	ApplicationName string
	// NoEscapeWarning is escape_string_warning turned off.
	NoEscapeWarning bool
	BackslashQuote  string
	// Replica is session_replication_role = replica: no foreign keys are enforced.
	Replica bool
	// NoRowSecurity is row_security turned off.
	NoRowSecurity bool
	// Role is what SET ROLE says, "none" or "" for the user of the session; SessionUser is that of SET SESSION
	// AUTHORIZATION, "" for who logged in.
	Role, SessionUser string
	// Encoding is what text is converted from and to for the client; nil: it is UTF8.
	Encoding *charset.Encoding
}

var defaultFast = Fast{
	SearchPath: []string{"$user", "public"}, DefaultIntSize: 4, Vectorize: "auto", Distribute: "auto", WorkMem: 64 << 20, ParallelWorkers: 2, BackslashQuote: "safe_encoding",
	MinMessages: slices.Index(Severities, "notice"), ClientCheck: 100 * time.Millisecond,
}

// Severities are the values of client_min_messages, least first.
var Severities = []string{
	"debug5", "debug4", "debug3", "debug2", "debug1", "debug", "log", "notice", "warning", "error",
}

// Param is a configuration parameter.
type Param struct {
	Name    string
	Default string
	// Report says that changes are reported to clients (ParameterStatus).
	Report bool
	// ReadOnly parameters can't be set.
	ReadOnly bool
	// NoEffect says that the value is kept and shown and changes nothing; Why
	// says what holds instead. Alike are the values that mean what Default does.
	NoEffect bool
	Why      string
	Alike    []string
	Doc      string

	is   Kind
	list bool // of identifiers
	// merge replaces is where a value says a part of what holds then.
	merge func(v *Values, value, reset string) (string, error)
	apply func(v *Values, value string)
}

func (p *Param) check(value string) (string, error) {
	if p.is.norm == nil {
		return value, nil
	}
	n, ok := p.is.norm(value)
	if _, is := boolValue(value); !ok && p.is.Type == "bool" && !is {
		return "", pgerr.New(pgerr.InvalidParameterValue, "parameter \"%s\" requires a Boolean value", p.Name)
	}
	if !ok {
		e := pgerr.New(pgerr.InvalidParameterValue, "invalid value for parameter \"%s\": \"%s\"", p.Name, value)
		switch k := p.is; {
		case p.list:
			e = e.WithDetail("List syntax is invalid.")
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

// maxName is the length of names beyond which they are none, in bytes.
const maxName = 1024

// Canonical folds the case of a name.
func Canonical(name string) string {
	if len(name) > maxName { // it is no parameter's, and may be of any length
		return name
	}
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

// byName has the parameters by their folded names: each statement looks for search_path, which its plan depends on.
var byName = func() map[string]*Param {
	m := make(map[string]*Param, len(registry))
	for _, p := range registry {
		m[strings.ToLower(p.Name)] = p
	}
	return m
}()

// lookup returns the parameter of a folded name, nil if there is none.
func lookup(name string) *Param { return byName[name] }

// All returns every parameter, sorted by name.
func All() []*Param { return registry }

// ParseIsolation reads an isolation level's name.
func ParseIsolation(s string) (kvpb.Isolation, bool) {
	switch strings.ToLower(s) {
	case "serializable":
		return kvpb.Serializable, true
	case "repeatable read":
		return kvpb.RepeatableRead, true
	case "read committed", readUncommitted:
		return kvpb.ReadCommitted, true
	}
	return 0, false
}

// readUncommitted is READ COMMITTED, which it does not say of itself.
const readUncommitted = "read uncommitted"

func isolationValue(s string) (string, bool) {
	_, ok := ParseIsolation(s)
	return strings.ToLower(s), ok
}

// Check returns the canonical form of a value that a parameter may have.
func Check(name, value string) (string, error) {
	p := lookup(Canonical(name))
	if p == nil {
		return "", Unrecognized(name)
	}
	return p.check(value)
}

// CheckName returns an error if there is no parameter of a name, nor can be one.
func CheckName(name string) error {
	name = Canonical(name)
	switch {
	case lookup(name) != nil:
		return nil
	case strings.Contains(name, "."):
		return checkCustom(name)
	}
	return Unrecognized(name)
}

// CheckStored returns an error if sessions can't begin with a value, and a notice if it has no
// effect.
func CheckStored(name, value string) (notice *pgerr.Error, err error) {
	return New(nil).Set(name, value, false)
}

// IsList reports whether a parameter is a list, and whether SET quotes its elements.
func IsList(name string) (list, quoted bool) {
	switch Canonical(name) {
	case "search_path", "temp_tablespaces":
		return true, true
	case "datestyle", "optimizer_rules_off":
		return true, false
	}
	return false, false
}

// SplitList splits a list of identifiers as search_path has it; quotes protect, two of
// them within quotes are one. A list of blanks is empty.
func SplitList(s string) ([]string, bool) {
	s = strings.TrimSpace(s)
	if s == "" {
		return nil, true
	}
	var out []string
	for {
		item, rest, ok := listItem(s)
		if !ok {
			return nil, false
		}
		out = append(out, item)
		if rest = strings.TrimSpace(rest); rest == "" {
			return out, true
		}
		if rest[0] != ',' {
			return nil, false
		}
		s = strings.TrimSpace(rest[1:])
	}
}

// listItem reads the identifier with which s begins.
func listItem(s string) (item, rest string, ok bool) {
	if !strings.HasPrefix(s, `"`) {
		end := strings.IndexFunc(s, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
		if end < 0 {
			end = len(s)
		}
		return strings.ToLower(s[:end]), s[end:], end > 0
	}
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] != '"':
		case i+1 < len(s) && s[i+1] == '"':
			i++
		default:
			return strings.ReplaceAll(s[1:i], `""`, `"`), s[i+1:], true
		}
	}
	return "", "", false
}

func listValue(s string) (string, bool) { _, ok := SplitList(s); return s, ok }

var intervalStyles = []string{"postgres", "postgres_verbose", "sql_standard", "iso_8601"}

func zoneValue(s string) (string, bool) {
	if strings.EqualFold(s, "local") || strings.EqualFold(s, "default") {
		return "UTC", true
	}
	loc, ok := datetime.LoadZone(s, nil)
	if !ok {
		return "", false
	}
	return loc.String(), true
}

// encodingValue takes the encodings that text can be converted to.
func encodingValue(s string) (string, bool) {
	e := charset.Find(s)
	switch {
	case e == nil || !e.Supported():
		return "", false
	case s == "UNICODE":
		return s, true // as PostgreSQL shows it
	}
	return e.Name, true
}
