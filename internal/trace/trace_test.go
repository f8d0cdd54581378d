package trace_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/trace"
)

// TestSpans: spans are told below the ones that they are parts of, with what went wrong, and those that were under way.
func TestSpans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := trace.New(7, trace.MaxSpans)
		ctx, root := trace.Start(trace.With(context.Background(), tr), "SELECT")
		within, scan := trace.Start(ctx, "scan")
		scan.Keys("/Table/1")
		wait := trace.Begin(within, "wait for a lock")
		time.Sleep(5 * time.Millisecond)
		wait.End(errors.New("deadlock"))
		scan.Note("entries: %d", 3)
		scan.End(nil)
		trace.Begin(ctx, "scan ahead")
		time.Sleep(2 * time.Millisecond)
		root.End(nil)
		tr.Finish()
		trace.Begin(ctx, "too late").End(nil)
		scan.Note("too late")
		got := regexp.MustCompile(`^trace [0-9a-f]{32}\n.*\n`).ReplaceAllString(tr.Text(), "")
		want := `     0.000 ms      7.000 ms  n7    SELECT
     0.000 ms      5.000 ms  n7      scan /Table/1, entries: 3
     0.000 ms      5.000 ms  n7        wait for a lock, error: deadlock
     5.000 ms      2.000 ms  n7      scan ahead, not ended
`
		if got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
	})
}

// TestOff: without a trace nothing is recorded, and spans are nil.
func TestOff(t *testing.T) {
	ctx := context.Background()
	within, span := trace.Start(ctx, "scan")
	if within != ctx || span != nil || trace.On(ctx) || trace.Begin(ctx, "x") != nil {
		t.Error("somebody records")
	}
	span.Note("x")
	span.Keys("x")
	span.End(nil)
	if !trace.On(trace.With(ctx, trace.New(1, 10))) {
		t.Error("nobody records")
	}
	if n := testing.AllocsPerRun(100, func() {
		_, s := trace.Start(ctx, "scan")
		s.End(nil)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestLimits: a trace has as many spans as it may, and their texts end (1).
func TestLimits(t *testing.T) {
	tr := trace.New(1, 3)
	ctx := trace.With(context.Background(), tr)
	for range 5 {
		s := trace.Begin(ctx, "scan")
		s.Keys(strings.Repeat("ä", trace.MaxText))
		s.End(errors.New(strings.Repeat("x", 2*trace.MaxText)))
	}
	spans, dropped := tr.Spans()
	if len(spans) != 3 || dropped != 2 || !strings.Contains(tr.Text(), "2 more spans") {
		t.Errorf("%d spans, %d left out", len(spans), dropped)
	}
	for _, s := range spans {
		if len(s.Keys) > trace.MaxText || len(s.Err) > trace.MaxText || !strings.HasSuffix(s.Keys, "ä…") {
			t.Errorf("%q %q", s.Keys, s.Err)
		}
	}
}

// TestInclude: the spans of another node lie within the call that brought them, whatever its clock says (2).
func TestInclude(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here := trace.New(1, 100)
		ctx, root := trace.Start(trace.With(context.Background(), here), "SELECT")
		call := trace.Begin(ctx, trace.CallPrefix+"KV")
		header := call.AppendHeader(nil)
		time.Sleep(3 * time.Millisecond) // on its way
		there, rest, err := trace.Remote(append(header, "request"...), 2)
		if err != nil || string(rest) != "request" || there.ID() != here.ID() {
			t.Fatal(string(rest), err)
		}
		far := trace.With(context.Background(), there)
		serve, span := trace.Start(far, "serve")
		time.Sleep(time.Millisecond)
		trace.Begin(serve, "get").End(nil)
		time.Sleep(3 * time.Millisecond)
		span.End(nil)
		answer := append(there.AppendSpans(nil), "answer"...)
		time.Sleep(3 * time.Millisecond) // on its way back
		spans, rest, err := trace.TakeSpans(answer)
		if err != nil || string(rest) != "answer" {
			t.Fatal(string(rest), err)
		}
		if err := call.Include(spans); err != nil {
			t.Fatal(err)
		}
		call.End(nil)
		root.End(nil)
		got := regexp.MustCompile(`^trace [0-9a-f]{32}\n.*\n`).ReplaceAllString(here.Text(), "")
		want := `     0.000 ms     10.000 ms  n1    SELECT
     0.000 ms     10.000 ms  n1      call KV
     3.000 ms      4.000 ms  n2        serve
     4.000 ms      0.000 ms  n2          get
`
		if got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
		for n := range spans {
			if err := call.Include(spans[:n]); err == nil {
				t.Errorf("%d bytes of %d are taken", n, len(spans))
			}
		}
		other := append([]byte{}, spans...)
		other[0]++
		if err := call.Include(other); err == nil {
			t.Error("another version is taken")
		}
	})
}

// TestWaited: waits are summed where the context says.
func TestWaited(t *testing.T) {
	trace.AddWait(context.Background(), time.Second) // nowhere
	ctx, waited := trace.Waiting(context.Background())
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	trace.AddWait(ctx, time.Second)
	trace.AddWait(ctx, 2*time.Second)
	if waited.Total() != 3*time.Second || trace.WaitedOf(context.Background()).Total() != 0 {
		t.Error(waited.Total())
	}
}

// FuzzInclude: whatever another node sends, nothing breaks.
func FuzzInclude(f *testing.F) {
	t := trace.New(1, 10)
	trace.Begin(trace.With(context.Background(), t), "get").End(nil)
	f.Add(t.AppendSpans(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		here := trace.New(1, 10)
		call := trace.Begin(trace.With(context.Background(), here), "call")
		if spans, _, err := trace.TakeSpans(b); err == nil {
			_ = call.Include(spans)
		}
		call.End(nil)
		_ = here.Text()
	})
}

func BenchmarkOff(b *testing.B) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	b.ReportAllocs()
	for b.Loop() {
		_, s := trace.Start(ctx, "scan")
		s.End(nil)
	}
}
