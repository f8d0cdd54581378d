package workload

import (
	"context"
	"time"

	"github.com/lichendb/lichen/internal/sleep"
)

// Pacer spaces the operations of one thread.
type Pacer struct {
	interval time.Duration
	next     time.Time
}

// NewPacer returns a pacer for one of several threads that together aim for perSecond
// operations a second; 0 means as fast as possible. Threads start spread over the
// first interval, not all at once.
func NewPacer(perSecond float64, threads, thread int, start time.Time) *Pacer {
	if perSecond <= 0 {
		return &Pacer{}
	}
	iv := time.Duration(float64(time.Second) * float64(threads) / perSecond)
	return &Pacer{interval: iv, next: start.Add(iv * time.Duration(thread) / time.Duration(threads))}
}

// Wait returns when the next operation is due. A thread that fell behind catches up.
func (p *Pacer) Wait(ctx context.Context) {
	if p.interval == 0 {
		return
	}
	_ = sleep.For(ctx, time.Until(p.next)) // who calls looks at ctx
	p.next = p.next.Add(p.interval)
}
