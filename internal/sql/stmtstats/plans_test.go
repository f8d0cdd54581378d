package stmtstats_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/sql/stmtstats"
)

// seen is a plan of a shape and a text.
func seen(shape, text string) stmtstats.Seen {
	return stmtstats.Seen{Shape: shape, Text: func() string { return text }, Reads: func() []stmtstats.Read {
		return []stmtstats.Read{{Table: 1, Equal: []uint32{1, 2, 3, 4, 5, 6}}}
	}}
}

// TestPlans: the plans seen last are kept, in bounds (3).
func TestPlans(t *testing.T) {
	var r stmtstats.Registry
	e := r.Entry("SELECT _", "db", "u")
	now := time.Unix(1000, 0)
	for i := range 3 * stmtstats.MaxPlans {
		e.Look(time.Second, now.Add(time.Duration(i)*time.Second), seen(fmt.Sprint("shape", i), strings.Repeat("é", stmtstats.MaxPlanText)))
	}
	e.Look(3*time.Second, now.Add(time.Hour), seen(fmt.Sprint("shape", 3*stmtstats.MaxPlans-2), "not asked for"))
	e.Record(&stmtstats.Outcome{Took: time.Second, Ended: now})
	got := r.Plans(10)
	if len(got) != 1 || len(got[0].Plans) != stmtstats.MaxPlans || got[0].Calls != 1 {
		t.Fatalf("plans: %+v", got)
	}
	p := got[0].Plans[0]
	if p.Samples != 2 || p.MaxNanos != int64(3*time.Second) || p.Nanos != int64(4*time.Second) || p.First >= p.Last {
		t.Errorf("the plan seen last: %+v", p)
	}
	if len(p.Text) > stmtstats.MaxPlanText || !strings.HasSuffix(p.Text, "é…") || len(p.Reads[0].Equal) != stmtstats.MaxColumns {
		t.Errorf("a plan of %d bytes, %d columns", len(p.Text), len(p.Reads[0].Equal))
	}
	if list := r.List(10); list[0].Plan != p.ID {
		t.Errorf("the last plan is %s, not %s", list[0].Plan, p.ID)
	}
	if n := len(r.Plans(0)); n != 0 {
		t.Errorf("%d of 0 fingerprints", n)
	}
}

// TestDue: a plan is looked at from time to time, and when an execution takes longer than any before.
func TestDue(t *testing.T) {
	var r stmtstats.Registry
	e := r.Entry("SELECT _", "db", "u")
	now := time.Unix(1000, 0)
	run := func(took, after time.Duration) bool {
		now = now.Add(after)
		due := e.Due(took, now)
		e.Record(&stmtstats.Outcome{Took: took, Ended: now})
		return due
	}
	for i, c := range []struct {
		took, after time.Duration
		want        bool
	}{
		{time.Second, 0, true}, {time.Millisecond, time.Second, false}, {2 * time.Second, time.Second, true}, {time.Second, stmtstats.PlanEvery - 1, false},
		{time.Second, 1, true}, {time.Second, 1, false},
	} {
		if got := run(c.took, c.after); got != c.want {
			t.Errorf("execution %d: %v", i, got)
		}
	}
}

// TestBounds: what is kept beside the entries is bounded, and the last is kept (4).
func TestBounds(t *testing.T) {
	var (
		r    stmtstats.Registry
		txns stmtstats.Txns
		slow stmtstats.SlowLog
		uses stmtstats.Indexes
		b    stmtstats.Block
	)
	now := time.Unix(1000, 0)
	o := &stmtstats.Outcome{Took: time.Second, Ended: now}
	run := func(texts ...string) []string {
		now = now.Add(time.Second)
		b.Begin(now)
		for _, text := range texts {
			b.Add(r.Entry(text, "db", "u"), o)
		}
		_, queries := txns.End(&b, "db", "u", true, now.Add(time.Millisecond))
		return queries
	}
	for i := range 2 * stmtstats.MaxTxns {
		run(fmt.Sprint("SELECT a", i))
	}
	long := make([]string, 2*stmtstats.MaxTxnStatements)
	for i := range long {
		long[i] = fmt.Sprint("SELECT b", i%7)
	}
	if queries := run(long...); len(queries) != stmtstats.MaxTxnStatements || b.Open() {
		t.Errorf("a block of %d statements", len(queries))
	}
	list := txns.List(10 * stmtstats.MaxTxns)
	if len(list) > stmtstats.MaxTxns {
		t.Errorf("%d fingerprints of blocks", len(list))
	}
	found := false
	for _, x := range list {
		found = found || x.Statements == int64(len(long))
	}
	if !found {
		t.Error("the last block is not there")
	}
	for i := range uint64(2 * stmtstats.MaxRecent) {
		txns.Remember(stmtstats.Recent{ID: [2]uint64{i, 0}})
	}
	if known := txns.Known(map[[2]uint64]bool{{0, 0}: true, {2*stmtstats.MaxRecent - 1, 0}: true}); len(known) != 1 || known[0].ID[0] == 0 {
		t.Errorf("transactions that are remembered: %v", known)
	}
	for i := range 2 * stmtstats.MaxSlow {
		slow.Add(r.Entry("SELECT", "db", "u"), o, stmtstats.Slow{Query: strings.Repeat("x", 2*stmtstats.MaxSlowText), Session: fmt.Sprint(i)})
	}
	if l := slow.List(); len(l) != stmtstats.MaxSlow || l[0].Session != fmt.Sprint(2*stmtstats.MaxSlow-1) || len(l[0].Query) > stmtstats.MaxSlowText {
		t.Errorf("%d slow statements, the last one of session %s", len(l), l[0].Session)
	}
	for i := range uint64(stmtstats.MaxIndexes + 10) {
		if u := uses.Use(stmtstats.IndexKey{Index: i}); u != nil {
			u.Note(false, 1)
		}
	}
	if l := uses.List(); len(l) != stmtstats.MaxIndexes || uses.Use(stmtstats.IndexKey{Index: 3}) == nil {
		t.Errorf("%d indexes", len(l))
	}
}
