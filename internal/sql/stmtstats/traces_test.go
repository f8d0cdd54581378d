package stmtstats_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/sql/stmtstats"
)

// TestTraces: after a slow execution others are traced, one in a while, until it was long ago.
func TestTraces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r stmtstats.Registry
		e := r.Entry("SELECT _", "d", "u")
		if e.Traces() {
			t.Error("traced though none was slow")
		}
		e.TraceNext(time.Now())
		if !e.Traces() || e.Traces() {
			t.Error("the next one is to be traced, and no other one at once")
		}
		time.Sleep(stmtstats.TraceEvery)
		if !e.Traces() {
			t.Error("not traced after a while")
		}
		time.Sleep(stmtstats.TraceFor)
		for range 2 {
			if e.Traces() {
				t.Error("traced though the slow one was long ago")
			}
		}
	})
}
