package otlp_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lichendb/lichen/internal/otlp"
	"github.com/lichendb/lichen/internal/trace"
	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	traces "go.opentelemetry.io/proto/slim/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeCollector takes traces on loopback.
type fakeCollector struct {
	*httptest.Server
	mu       sync.Mutex
	requests []*collector.ExportTraceServiceRequest
	headers  []http.Header
	answer   func(n int, w http.ResponseWriter) // to the nth request, from 1; nil: all are taken
}

func newCollector(t *testing.T) *fakeCollector {
	c := &fakeCollector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		req := &collector.ExportTraceServiceRequest{}
		if err = errors.Join(err, proto.Unmarshal(body, req)); err != nil || r.Method != http.MethodPost || r.URL.Path != "/v1/traces" {
			t.Errorf("%s %s: %v", r.Method, r.URL, err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.requests, c.headers = append(c.requests, req), append(c.headers, r.Header)
		if c.answer != nil {
			c.answer(len(c.requests), w)
		}
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *fakeCollector) spans() (out []*traces.Span) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.requests {
		for _, x := range r.ResourceSpans {
			for _, s := range x.ScopeSpans {
				out = append(out, s.Spans...)
			}
		}
	}
	return out
}

func exporter(url string, share float64) *otlp.Exporter {
	return otlp.New(otlp.Options{
		Target: func() (string, float64) { return url, share },
		Resource: func() map[string]string {
			return map[string]string{"service.name": "lichen", "service.instance.id": "3"}
		},
		Headers: map[string]string{"Authorization": "Bearer of news"}, Logger: slog.New(slog.DiscardHandler), Pause: time.Millisecond,
	})
}

// statement is one with a span that tells values.
func statement() trace.Statement {
	t := trace.New(3, 100)
	ctx, root := trace.Start(trace.With(context.Background(), t), "SELECT")
	within, get := trace.Start(ctx, "get")
	get.Keys("/Table/secret")
	get.Note("entries: 1")
	trace.Begin(within, trace.CallPrefix+"KV").End(errors.New("key secret is locked"))
	get.End(nil)
	root.End(nil)
	t.Finish()
	return trace.Statement{Trace: t, Tag: "SELECT", Fingerprint: "SELECT a FROM t WHERE b = _", Database: "shop", Code: "40001", Rows: 1, Read: 2}
}

func attributes(list []*common.KeyValue) map[string]string {
	out := map[string]string{}
	for _, a := range list {
		out[a.Key] = a.Value.GetStringValue()
	}
	return out
}

// TestExport: a collector gets the spans of statements, with their parents, and what they are of.
func TestExport(t *testing.T) {
	c := newCollector(t)
	e := exporter(c.URL+"/v1/traces", 1)
	if !e.Sample() {
		t.Fatal("no statement is to be exported")
	}
	e.Export(statement())
	e.Export(statement())
	e.Close()
	if n := e.Counts(); n != (otlp.Counts{Exported: 2}) {
		t.Errorf("%+v", n)
	}
	spans := c.spans()
	if len(spans) != 6 || len(c.requests) != 1 {
		t.Fatalf("%d spans in %d requests", len(spans), len(c.requests))
	}
	root, get, call := spans[0], spans[1], spans[2]
	if len(root.TraceId) != 16 || len(root.SpanId) != 8 || root.ParentSpanId != nil || string(get.ParentSpanId) != string(root.SpanId) || string(call.ParentSpanId) != string(get.SpanId) {
		t.Error("the spans are no tree")
	}
	if root.Kind != traces.Span_SPAN_KIND_SERVER || call.Kind != traces.Span_SPAN_KIND_CLIENT || root.StartTimeUnixNano > root.EndTimeUnixNano || root.StartTimeUnixNano == 0 {
		t.Errorf("%v", root)
	}
	a := attributes(root.Attributes)
	if a["db.query.text"] != "SELECT a FROM t WHERE b = _" || a["db.namespace"] != "shop" || a["db.response.status_code"] != "40001" || root.Status.Code != traces.Status_STATUS_CODE_ERROR {
		t.Errorf("%v %v", a, root.Status)
	}
	if r := attributes(c.requests[0].ResourceSpans[0].Resource.Attributes); r["service.name"] != "lichen" || r["service.instance.id"] != "3" {
		t.Errorf("%v", r)
	}
	if h := c.headers[0]; h.Get("Authorization") != "Bearer of news" || h.Get("Content-Type") != "application/x-protobuf" {
		t.Errorf("%v", h)
	}
}

// TestNoValues: keys and texts of errors, which tell values, stay here (2).
func TestNoValues(t *testing.T) {
	c := newCollector(t)
	e := exporter(c.URL+"/v1/traces", 1)
	e.Export(statement())
	e.Close()
	text := ""
	for _, r := range c.requests {
		text += r.String()
	}
	if text == "" || strings.Contains(text, "secret") {
		t.Error(text)
	}
}

// TestOff: without a collector, or with a share of none, no statement is traced.
func TestOff(t *testing.T) {
	for _, e := range []*otlp.Exporter{exporter("", 1), exporter("http://127.0.0.1:1/v1/traces", 0)} {
		for range 1000 {
			if e.Sample() {
				t.Fatal("a statement is to be exported")
			}
		}
		e.Close()
	}
}

// TestNeverBlocks: while the collector does not answer, what finds the queue full is dropped, at once (1).
func TestNeverBlocks(t *testing.T) {
	c := newCollector(t)
	go1 := make(chan struct{})
	c.answer = func(n int, w http.ResponseWriter) { <-go1 }
	e := exporter(c.URL+"/v1/traces", 1)
	s := statement()
	const many = 4 * otlp.MaxQueue
	for range many {
		e.Export(s)
	}
	n := e.Counts()
	if n.Dropped == 0 || n.Exported != 0 {
		t.Errorf("%+v", n)
	}
	close(go1)
	e.Close()
	if n := e.Counts(); n.Exported+n.Dropped+n.Failed != many || n.Exported == 0 {
		t.Errorf("%+v", n)
	}
}

// TestRefused: what a collector refuses, or has refused in part, counts as failed; one that is busy is asked again.
func TestRefused(t *testing.T) {
	for name, x := range map[string]struct {
		answer   func(n int, w http.ResponseWriter)
		want     otlp.Counts
		requests int
	}{
		"refused": {func(_ int, w http.ResponseWriter) { w.WriteHeader(http.StatusBadRequest) }, otlp.Counts{Failed: 1}, 1},
		"in part": {func(_ int, w http.ResponseWriter) {
			b, _ := proto.Marshal(&collector.ExportTraceServiceResponse{PartialSuccess: &collector.ExportTracePartialSuccess{RejectedSpans: 2, ErrorMessage: "too old"}})
			_, _ = w.Write(b)
		}, otlp.Counts{Failed: 1}, 1},
		"busy at first": {func(n int, w http.ResponseWriter) {
			if n == 1 {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		}, otlp.Counts{Exported: 1}, 2},
	} {
		c := newCollector(t)
		c.answer = x.answer
		e := exporter(c.URL+"/v1/traces", 1)
		e.Export(statement())
		e.Close()
		if n := e.Counts(); n != x.want || len(c.requests) != x.requests {
			t.Errorf("%s: %+v after %d requests", name, n, len(c.requests))
		}
	}
}
