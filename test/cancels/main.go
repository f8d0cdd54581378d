// Command cancels starts statements that run long on a node or on PostgreSQL, cancels each
// after several whiles, and reports how long the answer took. Besides those that it lists, it
// calls everything in the catalog with large values.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// timeout bounds every wait.
const timeout = 60 * time.Second

// again is the interval between two requests to cancel.
const again = 20 * time.Millisecond

// probe is a run over the statements.
type probe struct {
	url    string
	bound  time.Duration
	delays []time.Duration
	ran    int
	late   int
}

func main() {
	p := probe{delays: []time.Duration{20, 60, 150, 400, 1000, 2000}}
	flag.StringVar(&p.url, "url", "postgres://root@127.0.0.1:26257/defaultdb", "where to run")
	flag.DurationVar(&p.bound, "bound", 100*time.Millisecond, "how soon a cancelled statement must end")
	only := flag.String("only", "", "run the statements whose names contain this")
	flag.Parse()
	for i := range p.delays {
		p.delays[i] *= time.Millisecond
	}
	if err := p.run(*only); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("%d of %d statements were late\n", p.late, p.ran)
	if p.late > 0 {
		os.Exit(1)
	}
}

func (p *probe) run(only string) error {
	ctx := context.Background()
	conn, err := pgconn.Connect(ctx, p.url)
	if err != nil {
		return err
	}
	for _, s := range setup {
		if err := conn.Exec(ctx, s).Close(); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	list := append(statements(), catalog()...)
	for _, st := range list {
		if !strings.Contains(st.name, only) {
			continue
		}
		if err := p.statement(ctx, st); err != nil {
			return fmt.Errorf("%s: %w", st.name, err)
		}
	}
	return nil
}

// statement cancels a statement after one while after the other, until it ends before.
func (p *probe) statement(ctx context.Context, st statement) error {
	worst, at, note := time.Duration(0), time.Duration(0), ""
	for _, delay := range p.delays {
		late, took, err := p.once(ctx, st, delay)
		if late > worst {
			worst, at = late, delay
		}
		var pe *pgconn.PgError
		if errors.As(err, &pe) && pe.Code != "57014" {
			note = pe.Code + " " + pe.Message
			break
		}
		if err == nil {
			note = fmt.Sprintf("ends after %v", took.Round(time.Millisecond))
			break
		}
		if pe == nil {
			return err
		}
	}
	mark := "ok  "
	if worst > p.bound {
		mark = "LATE"
		p.late++
	}
	if len(note) > 100 {
		note = note[:100]
	}
	p.ran++
	fmt.Printf("%s %-28s %6d ms (cancelled at %v) %s\n", mark, st.name, worst.Milliseconds(), at, note)
	return nil
}

// once runs a statement and cancels it after a while; late is how long it still ran.
func (p *probe) once(ctx context.Context, st statement, delay time.Duration) (late, took time.Duration, err error) {
	conn, err := pgconn.Connect(ctx, p.url)
	if err != nil {
		return 0, 0, err
	}
	defer conn.Close(ctx)
	for _, s := range st.before {
		if err := conn.Exec(ctx, s).Close(); err != nil {
			return 0, 0, fmt.Errorf("%s: %w", s, err)
		}
	}
	began := time.Now()
	done := make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		cancelFrom(ctx, conn, delay, done)
	}()
	err = conn.Exec(ctx, st.sql).Close()
	took = time.Since(began)
	close(done)
	<-stopped
	return max(0, took-delay), took, err
}

// cancelFrom asks for the end of what a connection runs, after a while and then again and
// again until it is done: the first time the statement may not have arrived.
func cancelFrom(ctx context.Context, conn *pgconn.PgConn, delay time.Duration, done chan struct{}) {
	for timer := time.NewTimer(delay); ; timer.Reset(again) {
		select {
		case <-done:
			return
		case <-timer.C:
		}
		cctx, cancel := context.WithTimeout(ctx, timeout)
		_ = conn.CancelRequest(cctx) // a lost request shows as a late answer
		cancel()
	}
}
