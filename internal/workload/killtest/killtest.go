package killtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/workload"
)

// answerTimeout bounds how long a restarted server may take to answer.
const answerTimeout = 2 * time.Minute

// Server is a running server process.
type Server interface {
	// URL waits until the server listens and says where. It fails if the process
	// ended instead.
	URL() (string, error)
	// Kill ends the process without warning and waits until it is gone.
	Kill() error
}

// Options describe a test.
type Options struct {
	// Start starts the server on the same data each time and returns when its process
	// runs, before it serves.
	Start func() (Server, error)
	// Kills is how often the server is killed, Writers how many write at once.
	Kills, Writers int
	// MinLoad and MaxLoad bound the time from the first transaction that is acknowledged
	// to the kill.
	MinLoad, MaxLoad time.Duration
	// EarlyKill is the share of restarts that are killed while they recover.
	EarlyKill float64
	Seed      uint64
	Progress  io.Writer
}

// Result is what a test found.
type Result struct {
	Kills, EarlyKills       int
	Acknowledged            int64 // transactions
	InDoubt, InDoubtPresent int64 // transactions without an answer, and how many of them are there
	Rows                    int64 // of the ledger at the end
	SlowestRestart          time.Duration
	Retries                 int64
}

// Run runs the test. It returns an error at the first violation.
func Run(ctx context.Context, o Options) (*Result, error) {
	t := &test{o: o, rng: rand.New(rand.NewPCG(o.Seed, 0))}
	for i := range o.Writers {
		t.writers = append(t.writers, &writer{
			id: i, rng: rand.New(rand.NewPCG(o.Seed, uint64(i+1))), transfer: i%2 == 0,
		})
	}
	err := t.run(ctx)
	return &t.res, err
}

type test struct {
	o       Options
	rng     *rand.Rand
	writers []*writer
	res     Result
}

func (t *test) run(ctx context.Context) (err error) {
	srv, err := t.o.Start()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, srv.Kill()) }()
	conn, err := t.answer(ctx, srv)
	if err != nil {
		return err
	}
	err = conn.Exec(ctx, schema)
	conn.Close(ctx)
	if err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	for round := 1; round <= t.o.Kills; round++ {
		if err := t.load(ctx, srv); err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
		t.res.Kills++
		for t.rng.Float64() < t.o.EarlyKill {
			if srv, err = t.o.Start(); err != nil {
				return err
			}
			time.Sleep(time.Duration(t.rng.Int64N(int64(300 * time.Millisecond))))
			if err := srv.Kill(); err != nil {
				return err
			}
			t.res.EarlyKills++
		}
		begun := time.Now()
		if srv, err = t.o.Start(); err != nil {
			return fmt.Errorf("round %d: restart: %w", round, err)
		}
		conn, err := t.answer(ctx, srv)
		if err != nil {
			return fmt.Errorf("round %d: restart: %w", round, err)
		}
		took := time.Since(begun)
		t.res.SlowestRestart = max(t.res.SlowestRestart, took)
		err = t.verify(ctx, conn)
		conn.Close(ctx)
		if err != nil {
			return fmt.Errorf("round %d: VIOLATION: %w", round, err)
		}
		fmt.Fprintf(t.o.Progress, "kill %d of %d: %d transactions acknowledged so far, all there; restart took %s\n",
			round, t.o.Kills, t.res.Acknowledged, took.Round(time.Millisecond))
	}
	return nil
}

// answer waits until the server answers a query.
func (t *test) answer(ctx context.Context, srv Server) (*workload.Conn, error) {
	url, err := srv.URL()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	for {
		conn, err := workload.Connect(ctx, workload.Target{URL: url})
		if err == nil {
			if err = conn.Exec(ctx, "SELECT 1"); err == nil {
				return conn, nil
			}
			conn.Close(ctx)
		}
		select {
		case <-time.After(2 * time.Millisecond):
		case <-ctx.Done():
			return nil, fmt.Errorf("the server doesn't answer: %w", err)
		}
	}
}

// load lets the writers write until it kills the server.
func (t *test) load(ctx context.Context, srv Server) error {
	url, err := srv.URL()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	problems := make([]error, len(t.writers))
	begun, ended := make(chan struct{}), make(chan struct{})
	began := sync.OnceFunc(func() { close(begun) })
	for i, w := range t.writers {
		w.began = began
		wg.Go(func() { problems[i] = w.write(ctx, url) })
	}
	go func() {
		wg.Wait()
		close(ended)
	}()
	select {
	case <-begun:
	case <-ended: // a server that nobody reaches
	case <-ctx.Done():
	}
	span := t.o.MaxLoad - t.o.MinLoad
	wait := t.o.MinLoad
	if span > 0 {
		wait += time.Duration(t.rng.Int64N(int64(span)))
	}
	select {
	case <-time.After(wait):
	case <-ctx.Done():
	}
	err = srv.Kill()
	<-ended
	t.res.Acknowledged, t.res.Retries = 0, 0
	for _, w := range t.writers {
		t.res.Acknowledged += w.acked
		t.res.Retries += w.retries
	}
	return errors.Join(append(problems, err, ctx.Err())...)
}
