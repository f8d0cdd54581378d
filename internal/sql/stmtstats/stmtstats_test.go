package stmtstats_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/obs"
	"github.com/lichendb/lichen/internal/sql/stmtstats"
)

// record adds an execution of a fingerprint.
func record(r *stmtstats.Registry, text string, o stmtstats.Outcome) {
	o.Ended = time.Now()
	r.Entry(text, "db", "u").Record(&o)
}

func TestRegistry(t *testing.T) {
	var r stmtstats.Registry
	record(&r, "SELECT _", stmtstats.Outcome{Took: time.Millisecond, Rows: 1})
	record(&r, "SELECT _", stmtstats.Outcome{Took: 3 * time.Millisecond, Rows: 1, Retries: 2, Failed: true})
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

// TestRoom: the entries that were not used for longest give way, and stay in the sums (1).
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

// TestGone: who holds an entry that has given way learns of that (2).
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

// TestForget: entries that are forgotten count in the sums of the node, and what runs on counts anew.
func TestForget(t *testing.T) {
	var r stmtstats.Registry
	now := time.Unix(1000, 0)
	for _, user := range []string{"u", "v"} {
		for i, text := range []string{"SELECT a", "SELECT b"} {
			r.Entry(text, "db", user).Record(&stmtstats.Outcome{Took: time.Duration(i+1) * time.Millisecond, Ended: now})
		}
	}
	a := r.Entry("SELECT a", "db", "u")
	a.Record(&stmtstats.Outcome{Took: 3 * time.Millisecond, Ended: now})
	for _, x := range r.List(10) {
		if x.Text == "SELECT a" && x.User == "u" && (x.MinNanos != 1e6 || x.MaxNanos != 3e6 || x.Squares != 10) {
			t.Errorf("%+v", x)
		}
		if x.Text == "SELECT b" && x.User == "v" {
			r.Forget(stmtstats.Selection{User: "v", Number: x.Number()}, now)
		}
	}
	if rest := r.List(10); len(rest) != 3 || a.Gone() {
		t.Errorf("%d entries are left of 4", len(rest))
	}
	r.Forget(stmtstats.Selection{Database: "other"}, now)
	if rounds, forgot := r.Kept(); len(r.List(10)) != 3 || rounds != 0 || forgot != 0 {
		t.Errorf("%d rounds since %d", rounds, forgot)
	}
	r.Forget(stmtstats.Selection{}, now)
	if _, forgot := r.Kept(); len(r.List(10)) != 0 || !a.Gone() || forgot != now.UnixNano() {
		t.Errorf("forgot at %d", forgot)
	}
	if sums := r.Totals(); sums.Latency.Total() != 5 || sums.Nanos != 9e6 {
		t.Errorf("sums of %d executions in %d ns", sums.Latency.Total(), sums.Nanos)
	}
}
