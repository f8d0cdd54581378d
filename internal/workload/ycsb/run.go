package ycsb

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

// maxParams is how many parameters a statement may have in PostgreSQL's protocol.
const maxParams = 65535

// Output is where a run writes: the report, and what happens meanwhile.
type Output struct{ Report, Progress io.Writer }

// InitOptions are what loading needs beside the workload.
type InitOptions struct {
	// Drop drops the table first.
	Drop bool
	// Copy loads with COPY instead of INSERT.
	Copy bool
	// Families gives each field a column family of its own, in the dialect of CockroachDB.
	Families bool
}

// runner is one phase: loading or running.
type runner struct {
	cfg     *Config
	out     Output
	set     measure.Set
	ops     operations
	keys    *keyCounter
	batch   int
	loading bool

	insertOne, insertBatch string
	prototype              func() chooser

	done     atomic.Int64
	notFound atomic.Int64
	errs     *measure.Errors
}

func newRunner(cfg *Config, out Output, loading bool) *runner {
	r := &runner{cfg: cfg, out: out, loading: loading, errs: measure.NewErrors(out.Progress)}
	m, on := cfg.Mix, func(use bool, name string) *measure.Operation {
		if use {
			return r.set.Operation(name)
		}
		return &measure.Operation{}
	}
	run := !loading
	r.ops.read = on(run && m.Read+m.ReadModifyWrite > 0, "READ")
	r.ops.update = on(run && m.Update+m.ReadModifyWrite > 0, "UPDATE")
	r.ops.rmw = on(run && m.ReadModifyWrite > 0, "READ-MODIFY-WRITE")
	r.ops.scan = on(run && m.Scan > 0, "SCAN")
	r.ops.insert = on(loading || m.Insert > 0, "INSERT")
	r.ops.del = on(run && m.Delete > 0, "DELETE")
	r.ops.verify = on(run && cfg.Verify && m.Read+m.ReadModifyWrite > 0, "VERIFY")
	r.ops.cleanup = r.set.Operation("CLEANUP")
	r.insertOne = cfg.insertSQL(1)
	if loading {
		r.batch = min(max(cfg.BatchSize, 1), maxParams/(cfg.Fields+1))
		r.insertBatch = cfg.insertSQL(r.batch)
		r.keys = newKeyCounter(cfg.InsertStart)
	} else {
		r.batch = 1
		r.keys = newKeyCounter(cfg.Records)
	}
	return r
}

// Init makes the table and loads the records.
func Init(ctx context.Context, cfg *Config, o InitOptions, out Output) error {
	conn, err := workload.Connect(ctx, cfg.Target)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	if o.Drop {
		if err := conn.Exec(ctx, "DROP TABLE IF EXISTS "+cfg.Table); err != nil {
			return err
		}
	}
	if err := conn.Exec(ctx, cfg.createTable(o.Families)); err != nil {
		return err
	}
	r := newRunner(cfg, out, true)
	if o.Copy {
		return r.run(ctx, cfg.InsertCount, (*client).copyAll)
	}
	return r.run(ctx, cfg.InsertCount, (*client).load)
}

// Run runs the workload's operations against a loaded table.
func Run(ctx context.Context, cfg *Config, out Output) error {
	if err := cfg.ValidateRun(); err != nil {
		return err
	}
	r := newRunner(cfg, out, false)
	r.prototype = r.keyChooser()
	return r.run(ctx, cfg.Operations, (*client).transactions)
}

