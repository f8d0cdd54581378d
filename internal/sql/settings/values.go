package settings

import (
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/textsearch"
	"github.com/lichendb/lichen/internal/sql/types"
)

// change is an undo record of one parameter.
type change struct {
	name  string
	old   string
	had   bool
	local bool
}

// initial is a value that a parameter got at start-up, and what gave it.
type initial struct{ value, source string }

// Values are the parameters of one session. The zero value is not ready: use
// New.
type Values struct {
	// Format are the parameters on which text forms depend, ready for use.
	Format types.FormatContext
	// Typed copies of parameters that are looked at for every statement.
	Fast Fast

	set      map[string]string  // only what differs from the default
	resetTo  map[string]initial // what RESET returns to
	undo     []change
	reported []string // names of reported parameters that changed
	readonly func(name string) (string, bool)
}

// New returns the defaults. fixed, if not nil, knows the values of read-only parameters that
// are the server's (server_version, ...).
func New(fixed func(name string) (string, bool)) *Values {
	v := &Values{readonly: fixed}
	v.Format = *types.NewFormatContext()
	v.Format.Zones = types.NewZoneCache()
	v.Fast = defaultFast
	return v
}

// Get returns the value SHOW prints.
func (v *Values) Get(name string) (string, bool) {
	name = Canonical(name)
	if v.readonly != nil {
		if s, ok := v.readonly(name); ok {
			return s, true
		}
	}
	return v.kept(name)
}

// kept returns the value that was set, or the default, whatever is shown.
func (v *Values) kept(name string) (string, bool) {
	if s, ok := v.set[name]; ok {
		return s, true
	}
	if i, ok := v.resetTo[name]; ok {
		return i.value, true
	}
	if p := lookup(name); p != nil {
		return p.Default, true
	}
	return "", false
}

// Default returns the value RESET would give.
func (v *Values) Default(name string) string {
	name = Canonical(name)
	if i, ok := v.resetTo[name]; ok {
		return i.value
	}
	if p := lookup(name); p != nil {
		return p.Default
	}
	return ""
}

// SetDefault gives a start-up value: what RESET returns to. The source is as pg_settings
// names it.
func (v *Values) SetDefault(name, value, source string) error {
	if _, err := v.Set(name, value, false); err != nil {
		return err
	}
	name = Canonical(name)
	if v.resetTo == nil {
		v.resetTo = map[string]initial{}
	}
	v.resetTo[name] = initial{v.set[name], source}
	delete(v.set, name)
	v.undo = v.undo[:0]
	return nil
}

// ofOneClient are the parameters that Chosen leaves out: they bound how long a client waits, belong to a transaction or to who the
// session is, or say how its client is spoken with.
var ofOneClient = []string{
	"statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout", "idle_session_timeout", "client_connection_check_interval",
	"transaction_isolation", "transaction_read_only", "transaction_deferrable", "role", "session_authorization", "seed", "database",
	"client_encoding", "client_min_messages", "application_name",
}

// Chosen returns the parameters that differ from what they are without anybody's choice, as far as they count for what
// statements mean.
func (v *Values) Chosen() map[string]string {
	out := map[string]string{}
	for name, i := range v.resetTo {
		out[name] = i.value
	}
	maps.Copy(out, v.set)
	for name, value := range out {
		if p := lookup(name); slices.Contains(ofOneClient, name) || p != nil && (p.ReadOnly || p.Default == value) {
			delete(out, name)
		}
	}
	return out
}

// Set gives a parameter a value, until the end of the transaction if local. The
// notice, if not nil, tells that it has no effect.
func (v *Values) Set(name, value string, local bool) (notice *pgerr.Error, err error) {
	name = Canonical(name)
	p := lookup(name)
	switch {
	case p == nil && !strings.Contains(name, "."):
		return nil, Unrecognized(name)
	case p == nil:
		if err := checkCustom(name); err != nil {
			return nil, err
		}
		v.store(name, value, local)
		return nil, nil
	case p.ReadOnly:
		return nil, p.cantChange()
	}
	if p.merge != nil {
		value, err = p.merge(v, value, v.Default(name))
	} else {
		value, err = p.check(value)
	}
	if err != nil {
		return nil, err
	}
	v.store(name, value, local)
	v.apply(p, value)
	if p.NoEffect && value != p.Default && !slices.Contains(p.Alike, value) {
		notice = pgerr.New(pgerr.Warning, "parameter \"%s\" is accepted and has no effect: %s", name, p.Why)
	}
	return notice, nil
}

