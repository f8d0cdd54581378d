package parser

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestWithoutConstants(t *testing.T) {
	for text, want := range map[string]string{
		"SELECT 1": "SELECT _",
		"select  *\n from t -- all\n where a = 'x''y' ;":  "select * from t where a = _",
		"SELECT E'\\'', b'1', U&'x', 'a'":                 "SELECT _, ...",
		"SELECT a1, \"b 2\", $1 FROM t":                   "SELECT a1, \"b 2\", $1 FROM t",
		"SELECT 1.5e-3, .5, 31":                           "SELECT _, ...",
		"SELECT x FROM t WHERE a IN (1, 2,3)":             "SELECT x FROM t WHERE a IN (_, ...)",
		"INSERT INTO t VALUES (1, 'a'), (2, 'b'),(3,'c')": "INSERT INTO t VALUES (_, ...), ...",
		"INSERT INTO t VALUES (1), (2), (3)":              "INSERT INTO t VALUES (_), ...",
		"DO $x$ BEGIN PERFORM 'secret'; END $x$":          "DO _",
		"/* a /* nested */ one */ SELECT $$secret$$":      "SELECT _",
		"ALTER USER u PASSWORD 'secret":                   "ALTER USER u PASSWORD…",
		"SELECT a-1":                                      "SELECT a-_",
		"":                                                "",
	} {
		if got := WithoutConstants(text, Options{}, 1000); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got := WithoutConstants(`SELECT 'it\'s secret', a`, Options{Escapes: true}, 1000); got != "SELECT _, a" {
		t.Errorf("with backslashes: %q", got)
	}
	long := WithoutConstants("SELECT "+strings.Repeat("é + ", 2000), Options{}, 1000)
	if len(long) > 1010 || !utf8.ValidString(long) || !strings.HasSuffix(long, "…") {
		t.Errorf("a long text has %d bytes", len(long))
	}
	for text, want := range map[string]string{
		"SELECT 1" + strings.Repeat(", 1", maxConstantless):                     "SELECT _, ...…",
		"SELECT '" + strings.Repeat("x", maxConstantless) + "' AS a":            "SELECT…",
		"SELECT /*" + strings.Repeat("x", maxConstantless) + "*/ a":             "SELECT…",
		"SELECT 1" + strings.Repeat(" ", maxConstantless-len("SELECT 1")):       "SELECT _",
		"SELECT 1" + strings.Repeat(" ", maxConstantless-len("SELECT 1")) + ";": "SELECT _…",
	} {
		if got := WithoutConstants(text, Options{}, 1000); got != want {
			t.Errorf("%d bytes, %s: %q, want %q", len(text), text[:10], got, want)
		}
	}
}

func FuzzWithoutConstants(f *testing.F) {
	f.Add("SELECT 'a', $$b$$, \"c\", 1 -- d")
	f.Add("E'\\")
	f.Fuzz(func(t *testing.T, text string) {
		const limit = 1000
		got := WithoutConstants(text, Options{}, limit)
		if !utf8.ValidString(got) || len(got) > limit+10 {
			t.Errorf("%q: %q", text, got)
		}
		marked := WithoutConstants("SELECT 'topsecret' , "+text, Options{}, limit)
		if strings.Contains(marked, "topsecret") && !strings.Contains(text, "topsecret") {
			t.Errorf("%q: a constant is in %q", text, marked)
		}
	})
}
