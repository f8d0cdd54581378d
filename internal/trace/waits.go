package trace

import (
	"context"
	"sync/atomic"
	"time"
)

// Waited sums how long requests have waited for other transactions. The zero value is none.
type Waited struct{ nanos atomic.Int64 }

// Total returns the sum so far; that of nil is 0.
func (w *Waited) Total() time.Duration {
	if w == nil {
		return 0
	}
	return time.Duration(w.nanos.Load())
}

// WaitedKey is the key of a context's *Waited. Contexts that are made for each statement or request answer it themselves.
type WaitedKey struct{}

// WaitedOf returns where the waits of a context are summed; nil: nowhere.
func WaitedOf(ctx context.Context) *Waited {
	w, _ := ctx.Value(WaitedKey{}).(*Waited)
	return w
}

// AddWait adds a wait.
func AddWait(ctx context.Context, d time.Duration) {
	if d > 0 {
		if w := WaitedOf(ctx); w != nil {
			w.nanos.Add(int64(d))
		}
	}
}

// request is the context of a request that sums its waits.
type request struct {
	context.Context
	waited Waited
}

// Value implements context.Context.
func (r *request) Value(key any) any {
	if key == (WaitedKey{}) {
		return &r.waited
	}
	return r.Context.Value(key)
}

// Waiting returns a context that sums the waits of a request by itself.
func Waiting(ctx context.Context) (context.Context, *Waited) {
	r := &request{Context: ctx}
	return r, &r.waited
}
