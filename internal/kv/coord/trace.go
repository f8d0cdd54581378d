package coord

import (
	"context"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/trace"
)

// traced begins the span of a request about a key, or about those from start to end, if somebody traces the statement.
func traced(ctx context.Context, kind string, start, end []byte) (context.Context, *trace.Span) {
	ctx, span := trace.Start(ctx, kind)
	if span == nil {
		return ctx, nil
	}
	switch {
	case end != nil:
		span.Keys(keys.Pretty(start) + " to " + keys.Pretty(end))
	case start != nil:
		span.Keys(keys.Pretty(start))
	}
	return ctx, span
}

// answered ends the span of a request that has read some entries.
func answered(span *trace.Span, entries int, err error) {
	if span != nil {
		span.Note("entries: %d", entries)
		span.End(err)
	}
}
