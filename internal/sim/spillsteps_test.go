package sim

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/nettest"
)

// spillStep is what happens at one message of a large transaction's gateway: before it is
// sent, or after it was answered.
type spillStep struct {
	fault    stepFault
	at       int
	after    bool
	rollback bool
}

type stepFault int

const (
	gatewayDies stepFault = iota // and its transactions end with it
	leaderDies                   // that of the record's range, and starts again
	leaderMoves                  // likewise, in good order
	rangeSplits                  // a range that holds some of its rows
	answerLost                   // that of this message; the gateway goes on
	stepFaults
)

var stepFaultNames = [...]string{"gateway dies", "leader dies", "leader moves", "range splits", "answer is lost"}

func (s spillStep) String() string {
	when, end := "before", "commit"
	if s.after {
		when = "after"
	}
	if s.rollback {
		end = "rollback"
	}
	return fmt.Sprintf("%s %s message %d of a %s", stepFaultNames[s.fault], when, s.at, end)
}

// stepped counts the messages of a large transaction and has something happen at one. It
// keeps what was spilled, to send it again long after.
type stepped struct {
	c      *cluster
	step   spillStep
	victim *incarnation
	rng    *rand.Rand

	mu    sync.Mutex
	on    bool
	sent  int
	kinds []string
	late  []func() error
}

// steppedSender is the way from the victim to a replica.
type steppedSender struct {
	kvpb.Sender
	x *stepped
}

func (x *stepped) intercept(inc *incarnation, s kvpb.Sender) kvpb.Sender {
	if inc != x.victim {
		return s
	}
	return steppedSender{s, x}
}

// around sends one message.
func (x *stepped) around(kind string, send func() error) error {
	x.mu.Lock()
	hit := false
	if x.on {
		x.sent++
		x.kinds = append(x.kinds, kind)
		hit = x.sent == x.step.at
	}
	x.mu.Unlock()
	if hit && !x.step.after {
		if err := x.strike(); err != nil {
			return err
		}
	}
	err := send()
	if hit && x.step.after && err == nil {
		err = x.strike()
	}
	return err
}

// strike makes happen what the step says. The error is that of the message.
func (x *stepped) strike() error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	record := x.c.leaderOf(largeKey(0))
	x.c.story.Addf("now: %s", x.step)
	switch x.step.fault {
	case gatewayDies:
		x.c.kill(x.victim.node)
	case leaderDies:
		n := record.inc.node
		x.c.kill(n)
		x.c.changes.Go(func() {
			<-time.After(3 * time.Second)
			x.c.start(n.id)
		})
	case leaderMoves:
		_, _ = x.c.moveLeader(ctx, record, x.rng)
	case rangeSplits:
		_, _ = x.c.splitRange(ctx, x.c.leaderOf(largeKey(x.rng.IntN(100))), x.rng, 100)
	case answerLost:
		return &kvpb.UnavailableError{Reason: "the answer got lost"}
	}
	return nil
}

// kill ends a node at once; what its disk has taken stays.
func (c *cluster) kill(n *machine) {
	n.disk.Kill()
	c.net.Crash(n.id, nettest.Killed)
	c.stop(n.id)
	n.disk.Resume()
}

func (s steppedSender) Spill(ctx context.Context, req *kvpb.SpillRequest) error {
	again, meta := *req, *req.Txn
	again.Txn, again.Anchor = &meta, bytes.Clone(req.Anchor)
	again.Writes, again.Positions, again.Locks = nil, append([]uint64(nil), req.Positions...), nil
	for _, w := range req.Writes {
		again.Writes = append(again.Writes, kvpb.Write{Key: bytes.Clone(w.Key), Value: bytes.Clone(w.Value)})
	}
	s.x.mu.Lock()
	s.x.late = append(s.x.late, func() error { return s.Sender.Spill(context.Background(), &again) })
	s.x.mu.Unlock()
	return s.x.around("spill", func() error { return s.Sender.Spill(ctx, req) })
}

func (s steppedSender) Unspill(ctx context.Context, req *kvpb.UnspillRequest) error {
	return s.x.around("unspill", func() error { return s.Sender.Unspill(ctx, req) })
}

func (s steppedSender) Stage(ctx context.Context, req *kvpb.StageRequest, resp *kvpb.StageResponse) error {
	return s.x.around("stage", func() error { return s.Sender.Stage(ctx, req, resp) })
}

