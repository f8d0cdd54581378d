package trace

import "context"

// place is where a context is: within a span of a trace.
type place struct {
	trace *Trace
	span  uint64
}

type placeKey struct{}

// With returns a context whose spans are recorded in a trace.
func With(ctx context.Context, t *Trace) context.Context {
	return context.WithValue(ctx, placeKey{}, &place{trace: t})
}

func placeOf(ctx context.Context) *place {
	p, _ := ctx.Value(placeKey{}).(*place)
	return p
}

// On reports whether somebody records spans.
func On(ctx context.Context) bool { return placeOf(ctx) != nil }

// Start begins a span, and returns a context for what is a part of it. Unless somebody records spans, it returns ctx and nil.
func Start(ctx context.Context, name string) (context.Context, *Span) {
	p := placeOf(ctx)
	if p == nil {
		return ctx, nil
	}
	s := p.trace.start(p.span, name)
	if s == nil {
		return ctx, nil
	}
	return context.WithValue(ctx, placeKey{}, &place{trace: p.trace, span: s.id}), s
}

// Begin begins a span that has no parts.
func Begin(ctx context.Context, name string) *Span {
	if p := placeOf(ctx); p != nil {
		return p.trace.start(p.span, name)
	}
	return nil
}
