package nettest

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestTraceKeepsTheLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr, same := NewTrace(3), NewTrace(3)
		for i := range 5 {
			tr.Addf("event %d", i)
			same.Addf("event %d", i)
			pause(time.Second)
		}
		var b strings.Builder
		if _, err := tr.WriteTo(&b); err != nil || tr.Len() != 5 {
			t.Fatal(err, tr.Len())
		}
		want := fmt.Sprintf("%14s event 2\n%14s event 3\n%14s event 4\n", "2.000000000", "3.000000000", "4.000000000")
		if b.String() != want {
			t.Fatal(b.String())
		}
		if tr.Sum() != same.Sum() {
			t.Fatal("the same events have two sums")
		}
		tr.Addf("more")
		if tr.Sum() == same.Sum() {
			t.Fatal("different events have one sum")
		}
		(*Trace)(nil).Addf("nothing")
	})
}
