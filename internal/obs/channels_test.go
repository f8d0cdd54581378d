package obs_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/obs"
)

// TestChannels: each channel has its least level, and a redacted log lacks what is sensitive.
func TestChannels(t *testing.T) {
	for _, c := range []struct{ spec, format, want string }{
		{"", "", "dev info DEV|ops info OPS|session warn SESSIONS hello"},
		{"warn,ops=info,redact", "text", "ops info OPS|session warn SESSIONS ‹redacted›"},
		{"off, sessions=debug", "json", "session info SESSIONS hello|session warn SESSIONS hello"},
		{"debug", "", "dev debug DEV|dev info DEV|ops info OPS|session info SESSIONS hello|session warn SESSIONS hello"},
	} {
		o, err := obs.ParseLogOptions(c.spec, c.format)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		l := obs.NewLoggerWith(&b, o)
		l.Debug("dev debug")
		l.Info("dev info")
		obs.On(l, obs.Ops).Info("ops info")
		s := obs.On(l, obs.Sessions).With("node", 1)
		s.Info("session info", "user", obs.Sensitive("hello"))
		s.Warn("session warn", "user", obs.Sensitive("hello"))
		var got []string
		for line := range strings.Lines(b.String()) {
			if strings.HasPrefix(line, "{") != (c.format == "json") || strings.Count(line, "channel") != 1 {
				t.Errorf("%s: %s", c.spec, line)
			}
			words := ""
			for _, w := range []string{"dev debug", "dev info", "ops info", "session info", "session warn", "DEV", "OPS", "SESSIONS", "hello", "‹redacted›"} {
				if strings.Contains(line, w) {
					words += " " + w
				}
			}
			got = append(got, strings.TrimSpace(words))
		}
		if text := strings.Join(got, "|"); text != c.want {
			t.Errorf("%q: %s, want %s", c.spec, text, c.want)
		}
	}
	for spec, want := range map[string]string{"loud": "log level", "ops=loud": "log level", "tables=info": "there are DEV, OPS, SENSITIVE_ACCESS, SESSIONS, SQL_PERF, SQL_SCHEMA, USER_ADMIN"} {
		if _, err := obs.ParseLogOptions(spec, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", spec, err)
		}
	}
	if _, err := obs.ParseLogOptions("", "yaml"); err == nil {
		t.Error("a format that there is not")
	}
}

// TestAuditChannel: the audit log is a channel that only its own name silences; redacted, it tells who has done what, without the
// texts of statements.
func TestAuditChannel(t *testing.T) {
	for spec, want := range map[string]string{
		"":                     `{"level":"INFO","msg":"audit","user":"clerk","statement":"SELECT 1","channel":"SENSITIVE_ACCESS"}`,
		"off":                  `{"level":"INFO","msg":"audit","user":"clerk","statement":"SELECT 1","channel":"SENSITIVE_ACCESS"}`,
		"redact":               `{"level":"INFO","msg":"audit","user":"clerk","statement":"‹redacted›","channel":"SENSITIVE_ACCESS"}`,
		"SENSITIVE_ACCESS=off": "",
	} {
		o, err := obs.ParseLogOptions(spec, "text")
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		obs.NewAudit(&b, o).Info("audit", "user", "clerk", "statement", obs.Sensitive("SELECT 1"))
		got := regexp.MustCompile(`"time":"[^"]*",`).ReplaceAllString(strings.TrimSpace(b.String()), "")
		if got != want {
			t.Errorf("%q: %s, want %s", spec, got, want)
		}
	}
}
