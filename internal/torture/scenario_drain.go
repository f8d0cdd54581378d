package torture

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/lichendb/lichen/internal/sleep"
)

const (
	// arrivals is how many clients connect anew all the time, arrivalPace the pause of each
	// between two connections.
	arrivals    = 8
	arrivalPace = 20 * time.Millisecond
	// backTime bounds the wait until the load balancer sends clients to a node again.
	backTime = 30 * time.Second
)

// door counts what clients met that connect through a load balancer, each with one statement.
type door struct {
	s *stage
	b *balancer

	mu      sync.Mutex
	opened  int
	refused []string
}

// drained stops and starts every node behind a load balancer that notices by itself: no client
// that connects meanwhile is refused, and what was acknowledged to it is there.
func drained(ctx context.Context, s *stage) error {
	b, err := newBalancer(ctx, s.c.Nodes)
	if err != nil {
		return err
	}
	defer b.close()
	d := &door{s: s, b: b}
	clients, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	for i := range arrivals {
		wg.Go(func() { d.arrive(clients, firstArrival+i) })
	}
	err = d.drainAll(ctx)
	stop()
	wg.Wait()
	s.res.note("%d connections through a load balancer, %d refused", d.opened, len(d.refused))
	if len(d.refused) > 0 {
		s.res.violation("%d of %d new connections were refused: %s", len(d.refused), d.opened+len(d.refused), d.refused[0])
	}
	if d.opened == 0 {
		s.res.undecided("nobody connected")
	}
	return err
}

// firstArrival is the number of the first of the clients that come and go, above those of
// the load.
const firstArrival = 900

func (d *door) drainAll(ctx context.Context) error {
	for i, n := range d.s.c.Nodes {
		if i > 0 && d.s.over() {
			return nil
		}
		begun := time.Now()
		took, err := n.Stop()
		if err != nil {
			return err
		}
		d.s.res.note("node %d: stopped in %.1f s", n.ID, took.Seconds())
		if err := d.s.watch(ctx, begun, 2*time.Second, fmt.Sprintf("node %d drains", n.ID), n); err != nil {
			return err
		}
		if err := d.s.restart(ctx, n); err != nil {
			return err
		}
		if err := d.awaitBack(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// awaitBack waits until clients are sent to a node again.
func (d *door) awaitBack(ctx context.Context, n *Node) error {
	ctx, cancel := context.WithTimeout(ctx, backTime)
	defer cancel()
	for !d.b.isUp(n) {
		if err := sleep.For(ctx, pollPace); err != nil {
			return fmt.Errorf("node %d is not ready after %s: %w", n.ID, backTime, err)
		}
	}
	return sleep.For(ctx, 2*checkEvery)
}

// arrive connects again and again, and inserts a row each time.
func (d *door) arrive(ctx context.Context, client int) {
	for seq := int64(1); sleep.For(ctx, arrivalPace) == nil; seq++ {
		err := d.visit(client, seq)
		if ctx.Err() != nil {
			return
		}
		d.mu.Lock()
		if err == nil {
			d.opened++
		} else {
			d.refused = append(d.refused, err.Error())
		}
		d.mu.Unlock()
		if err == nil {
			d.s.round.acked(client, seq)
		}
	}
}

// visit is one connection. Its insert is not repeated: nothing may go wrong.
func (d *door) visit(client int, seq int64) error {
	ctx, cancel := context.WithTimeout(context.Background(), opTimeout) // to the end, whatever ends meanwhile
	defer cancel()
	conn, err := pgconn.Connect(ctx, d.b.url())
	if err != nil {
		return fmt.Errorf("connecting: %w", err)
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, fmt.Sprintf("INSERT INTO torture_ledger VALUES (%d, %d)", d.s.round.number*1000+client, seq)).ReadAll()
	if err != nil {
		return fmt.Errorf("the first statement: %w", err)
	}
	return nil
}