// keyChooser returns what makes a thread's chooser of keys. Costly constants are
// computed once.
func (r *runner) keyChooser() func() chooser {
	c := r.cfg
	lo, hi := c.InsertStart, c.InsertStart+c.InsertCount-1
	switch c.Distribution {
	case "zipfian":
		// The keys that the run inserts are part of the distribution from the start:
		// the popular ones stay the same. Those not there yet are drawn again.
		fresh := int64(float64(c.Operations) * c.Mix.Insert / c.Mix.sum() * 2)
		return func() chooser { return newScrambled(lo, hi+fresh) }
	case "latest":
		z := newZipfian(0, r.keys.last())
		return func() chooser { own := *z; return &latest{&own, r.keys} }
	case "hotspot":
		return func() chooser { return newHotspot(lo, hi, c.HotData, c.HotOps) }
	case "sequential":
		drawn := new(atomic.Int64)
		return func() chooser { return &sequential{lo, hi, drawn} }
	case "exponential":
		return func() chooser { return newExponential(c.ExpPercentile, float64(c.Records)*c.ExpFraction, r.keys) }
	}
	return func() chooser { return uniform{lo, hi} }
}

func (r *runner) newClient(ctx context.Context, thread int) (*client, error) {
	conn, err := workload.Connect(ctx, r.cfg.Target)
	if err != nil {
		return nil, err
	}
	c := &client{cfg: r.cfg, run: r, conn: conn, rng: rand.New(rand.NewPCG(r.cfg.Seed, uint64(thread)))}
	if r.prototype != nil {
		c.keys = r.prototype()
	}
	c.scan = uniform{r.cfg.MinScan, r.cfg.MaxScan}
	if r.cfg.ScanDist == "zipfian" {
		c.scan = newZipfian(r.cfg.MinScan, r.cfg.MaxScan)
	}
	switch lo, hi := int64(r.cfg.MinFieldLen), int64(r.cfg.FieldLength); r.cfg.FieldLengthDist {
	case "uniform":
		c.size = uniform{lo, hi}
	case "zipfian":
		c.size = newZipfian(lo, hi)
	default:
		c.size = constant(hi)
	}
	return c, nil
}

// run connects the threads, lets them work and reports. total is how many operations
// they do together; 0 means until the time is over.
func (r *runner) run(ctx context.Context, total int64, work func(*client, context.Context, share)) error {
	threads := r.cfg.Threads
	if total > 0 {
		threads = int(min(int64(threads), total))
	}
	clients := make([]*client, 0, threads)
	defer func() {
		for _, c := range clients {
			c.conn.Close(context.WithoutCancel(ctx))
		}
	}()
	for t := range threads {
		c, err := r.newClient(ctx, t)
		if err != nil {
			return err
		}
		clients = append(clients, c)
	}
	// Only the choice of the next operation sees the end of the time; an operation
	// that has begun ends by itself.
	until, cancel := context.WithCancel(ctx)
	defer cancel()
	if r.cfg.MaxTime > 0 {
		timer := time.AfterFunc(r.cfg.MaxTime, cancel)
		defer timer.Stop()
	}
	start := time.Now()
	stopStatus := r.status(start, total)
	var wg sync.WaitGroup
	for t, c := range clients {
		wg.Go(func() {
			work(c, context.WithoutCancel(ctx), share{
				until: until, n: portion(total, threads, t), first: r.cfg.InsertStart + before(total, threads, t),
				pace: workload.NewPacer(r.cfg.TargetRate, threads, t, start),
			})
			r.cleanup(c, context.WithoutCancel(ctx))
		})
	}
	wg.Wait()
	took := time.Since(start)
	stopStatus()
	return r.finish(ctx, total, took)
}

// share is the part of the work that a thread does.
type share struct {
	until context.Context
	n     int64 // 0: no limit
	first int64 // number of its first record when loading
	pace  *workload.Pacer
}

// next reports whether the thread shall do another operation after done ones.
func (s *share) next(done int64) bool {
	if s.n > 0 && done >= s.n {
		return false
	}
	s.pace.Wait(s.until)
	return s.until.Err() == nil
}

// portion splits n among threads, as evenly as it goes.
func portion(n int64, threads, t int) int64 {
	p := n / int64(threads)
	if int64(t) < n%int64(threads) {
		p++
	}
	return p
}

func before(n int64, threads, t int) int64 {
	return n/int64(threads)*int64(t) + min(int64(t), n%int64(threads))
}

