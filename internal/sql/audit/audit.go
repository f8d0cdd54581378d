package audit

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	rules "github.com/lichendb/lichen/internal/config/audit"
	"github.com/lichendb/lichen/internal/config/setting"
	"github.com/lichendb/lichen/internal/obs"
	"github.com/lichendb/lichen/internal/sql/activity"
	"github.com/lichendb/lichen/internal/sql/parser"
)

// maxText bounds the text of a statement in an event, in bytes.
const maxText = 16 << 10

// Log is the audit log of a node.
type Log struct {
	events   *slog.Logger
	settings func() *setting.Values
	read     atomic.Pointer[readRules]
}

// readRules are the rules of a setting's text.
type readRules struct {
	text  string
	rules rules.Rules
}

// New returns a log whose events go to a logger; nil: there is none. settings returns the cluster settings that hold.
func New(events *slog.Logger, settings func() *setting.Values) *Log {
	return &Log{events: events, settings: settings}
}

// Rules returns the rules that hold, nil if nothing is told.
func (l *Log) Rules() rules.Rules {
	if l.events == nil {
		return nil
	}
	text := l.settings().AuditRules
	if text == "" {
		return nil
	}
	if r := l.read.Load(); r != nil && r.text == text {
		return r.rules
	}
	rs, err := rules.Parse(text)
	if err != nil { // SET CLUSTER SETTING lets none pass
		l.events.Error("the rules of the audit log can't be read", "err", err)
	}
	l.read.Store(&readRules{text, rs})
	return rs
}

// Access is what a statement has done with a relation.
type Access struct {
	On      rules.Relation
	Actions rules.Actions
}

// Statement is a statement that has ended.
type Statement struct {
	// User is the user of the session, Role the role as which the statement ran, Login who logged in.
	User        rules.User
	Role, Login string
	Database    string
	Application string
	Client      string // address
	Session     string
	Began       time.Time
	// Within says that a function or procedure ran it.
	Within  bool
	Text    string
	Strings parser.Options // as they held when the text was read
	// Answer is the command tag, "" after an error, whose SQLSTATE is Code.
	Answer, Code string
	Accesses     []Access
	// OfRules says that it changes the rules of the audit log.
	OfRules bool
}

// Login is a login that was refused.
type Login struct {
	User             rules.User // whom it was to be
	Database, Client string
	Code, Error      string // as the client was told
}

// TellLogin writes an event for a login that was refused, if a rule tells what is denied to the user.
func (l *Log) TellLogin(x *Login) {
	rs := l.Rules()
	if rs.Told(&x.User, rules.Relation{}, rules.Denied) == rules.None {
		return
	}
	l.events.LogAttrs(context.Background(), slog.LevelInfo, "audit", slog.String("actions", rules.Denied.String()),
		slog.String("user", x.User.Name), slog.String("database", x.Database), slog.String("client", x.Client),
		slog.String("event", "login refused"), slog.String("sqlstate", x.Code), slog.String("error", x.Error))
}

// Tell writes an event if a rule tells any of what a statement has done.
func (l *Log) Tell(rs rules.Rules, st *Statement) {
	if l.events == nil || !l.events.Enabled(context.Background(), slog.LevelInfo) {
		return
	}
	var told []any
	var all rules.Actions
	for _, a := range st.Accesses {
		actions := rs.Told(&st.User, a.On, a.Actions)
		if st.OfRules {
			actions = a.Actions
		}
		if actions == rules.None {
			continue
		}
		all |= actions
		if a.On != (rules.Relation{}) {
			told = append(told, slog.String(a.On.Database+"."+a.On.Schema+"."+a.On.Name, actions.String()))
		}
	}
	if all == rules.None {
		return
	}
	attrs := []slog.Attr{slog.String("actions", all.String()), slog.String("user", st.User.Name)}
	add := func(key, value, unless string) {
		if value != unless {
			attrs = append(attrs, slog.String(key, value))
		}
	}
	add("role", st.Role, st.User.Name)
	add("login", st.Login, st.User.Name)
	add("database", st.Database, "")
	add("application", st.Application, "")
	add("client", st.Client, "")
	add("session", st.Session, "")
	if len(told) > 0 {
		attrs = append(attrs, slog.Group("relations", told...))
	}
	if st.Within {
		attrs = append(attrs, slog.Bool("within", true))
	}
	attrs = append(attrs, slog.Any("statement", obs.Sensitive(l.text(st))))
	add("answer", st.Answer, "")
	add("sqlstate", st.Code, "")
	attrs = append(attrs, slog.Float64("seconds", time.Since(st.Began).Seconds()))
	l.events.LogAttrs(context.Background(), slog.LevelInfo, "audit", attrs...)
}

// text is the text of a statement as the settings let it be seen.
func (l *Log) text(st *Statement) string {
	if !l.settings().AuditConstants {
		return parser.WithoutConstants(st.Text, st.Strings, maxText)
	}
	t := activity.Redacted(st.Text)
	if len(t) > maxText {
		t = t[:maxText] + "…"
	}
	return t
}
