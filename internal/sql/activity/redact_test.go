package activity_test

import (
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/sql/activity"
)

func TestRedacted(t *testing.T) {
	for _, text := range []string{
		"CREATE ROLE u LOGIN PASSWORD 'topsecret' CREATEDB", "alter role u encrypted password\n 'topsecret'", "ALTER USER u PASSWORD E'topsecret\\'topsecret'",
		"ALTER USER u PASSWORD 'it''s topsecret'", "ALTER USER u PASSWORD $x$topsecret$x$", "ALTER USER u PASSWORD 'topsecret", "DO 'BEGIN EXECUTE ''ALTER USER u PASSWORD ''''topsecret''''''; END'",
		"DO $$BEGIN EXECUTE 'ALTER USER u PASSWORD ''topsecret'''; END$$", "create user a password 'topsecret'; create user b password 'topsecret'",
	} {
		got := activity.Redacted(text)
		if strings.Contains(got, "topsecret") || !strings.Contains(got, "'********'") {
			t.Errorf("%s: %s", text, got)
		}
	}
	for _, text := range []string{"SELECT password FROM t", "ALTER ROLE u PASSWORD NULL", "SELECT 'x'"} {
		if got := activity.Redacted(text); got != text {
			t.Errorf("%s: %s", text, got)
		}
	}
}
