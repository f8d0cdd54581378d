package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/workload"
	"github.com/lichendb/lichen/internal/workload/measure"
)

// Operation is a statement that a run repeats.
type Operation struct {
	Name string // in the report
	SQL  string
	// Args returns the parameters of the n-th operation of a run, from 0; nil if there
	// are none. What is random in them comes from r.
	Args func(r *rand.Rand, n int64) [][]byte
}

// RunOptions say where and how much is run.
type RunOptions struct {
	Target     workload.Target
	Threads    int
	Operations int64         // all threads together
	MaxTime    time.Duration // 0: no limit
	Seed       uint64
	Report     io.Writer
	Progress   io.Writer
	Every      time.Duration // between lines of progress; 0 for none
}

// runner is one Run.
type runner struct {
	RunOptions
	ops      []Operation
	measured []*measure.Operation
	set      measure.Set
	taken    atomic.Int64
	done     atomic.Int64
	errs     *measure.Errors
}

// Run runs the operations in turn until there were as many as asked for, and reports.
func Run(ctx context.Context, ops []Operation, o RunOptions) error {
	r := &runner{RunOptions: o, ops: ops, errs: measure.NewErrors(o.Progress)}
	for _, op := range ops {
		r.measured = append(r.measured, r.set.Operation(op.Name))
	}
	conns := make([]*workload.Conn, 0, o.Threads)
	defer func() {
		for _, c := range conns {
			c.Close(context.WithoutCancel(ctx)) // nothing is under way any more
		}
	}()
	for range max(o.Threads, 1) {
		c, err := workload.Connect(ctx, o.Target)
		if err != nil {
			return err
		}
		conns = append(conns, c)
	}
	until := ctx
	if o.MaxTime > 0 {
		limited, cancel := context.WithTimeout(ctx, o.MaxTime)
		defer cancel()
		until = limited
	}
	begun := time.Now()
	stop := r.status(begun)
	var wg sync.WaitGroup
	for _, c := range conns {
		wg.Go(func() { r.work(context.WithoutCancel(ctx), until, c) })
	}
	wg.Wait()
	stop()
	return r.finish(ctx, time.Since(begun))
}

// work does operations until there are enough; one that has begun ends by itself.
func (r *runner) work(ctx, until context.Context, c *workload.Conn) {
	for until.Err() == nil {
		n := r.taken.Add(1) - 1
		if n >= r.Operations {
			return
		}
		which := int(n % int64(len(r.ops)))
		if err := r.do(ctx, c, which, n); err != nil {
			r.errs.Failed(r.ops[which].Name, err)
			if c.Lost() {
				r.errs.GiveUp(fmt.Errorf("connection lost: %w", err))
				return
			}
		}
		r.done.Add(1)
	}
}

func (r *runner) do(ctx context.Context, c *workload.Conn, which int, n int64) error {
	op := &r.ops[which]
	var args [][]byte
	if op.Args != nil {
		args = op.Args(rand.New(rand.NewPCG(r.Seed, uint64(n))), n)
	}
	begun := time.Now()
	_, err := c.Run(ctx, op.SQL, args, nil)
	status := "OK"
	if err != nil {
		status = "ERROR"
	}
	r.measured[which].Record(time.Since(begun), status, err == nil)
	r.measured[which].Retried(c.TakeRetries())
	return err
}

// status writes lines of progress until the function it returns is called.
func (r *runner) status(begun time.Time) (stop func()) {
	if r.Every <= 0 {
		return func() {}
	}
	ended, idle := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(idle)
		tick := time.NewTicker(r.Every)
		defer tick.Stop()
		last, lastTime := int64(0), begun
		for {
			select {
			case <-ended:
				return
			case <-tick.C:
			}
			now, done := time.Now(), r.done.Load()
			rate := float64(done-last) / max(now.Sub(lastTime).Seconds(), 1e-3)
			r.set.Status(r.Progress, "", now, now.Sub(begun), done, max(r.Operations-done, 0), rate)
			last, lastTime = done, now
		}
	}()
	return func() { close(ended); <-idle }
}

func (r *runner) finish(ctx context.Context, took time.Duration) error {
	if err := r.set.Report(r.Report, r.done.Load(), took, []float64{50, 95, 99}); err != nil {
		return err
	}
	_, failed := r.set.Counts()
	switch broken := r.errs.Broken(); {
	case broken != nil:
		return broken
	case failed > 0:
		return fmt.Errorf("%d operations failed", failed)
	case ctx.Err() != nil:
		return errors.New("interrupted")
	}
	return nil
}