// checkCustom returns an error if the name of a parameter that is not built in is none.
func checkCustom(name string) error {
	if len(name) <= maxName && !slices.ContainsFunc(strings.Split(name, "."), isNoIdentifier) {
		return nil
	}
	return pgerr.New(pgerr.InvalidName, "invalid configuration parameter name \"%s\"", name).
		WithDetail("Custom parameter names must be two or more simple identifiers separated by dots.")
}

func isNoIdentifier(part string) bool {
	for i, r := range part {
		if r != '_' && r < utf8.RuneSelf && !unicode.IsLetter(r) && (i == 0 || r != '$' && !unicode.IsDigit(r)) {
			return true
		}
	}
	return part == ""
}

// Unrecognized is 42704 for a parameter that there is not.
func Unrecognized(name string) error {
	return pgerr.New(pgerr.UndefinedObject, "unrecognized configuration parameter \"%s\"", name).
		WithSuggestion("parameter", name, parameterNames)
}

// CantChange is the SQLSTATE of a change to a read-only parameter.
const CantChange pgerr.Code = "55P02"

// Reset returns a parameter to its session default.
func (v *Values) Reset(name string, local bool) error {
	name = Canonical(name)
	if lookup(name) == nil && !strings.Contains(name, ".") {
		return Unrecognized(name)
	}
	value := v.Default(name)
	v.store(name, value, local)
	if p := lookup(name); p != nil {
		v.apply(p, value)
	}
	return nil
}

// ResetAll returns every parameter to its session default.
func (v *Values) ResetAll() {
	for name := range v.set {
		if name != "transaction_isolation" && name != "transaction_read_only" && name != "session_authorization" {
			_ = v.Reset(name, false) // names in set are known
		}
	}
}

func (v *Values) store(name, value string, local bool) {
	old, had := v.set[name]
	v.undo = append(v.undo, change{name: name, old: old, had: had, local: local})
	v.put(name, value, true)
}

func (v *Values) put(name, value string, has bool) {
	if p := lookup(name); p != nil && p.Report {
		v.reported = append(v.reported, name)
	}
	if !has {
		delete(v.set, name)
		return
	}
	if v.set == nil {
		v.set = map[string]string{}
	}
	v.set[name] = value
}

// noteUser has clients told whether the session may do everything, as whom it acts now.
func (v *Values) noteUser() { v.reported = append(v.reported, "is_superuser") }

// Mark returns a point that RollbackTo returns to, for savepoints.
func (v *Values) Mark() int { return len(v.undo) }

// RollbackTo undoes the changes since a mark.
func (v *Values) RollbackTo(mark int) {
	for i := len(v.undo) - 1; i >= mark; i-- {
		v.revert(v.undo[i])
	}
	v.undo = v.undo[:mark]
}

func (v *Values) revert(c change) {
	v.put(c.name, c.old, c.had)
	if p := lookup(c.name); p != nil {
		cur, _ := v.kept(c.name)
		v.apply(p, cur)
	}
}

// Commit ends a transaction: what was set locally goes back.
func (v *Values) Commit() {
	if len(v.undo) == 0 {
		return
	}
	// A parameter goes back to what it was before its first local change after
	// its last session-wide one.
	undone := map[string]bool{}
	for i := len(v.undo) - 1; i >= 0; i-- {
		c := v.undo[i]
		if !c.local {
			undone[c.name] = true
		} else if !undone[c.name] {
			v.revert(c)
		}
	}
	v.undo = v.undo[:0]
}

// Rollback ends a transaction without keeping its changes.
func (v *Values) Rollback() { v.RollbackTo(0) }

// TakeReported returns the names of parameters that are reported to clients and that
// changed since the last call.
func (v *Values) TakeReported() []string {
	if len(v.reported) == 0 {
		return nil
	}
	r := v.reported
	v.reported = nil
	return r
}

// textSearchConfig is the name of a text search configuration, with its schema.
func textSearchConfig(s string) (string, bool) {
	name := strings.TrimPrefix(strings.ToLower(s), "pg_catalog.")
	_, ok := textsearch.ConfigNamed(name)
	return "pg_catalog." + name, ok
}
