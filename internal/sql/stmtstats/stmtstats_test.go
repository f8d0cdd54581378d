package stmtstats_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/lichendb/lichen/internal/obs"
	"github.com/lichendb/lichen/internal/sql/stmtstats"
)

func TestNormalize(t *testing.T) {
	for text, want := range map[string]string{
		"SELECT 1": "SELECT _",
		"select  *\n from t -- all\n where a = 'x''y' ;":  "select * from t where a = _",
		"SELECT E'\\'', b'1', U&'x', N'n', 'a'":           "SELECT _, ...",
		"SELECT a1, \"b 2\", $1 FROM t":                   "SELECT a1, \"b 2\", $1 FROM t",
		"SELECT 1.5e-3, .5, 0x1F":                         "SELECT _, ...",
		"SELECT x FROM t WHERE a IN (1, 2,3)":             "SELECT x FROM t WHERE a IN (_, ...)",
		"INSERT INTO t VALUES (1, 'a'), (2, 'b'),(3,'c')": "INSERT INTO t VALUES (_, ...), ...",
		"INSERT INTO t VALUES (1), (2), (3)":              "INSERT INTO t VALUES (_), ...",
		"DO $x$ BEGIN PERFORM 'secret'; END $x$":          "DO _",
		"/* a /* nested */ one */ SELECT $$secret$$":      "SELECT _",
		"ALTER USER u PASSWORD 'secret":                   "ALTER USER u PASSWORD _",
		"SELECT a-1":                                      "SELECT a-_",
		"":                                                "",
	} {
		if got := stmtstats.Normalize(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	long := stmtstats.Normalize("SELECT " + strings.Repeat("é + ", 2000))
	if len(long) > stmtstats.MaxText+10 || !utf8.ValidString(long) || !strings.HasSuffix(long, "…") {
		t.Errorf("a long text has %d bytes", len(long))
	}
}

func FuzzNormalize(f *testing.F) {
	f.Add("SELECT 'a', $$b$$, \"c\", 1 -- d")
	f.Add("E'\\")
	f.Fuzz(func(t *testing.T, text string) {
		got := stmtstats.Normalize(text)
		if !utf8.ValidString(got) || len(got) > stmtstats.MaxText+10 {
			t.Errorf("%q: %q", text, got)
		}
		marked := stmtstats.Normalize("SELECT 'topsecret' , " + text)
		if strings.Contains(marked, "topsecret") && !strings.Contains(text, "topsecret") {
			t.Errorf("%q: a constant is in %q", text, marked)
		}
	})
}

// record adds an execution of a text.
func record(r *stmtstats.Registry, text string, o stmtstats.Outcome) {
	o.Ended = time.Now()
	r.Entry(text, "db", "u").Record(&o)
}

func TestRegistry(t *testing.T) {
	var r stmtstats.Registry
	record(&r, "SELECT 1", stmtstats.Outcome{Took: time.Millisecond, Rows: 1})
	record(&r, "SELECT 2", stmtstats.Outcome{Took: 3 * time.Millisecond, Rows: 1, Retries: 2, Failed: true})
	record(&r, "SELECT a FROM t", stmtstats.Outcome{Took: time.Second, Rows: 7})
	list := r.List(10)
	if len(list) != 2 || list[0].Text != "SELECT a FROM t" || list[1].Text != "SELECT _" {
		t.Fatalf("entries: %v", list)
	}
	x := list[1]
	c := obs.FromSparse(x.Latency)
	if c.Total() != 2 || x.Nanos != int64(4*time.Millisecond) || x.MaxNanos != int64(3*time.Millisecond) || x.Rows != 2 || x.Retries != 2 || x.Errors != 1 {
		t.Errorf("counts: %+v", x)
	}
	if n := r.List(1); len(n) != 1 || n[0].Text != "SELECT a FROM t" {
		t.Errorf("the first of them: %v", n)
	}
	all := r.Totals()
	if all.Latency.Total() != 3 || all.Errors != 1 || all.Retries != 2 {
		t.Errorf("sums: %+v", all)
	}
}

// TestRoom: the entries that were not used for longest give way, and stay in the sums (2).
func TestRoom(t *testing.T) {
	var r stmtstats.Registry
	const n = 3 * stmtstats.MaxEntries
	for i := range n {
		record(&r, fmt.Sprintf("SELECT a%d", i), stmtstats.Outcome{Took: time.Millisecond})
		record(&r, "SELECT kept", stmtstats.Outcome{Took: time.Microsecond})
	}
	list := r.List(n)
	kept := false
	for i := range list {
		kept = kept || list[i].Text == "SELECT kept"
	}
	if len(list) > stmtstats.MaxEntries || !kept {
		t.Errorf("%d entries, and the one in use is there: %v", len(list), kept)
	}
	all := r.Totals()
	if all.Latency.Total() != 2*n || all.Cut == 0 {
		t.Errorf("%d of %d are in the sums", all.Latency.Total(), 2*n)
	}
}

// TestGone: who holds an entry that has given way learns of that (3).
func TestGone(t *testing.T) {
	var r stmtstats.Registry
	first := r.Entry("SELECT first", "db", "u")
	for i := range 2 * stmtstats.MaxEntries {
		r.Entry(fmt.Sprintf("SELECT a%d", i), "db", "u")
	}
	if !first.Gone() || r.Entry("SELECT first", "db", "u") == first {
		t.Error("an entry that gave way is in use")
	}
	if !first.Is("db", "u") || first.Is("db", "v") || first.Is("other", "u") {
		t.Error("an entry is of others")
	}
}

func BenchmarkRecord(b *testing.B) {
	var r stmtstats.Registry
	e := r.Entry("SELECT 1", "db", "u")
	o := stmtstats.Outcome{Took: time.Millisecond, Rows: 1, Ended: time.Now()}
	for b.Loop() {
		e.Record(&o)
	}
}
