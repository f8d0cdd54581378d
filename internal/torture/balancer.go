package torture

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/sleep"
)

// How the load balancer behaves: as HAProxy with what lichen gen haproxy writes.
const (
	checkEvery = time.Second
	// checksFail and checksPass are how many answers in a row take a node out and back in.
	checksFail = 2
	checksPass = 2
)

// balancer is a load balancer before the nodes of a cluster: a connection goes to the one with
// the fewest, among those that said that they are ready. It does not try another one if that
// one refuses.
type balancer struct {
	ln    net.Listener
	stop  context.CancelFunc
	tasks sync.WaitGroup

	mu      sync.Mutex
	targets []*target
}

// target is a node behind a load balancer, which guards it.
type target struct {
	node  *Node
	up    bool
	row   int // answers in a row that differ from up
	conns int
}

// newBalancer puts a load balancer before nodes that are ready.
func newBalancer(ctx context.Context, nodes []*Node) (*balancer, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	b := &balancer{ln: ln, stop: cancel}
	for _, n := range nodes {
		t := &target{node: n, up: true}
		b.targets = append(b.targets, t)
		b.tasks.Go(func() { b.check(ctx, t) })
	}
	b.tasks.Go(func() { b.accept(ctx) })
	context.AfterFunc(ctx, func() { _ = ln.Close() })
	return b, nil
}

// close ends all connections.
func (b *balancer) close() {
	b.stop()
	b.tasks.Wait()
}

// url is where clients connect.
func (b *balancer) url() string {
	return "postgresql://root@" + b.ln.Addr().String() + "/defaultdb?sslmode=disable&connect_timeout=5"
}

// check asks a node again and again whether it is ready.
func (b *balancer) check(ctx context.Context, t *target) {
	c := http.Client{Timeout: checkEvery}
	for sleep.For(ctx, checkEvery) == nil {
		resp, err := c.Get("http://" + t.node.HTTP + "/health?ready=1")
		if err == nil {
			_ = resp.Body.Close()
		}
		b.mu.Lock()
		t.answered(err == nil && resp.StatusCode == http.StatusOK)
		b.mu.Unlock()
	}
}

func (t *target) answered(ready bool) {
	if ready == t.up {
		t.row = 0
		return
	}
	t.row++
	if t.up && t.row >= checksFail || !t.up && t.row >= checksPass {
		t.up, t.row = ready, 0
	}
}

// isUp reports whether new connections go to a node.
func (b *balancer) isUp(n *Node) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, t := range b.targets {
		if t.node == n {
			return t.up
		}
	}
	return false
}

// pick returns who gets the next connection, which counts as its; nil if nobody is ready.
func (b *balancer) pick() *target {
	b.mu.Lock()
	defer b.mu.Unlock()
	var least *target
	for _, t := range b.targets {
		if t.up && (least == nil || t.conns < least.conns) {
			least = t
		}
	}
	if least != nil {
		least.conns++
	}
	return least
}

func (b *balancer) accept(ctx context.Context) {
	for {
		in, err := b.ln.Accept()
		if err != nil {
			if ctx.Err() != nil || sleep.For(ctx, linkPoll) != nil {
				return
			}
			continue
		}
		b.tasks.Go(func() { b.serve(ctx, in) })
	}
}

// serve passes one connection on, both ways.
func (b *balancer) serve(ctx context.Context, in net.Conn) {
	defer in.Close()
	t := b.pick()
	if t == nil {
		return
	}
	defer func() {
		b.mu.Lock()
		t.conns--
		b.mu.Unlock()
	}()
	out, err := (&net.Dialer{Timeout: helloTimeout}).DialContext(ctx, "tcp", t.node.SQL)
	if err != nil {
		return
	}
	defer out.Close()
	defer context.AfterFunc(ctx, func() { _, _ = in.Close(), out.Close() })()
	done := make(chan struct{}, 2)
	go func() { _, _ = io.Copy(out, in); done <- struct{}{} }()
	go func() { _, _ = io.Copy(in, out); done <- struct{}{} }()
	<-done // closing both ends the other one
}
