package eventlog_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/clustertest"
	"github.com/lichendb/lichen/internal/eventlog"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
)

// with runs a test over the log of a node that runs.
func with(t *testing.T, test func(t *testing.T, ctx context.Context, l *eventlog.Log)) {
	synctest.Test(t, func(t *testing.T) {
		nd := clustertest.Open(t, fs.NewMem())
		defer nd.Close()
		ctx, cancel := context.WithCancel(nd.Context())
		l := eventlog.New(func() *kv.DB { return nd.KV.DB }, func() kvpb.NodeID { return 1 }, slog.New(slog.DiscardHandler))
		ended := make(chan struct{})
		defer func() { cancel(); <-ended }()
		test(t, ctx, l)
		if ctx.Err() == nil {
			cancel()
		}
		close(ended)
	})
}

func list(t *testing.T, l *eventlog.Log, most int) []eventlog.Event {
	t.Helper()
	events, err := l.List(context.Background(), most)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// TestEvents: events are there a moment later, the newest first, long ones cut.
func TestEvents(t *testing.T) {
	with(t, func(t *testing.T, ctx context.Context, l *eventlog.Log) {
		go l.Run(ctx)
		l.Add(eventlog.Event{Kind: eventlog.SchemaChanged, User: "u", Text: "CREATE TABLE t (a INT)"})
		time.Sleep(time.Second)
		l.Add(eventlog.Event{Kind: eventlog.NodeStarted, Text: strings.Repeat("é", 1000)})
		time.Sleep(time.Second)
		got := list(t, l, 10)
		if len(got) != 2 || got[1].Text != "CREATE TABLE t (a INT)" || got[1].User != "u" || got[1].Node != 1 || got[0].Kind != eventlog.NodeStarted || got[0].At <= got[1].At {
			t.Fatalf("events %+v", got)
		}
		if n := len(got[0].Text); n > 1010 || !strings.HasSuffix(got[0].Text, "é…") {
			t.Errorf("a long text has %d bytes", n)
		}
		if got := list(t, l, 1); len(got) != 1 || got[0].Kind != eventlog.NodeStarted {
			t.Errorf("the newest: %+v", got)
		}
	})
}

// TestKept: of very many events the newest are kept (1).
func TestKept(t *testing.T) {
	with(t, func(t *testing.T, ctx context.Context, l *eventlog.Log) {
		go l.Run(ctx)
		const n = eventlog.MaxKept + 500
		for i := range n {
			l.Add(eventlog.Event{Kind: eventlog.SchemaChanged, Text: fmt.Sprint(i)})
			if i%100 == 99 {
				time.Sleep(time.Second)
			}
		}
		time.Sleep(time.Second)
		got := list(t, l, n)
		if len(got) > eventlog.MaxKept+64 || len(got) < eventlog.MaxKept || got[0].Text != fmt.Sprint(n-1) {
			t.Errorf("%d events, the newest is %s", len(got), got[0].Text)
		}
	})
}

// TestDropped: events for which there is no room are counted in the next (2).
func TestDropped(t *testing.T) {
	with(t, func(t *testing.T, ctx context.Context, l *eventlog.Log) {
		const n = 300
		for range n {
			l.Add(eventlog.Event{Kind: eventlog.SchemaChanged, Text: "x"})
		}
		go l.Run(ctx)
		time.Sleep(time.Second)
		got := list(t, l, n)
		dropped := int64(0)
		for _, e := range got {
			dropped += e.Dropped
		}
		if dropped == 0 || int64(len(got))+dropped != n {
			t.Errorf("%d events, %d dropped, of %d", len(got), dropped, n)
		}
	})
}
