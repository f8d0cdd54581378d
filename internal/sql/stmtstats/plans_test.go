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