func (s steppedSender) EndTxn(ctx context.Context, req *kvpb.EndTxnRequest, resp *kvpb.EndTxnResponse) error {
	return s.x.around("end", func() error { return s.Sender.EndTxn(ctx, req, resp) })
}

func (s steppedSender) Resolve(ctx context.Context, req *kvpb.ResolveRequest) error {
	return s.x.around("resolve", func() error { return s.Sender.Resolve(ctx, req) })
}

func (s steppedSender) Release(ctx context.Context, req *kvpb.ReleaseRequest) error {
	return s.x.around("release", func() error { return s.Sender.Release(ctx, req) })
}

const (
	spillStepRows = 12
	// spillSteps is about how many messages such a transaction takes.
	spillSteps = 24
)

// TestSpillSteps has something happen at each message of a transaction that spills over
// three ranges: it is there as a whole or not at all, as its client was told, nothing of it
// stays, and what arrives of it long afterwards has no effect.
func TestSpillSteps(t *testing.T) {
	for fault := range stepFaults {
		for at := 1; at <= spillSteps; at++ {
			for _, after := range []bool{false, true} {
				s := spillStep{fault: fault, at: at, after: after, rollback: (at+int(fault))%3 == 0}
				t.Run(s.String(), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { spillStepped(t, s) })
				})
			}
		}
	}
}

func spillStepped(t *testing.T, s spillStep) {
	ctx := context.Background()
	c := newCluster(t, 200+uint64(s.at), 3)
	c.spill = 700
	for i := range 100 {
		c.cutKeys = append(c.cutKeys, string(largeKey(i)))
	}
	x := &stepped{c: c, step: s, rng: rand.New(rand.NewPCG(uint64(s.at), uint64(s.fault)))}
	c.intercept = x.intercept
	c.found(largePrefix+"030", largePrefix+"060")
	c.spread(largePrefix+"000", largePrefix+"030", largePrefix+"060")
	gateway := c.nodes[1+s.at%2]
	x.victim, x.on = gateway.current(), true
	txn := x.victim.db.Begin(kv.TxnOptions{})
	txn.BeginStatement()
	large := &largeTxn{c: c, txn: txn}
	var err error
	for i := 0; i < spillStepRows && err == nil; i++ {
		err = large.write(i, "new")
	}
	switch {
	case err != nil || s.rollback:
		txn.Rollback(ctx)
	default:
		err = txn.Commit(ctx)
	}
	x.victim.router.Wait()
	x.mu.Lock()
	x.on = false
	x.mu.Unlock()
	c.changes.Wait()
	if gateway.current() == nil {
		c.start(gateway.id)
	}
	for i, send := range x.late { // no later than a message can be late
		c.story.Addf("spill %d comes again: %v", i, send())
	}
	x.verify(t, err)
	c.close()
}

// verify checks what is left of the transaction, whose client was told err.
func (x *stepped) verify(t *testing.T, err error) {
	story := func() string {
		return fmt.Sprintf("%s: %v\n%v\n%s", x.step, err, x.kinds, (&largeTxn{c: x.c}).story())
	}
	dead := x.victim.node.current() != x.victim // the client heard nothing
	var first string
	for _, n := range x.c.nodes {
		seen, rerr := x.c.largeRows(n.current())
		if rerr != nil {
			t.Fatalf("node %d reads: %v\n%s", n.id, rerr, story())
		}
		got := fmt.Sprint(seen)
		whole := got == fmt.Sprint(map[string]int{"new": spillStepRows})
		switch {
		case !whole && len(seen) > 0:
			t.Fatalf("node %d sees %s\n%s", n.id, got, story())
		case first != "" && got != first:
			t.Fatalf("nodes see %s and %s\n%s", first, got, story())
		case whole && (x.step.rollback || !dead && err != nil && !kv.IsAmbiguous(err)):
			t.Fatalf("it is there\n%s", story())
		case !whole && err == nil && !x.step.rollback:
			t.Fatalf("it is not there\n%s", story())
		}
		first = got
	}
	for i := range spillStepRows {
		if lerr := x.c.lockable(largeKey(i)); lerr != nil {
			t.Errorf("row %d is locked: %v\n%s", i, lerr, story())
			return
		}
	}
	if _, serr := x.c.settled(); serr != nil {
		t.Errorf("%v\n%s", serr, story())
	}
}
