package otlp

import (
	"encoding/binary"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lichendb/lichen/internal/trace"
	collector "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
	resource "go.opentelemetry.io/proto/slim/otlp/resource/v1"
	traces "go.opentelemetry.io/proto/slim/otlp/trace/v1"
)

// scopeName names who has recorded the spans.
const scopeName = "github.com/lichendb/lichen"

// spansOf is how many spans of a statement are sent.
func spansOf(s *trace.Statement) int {
	spans, _ := s.Trace.Spans()
	return min(len(spans), maxSpans)
}

// request puts the spans of statements into a message.
func request(batch []trace.Statement, node map[string]string) *collector.ExportTraceServiceRequest {
	scope := &traces.ScopeSpans{Scope: &common.InstrumentationScope{Name: scopeName}}
	for i := range batch {
		scope.Spans = append(scope.Spans, spansFrom(&batch[i])...)
	}
	about := &resource.Resource{}
	for _, name := range slices.Sorted(maps.Keys(node)) {
		about.Attributes = append(about.Attributes, text(name, node[name]))
	}
	return &collector.ExportTraceServiceRequest{ResourceSpans: []*traces.ResourceSpans{{Resource: about, ScopeSpans: []*traces.ScopeSpans{scope}}}}
}

// spansFrom are the spans of a statement, of which the first one is the statement itself.
func spansFrom(s *trace.Statement) []*traces.Span {
	records, dropped := s.Trace.Spans()
	dropped += max(len(records)-maxSpans, 0)
	records = records[:min(len(records), maxSpans)]
	id, began := s.Trace.ID(), s.Trace.Began()
	out := make([]*traces.Span, 0, len(records))
	for i := range records {
		out = append(out, spanOf(id, began, &records[i]))
	}
	if len(out) > 0 {
		describe(out[0], s, dropped)
	}
	return out
}

// spanOf leaves out what tells values of rows: keys, and the texts of errors.
func spanOf(id trace.ID, began time.Time, r *trace.Record) *traces.Span {
	start := began.Add(r.Began)
	s := &traces.Span{
		TraceId: id[:], SpanId: spanID(r.ID), Name: r.Name, Kind: traces.Span_SPAN_KIND_INTERNAL,
		StartTimeUnixNano: uint64(start.UnixNano()), EndTimeUnixNano: uint64(start.Add(r.Took).UnixNano()),
		Attributes: []*common.KeyValue{number("lichen.node_id", int64(r.Node))},
	}
	if r.Parent != 0 {
		s.ParentSpanId = spanID(r.Parent)
	}
	if strings.HasPrefix(r.Name, trace.CallPrefix) {
		s.Kind = traces.Span_SPAN_KIND_CLIENT
	}
	if r.Note != "" {
		s.Attributes = append(s.Attributes, text("lichen.note", r.Note))
	}
	if r.Open {
		s.Attributes = append(s.Attributes, text("lichen.state", "not ended"))
	}
	if r.Err != "" {
		s.Status = &traces.Status{Code: traces.Status_STATUS_CODE_ERROR}
	}
	return s
}

// describe tells of the statement, by the names that OpenTelemetry has for databases.
func describe(root *traces.Span, s *trace.Statement, dropped int) {
	root.Kind = traces.Span_SPAN_KIND_SERVER
	root.Attributes = append(root.Attributes,
		text("db.system.name", "lichen"), text("db.namespace", s.Database), text("db.operation.name", s.Tag), text("db.query.text", s.Fingerprint),
		number("db.response.returned_rows", s.Rows), number("lichen.rows_read", s.Read), number("lichen.rows_written", s.Written),
		number("lichen.retries", s.Retries), number("lichen.contention_ns", int64(s.Waited)))
	if s.Application != "" {
		root.Attributes = append(root.Attributes, text("lichen.application_name", s.Application))
	}
	if dropped > 0 {
		root.Attributes = append(root.Attributes, number("lichen.spans_left_out", int64(dropped)))
	}
	if s.Code != "" {
		root.Attributes = append(root.Attributes, text("db.response.status_code", s.Code), text("error.type", s.Code))
		root.Status = &traces.Status{Code: traces.Status_STATUS_CODE_ERROR, Message: s.Code}
	}
}

func spanID(id uint64) []byte { return binary.BigEndian.AppendUint64(nil, id) }

func text(name, value string) *common.KeyValue {
	return &common.KeyValue{Key: name, Value: &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: value}}}
}

func number(name string, value int64) *common.KeyValue {
	return &common.KeyValue{Key: name, Value: &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: value}}}
}
