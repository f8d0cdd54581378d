package replica

import (
	"context"
	"time"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/trace"
)

// waiting begins a wait of a request for other transactions, for a key unless that is nil. What it returns ends the wait, whose time
// counts for the statement that has made the request.
func waiting(ctx context.Context, what string, key []byte) (end func(error)) {
	began, span := time.Now(), trace.Begin(ctx, what)
	if span != nil && key != nil {
		span.Keys(keys.Pretty(key))
	}
	return func(err error) {
		trace.AddWait(ctx, time.Since(began))
		span.End(err)
	}
}