// load inserts a thread's share of the records. It stops at the first that can't be
// inserted, since the table would be incomplete.
func (c *client) load(ctx context.Context, s share) {
	if s.n == 0 {
		return
	}
	for i := int64(0); s.next(i); i++ {
		if status := c.insert(ctx, c.cfg.key(s.first+i), c.run.batch); status == statusError {
			c.run.errs.GiveUp(fmt.Errorf("loading: %w", c.err))
			return
		}
		c.run.done.Add(1)
	}
}

// transactions does a thread's share of the operations.
func (c *client) transactions(ctx context.Context, s share) {
	for i := int64(0); s.next(i); i++ {
		c.transaction(ctx)
		c.run.done.Add(1)
		if c.conn.Lost() {
			c.run.errs.GiveUp(fmt.Errorf("connection lost: %w", c.err))
			return
		}
	}
}

func (c *client) transaction(ctx context.Context) {
	m := c.cfg.Mix
	draw := c.rng.Float64() * m.sum()
	switch {
	case draw < m.Read:
		c.read(ctx, c.cfg.key(c.nextKey()), c.readField())
	case draw < m.Read+m.Update:
		c.update(ctx, c.cfg.key(c.nextKey()))
	case draw < m.Read+m.Update+m.Insert:
		n := c.run.keys.take()
		c.insert(ctx, c.cfg.key(n), 1)
		c.run.keys.done(n)
	case draw < m.Read+m.Update+m.Insert+m.Scan:
		c.scanRecords(ctx)
	case draw < m.sum()-m.Delete:
		c.readModifyWrite(ctx)
	default:
		c.remove(ctx)
	}
}

// cleanup ends a thread's work: what is left of its batch, then its connection.
func (r *runner) cleanup(c *client, ctx context.Context) {
	c.measured(r.ops.cleanup, func() string {
		if err := c.flush(ctx); err != nil {
			r.errs.GiveUp(fmt.Errorf("loading the last batch: %w", err))
			return c.failed("CLEANUP", err)
		}
		if err := c.conn.Close(ctx); err != nil && !c.conn.Lost() {
			return c.failed("CLEANUP", err)
		}
		return statusOK
	})
}

func (r *runner) missing() { r.notFound.Add(1) }

// status writes lines of progress until the function it returns is called.
func (r *runner) status(start time.Time, total int64) (stop func()) {
	if r.cfg.DisplayEvery <= 0 {
		return func() {}
	}
	ended, idle := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(idle)
		tick := time.NewTicker(r.cfg.DisplayEvery)
		defer tick.Stop()
		last, lastTime := int64(0), start
		show := func() {
			now, done := time.Now(), r.done.Load()
			rate := float64(done-last) / max(now.Sub(lastTime).Seconds(), 1e-3)
			r.set.Status(r.out.Progress, r.cfg.Label, now, now.Sub(start), done, max(total-done, 0), rate)
			last, lastTime = done, now
		}
		for {
			select {
			case <-tick.C:
				show()
			case <-ended:
				show()
				return
			}
		}
	}()
	return func() { close(ended); <-idle }
}

// finish writes the report. It returns an error if an operation failed for another
// reason than that its record was deleted.
func (r *runner) finish(ctx context.Context, total int64, took time.Duration) error {
	if err := r.set.Report(r.out.Report, r.done.Load(), took, r.cfg.Percentiles); err != nil {
		return err
	}
	if err := r.errs.Broken(); err != nil {
		return err
	}
	_, failed := r.set.Counts()
	if r.cfg.Mix.Delete > 0 && !r.loading {
		failed -= r.notFound.Load()
	}
	switch {
	case failed > 0:
		return fmt.Errorf("%d operations failed", failed)
	case ctx.Err() != nil:
		return errors.New("interrupted")
	case r.loading && r.done.Load() < total:
		return fmt.Errorf("loaded %d of %d records: the time was over", r.done.Load(), total)
	}
	return nil
}
