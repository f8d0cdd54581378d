package obs

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
)

// Channel says what messages of the log are about.
type Channel string

// The channels.
const (
	Dev       Channel = "DEV"        // for who works on the server: what belongs to no other channel
	Ops       Channel = "OPS"        // for operators: nodes that come and go, settings
	SQLSchema Channel = "SQL_SCHEMA" // changes of tables and other objects
	UserAdmin Channel = "USER_ADMIN" // changes of roles and privileges
	Sessions  Channel = "SESSIONS"   // logins, refused ones as warnings
	SQLPerf   Channel = "SQL_PERF"   // slow statements
	// SensitiveAccess is the audit log, a file of its own. What is said of all channels does not silence it.
	SensitiveAccess Channel = "SENSITIVE_ACCESS"
)

// channelKey is the name of the attribute that has the channel.
const channelKey = "channel"

// On returns a logger whose messages are on a channel.
func On(l *slog.Logger, c Channel) *slog.Logger { return l.With(slog.String(channelKey, string(c))) }

// Sensitive is a value that a redacted log leaves out: what users have written, and who they are.
type Sensitive string

// redacted stands for what is left out.
const redacted = "‹redacted›"

// levelOff is above all levels.
const levelOff = slog.Level(1 << 10)

// LogOptions say what is written to a log, and how.
type LogOptions struct {
	JSON   bool
	Redact bool // leave out what is Sensitive
	levels map[Channel]slog.Level
}

// levelNames are the levels as --log names them.
var levelNames = map[string]slog.Level{"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError, "off": levelOff}

// defaultLevels are the least levels that are written. Of sessions only what went wrong is: each login takes a line otherwise.
func defaultLevels() map[Channel]slog.Level {
	return map[Channel]slog.Level{
		Dev: slog.LevelInfo, Ops: slog.LevelInfo, SQLSchema: slog.LevelInfo, UserAdmin: slog.LevelInfo, Sessions: slog.LevelWarn, SQLPerf: slog.LevelInfo,
		SensitiveAccess: slog.LevelInfo,
	}
}

// DefaultLogOptions are those of a node that is told nothing.
func DefaultLogOptions() LogOptions { return LogOptions{levels: defaultLevels()} }

// ParseLogOptions reads what --log and --log-format say: a level for all channels, CHANNEL=level for one, redact, with commas
// between them; text or json.
func ParseLogOptions(spec, format string) (o LogOptions, err error) {
	o = DefaultLogOptions()
	switch format {
	case "", "text":
	case "json":
		o.JSON = true
	default:
		return o, fmt.Errorf("log format %q: it is text or json", format)
	}
	for _, part := range strings.Split(spec, ",") {
		part = strings.TrimSpace(part)
		name, level, one := strings.Cut(part, "=")
		switch {
		case part == "":
			continue
		case part == "redact":
			o.Redact = true
			continue
		case !one:
			level = part
		}
		least, ok := levelNames[strings.ToLower(level)]
		if !ok {
			return o, fmt.Errorf("log level %q: it is debug, info, warn, error or off", level)
		}
		if !one {
			for c := range o.levels {
				if c != SensitiveAccess {
					o.levels[c] = least
				}
			}
			continue
		}
		c := Channel(strings.ToUpper(strings.TrimSpace(name)))
		if _, ok := o.levels[c]; !ok {
			return o, fmt.Errorf("log channel %q: there are %s", name, channelNames(o.levels))
		}
		o.levels[c] = least
	}
	return o, nil
}

func channelNames(levels map[Channel]slog.Level) string {
	var names []string
	for _, c := range slices.Sorted(maps.Keys(levels)) {
		names = append(names, string(c))
	}
	return strings.Join(names, ", ")
}

// NewLoggerWith returns a logger that writes to w.
func NewLoggerWith(w io.Writer, o LogOptions) *slog.Logger {
	var to slog.Handler = slog.NewTextHandler(w, o.handler())
	if o.JSON {
		to = slog.NewJSONHandler(w, o.handler())
	}
	return slog.New(&channelHandler{to: to, channel: Dev, levels: o.levels})
}

// NewAudit returns a logger that writes the events of the audit log to w, as lines of JSON.
func NewAudit(w io.Writer, o LogOptions) *slog.Logger {
	return slog.New(&channelHandler{to: slog.NewJSONHandler(w, o.handler()), channel: SensitiveAccess, levels: o.levels})
}

// handler has a log leave out what it must.
func (o *LogOptions) handler() *slog.HandlerOptions {
	redact := o.Redact
	return &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if s, ok := a.Value.Any().(Sensitive); ok {
			if a.Value = slog.StringValue(string(s)); redact {
				a.Value = slog.StringValue(redacted)
			}
		}
		return a
	}}
}

// channelHandler lets the messages of each channel through from a level on.
type channelHandler struct {
	to      slog.Handler
	channel Channel
	named   bool // the messages have the channel already
	levels  map[Channel]slog.Level
}

// Enabled implements slog.Handler.
func (h *channelHandler) Enabled(_ context.Context, l slog.Level) bool {
	return l >= h.levels[h.channel]
}

// Handle implements slog.Handler.
func (h *channelHandler) Handle(ctx context.Context, r slog.Record) error {
	if !h.named {
		r.AddAttrs(slog.String(channelKey, string(h.channel)))
	}
	return h.to.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h *channelHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	out := *h
	for _, a := range attrs {
		if a.Key == channelKey {
			out.channel, out.named = Channel(a.Value.String()), true
		}
	}
	out.to = h.to.WithAttrs(attrs)
	return &out
}

// WithGroup implements slog.Handler.
func (h *channelHandler) WithGroup(name string) slog.Handler {
	out := *h
	out.to = h.to.WithGroup(name)
	return &out
}
