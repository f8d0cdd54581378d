package store_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/clustertest"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/replica"
)

// torn prepares a commit that its leader has sent to the others. They commit it, but the leader receives nothing any
// more and never learns the outcome.
type torn struct {
	c     *cluster
	home  *clustertest.Node // of the leader
	lead  *replica.Replica
	began chan error
}

const tornKey = "\x10a"

func newTorn(t *testing.T) *torn {
	x := &torn{c: newCluster(t, 3), began: make(chan error, 1)}
	x.c.Replicate(1)
	x.c.Put(1, tornKey, "old")
	time.Sleep(time.Second)
	x.home = x.c.Leading(1)
	x.lead, _ = x.home.Store.Replica(1)
	return x
}

// commit sends a commit without locks.
func (x *torn) commit() {
	m := x.home.Txn(1 << 41)
	m.Isolation = kvpb.ReadCommitted
	x.send(kvpb.CommitRequest{Txn: m, Writes: []kvpb.Write{{Key: []byte(tornKey), Value: []byte("new")}}})
}

// send sends a commit, and cuts the leader off.
func (x *torn) send(req kvpb.CommitRequest) {
	for _, nd := range x.c.Nodes {
		if nd != x.home {
			x.c.Net.Cut(nd.ID, x.home.ID, true)
		}
	}
	go func() {
		x.began <- x.lead.Commit(context.Background(), &req, &kvpb.CommitResponse{})
	}()
	synctest.Wait()
}

// reader returns a function that reads the key at the leader, above the commit. It reads the clock once, after it was
// admitted.
func (x *torn) reader() (read func() (value string, err error)) {
	m := x.home.Txn(1 << 42)
	m.UncertainTS = m.ReadTS
	m.UncertainTS.WallTime += int64(x.home.Clock.MaxOffset())
	return func() (string, error) {
		var resp kvpb.GetResponse
		err := x.lead.Get(context.Background(), &kvpb.GetRequest{Txn: m, Key: []byte(tornKey)}, &resp)
		return string(resp.Value), err
	}
}

// succeed makes the others elect a leader, and checks that they have the commit.
func (x *torn) succeed(t *testing.T) {
	time.Sleep(8 * time.Second)
	if x.c.Leading(1) == x.home || x.c.Leading(1) == nil {
		t.Fatal("nobody else leads the range")
	}
	if v := x.c.Get(1, tornKey); v != "new" {
		t.Fatalf("the others have %q", v)
	}
	err := <-x.began
	if kvpb.Classify(err) != kvpb.ClassAmbiguous {
		t.Fatalf("the commit whose leadership ended: %v", err)
	}
}

func (x *torn) refused(t *testing.T, value string, err error) {
	t.Helper()
	if notLeader := new(*kvpb.NotLeaderError); !errors.As(err, notLeader) {
		t.Errorf("a read above a commit that has happened elsewhere: %q, %v", value, err)
	}
}

// TestReadWaitsForLostCommit: a read waits for a commit that ends with the leadership. It must not conclude that the
// commit had no effect.
func TestReadWaitsForLostCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newTorn(t)
		defer x.c.CloseAll()
		x.commit()
		time.Sleep(time.Millisecond)
		var value string
		done := make(chan error, 1)
		read := x.reader()
		go func() {
			var err error
			value, err = read()
			done <- err
		}()
		synctest.Wait()
		x.succeed(t)
		x.refused(t, value, <-done)
	})
}

// TestReadMissesLostCommit: a read is admitted and pauses. When it looks for commits in flight there are none any more,
// since the leadership has ended.
func TestReadMissesLostCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newTorn(t)
		defer x.c.CloseAll()
		x.commit()
		time.Sleep(time.Millisecond)
		value, err := x.stall(func() { x.succeed(t) })
		x.refused(t, value, err)
	})
}

// TestReadAtStop: a replica that is stopped gives up the commits in flight while it still leads, and does not know their
// outcomes. Reads that were admitted before must not answer without them.
func TestReadAtStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newTorn(t)
		defer x.c.CloseAll()
		x.commit()
		time.Sleep(time.Millisecond)
		value, err := x.stall(func() {
			x.lead.Stop()
			if err := <-x.began; kvpb.Classify(err) != kvpb.ClassAmbiguous {
				t.Errorf("the commit of a replica that was stopped: %v", err)
			}
		})
		x.refused(t, value, err)
	})
}

// TestResentToLostLeadership: a commit got no answer and was sent again to the same leader, where the second copy waits
// for the first. When the first ends with the leadership, and the leader does not know how, the second must not fail as
// if its transaction had been aborted: the gateway would run a statement again that has committed.
func TestResentToLostLeadership(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newTorn(t)
		defer x.c.CloseAll()
		var silent atomic.Bool
		x.home.Store.ConnectTxns(replica.TxnDeps{GatewayAlive: func(kvpb.TxnID) bool { return !silent.Load() }})
		m := x.home.Txn(1 << 41)
		m.Isolation = kvpb.ReadCommitted
		req := kvpb.CommitRequest{Txn: m, Writes: []kvpb.Write{{Key: []byte(tornKey), Value: []byte("new")}}}
		x.send(req)
		time.Sleep(time.Millisecond)
		again := make(chan error, 1)
		req.Resent = true
		go func() {
			again <- x.lead.Commit(context.Background(), &req, &kvpb.CommitResponse{})
		}()
		synctest.Wait()
		silent.Store(true) // nothing from there arrives; the answer does
		x.succeed(t)
		if err := <-again; kvpb.Classify(err) == kvpb.ClassRetry {
			t.Errorf("the second copy of a commit that has happened: %v", err)
		}
		var resp kvpb.CommitResponse
		x.c.Do(1, func(r *replica.Replica) error {
			copied := req
			return r.Commit(context.Background(), &copied, &resp)
		})
		if resp.CommitTS.IsEmpty() {
			t.Error("the next leader does not know of the commit")
		}
	})
}

// stall reads, and calls meanwhile between the read's admission and its look at the commits.
func (x *torn) stall(meanwhile func()) (value string, err error) {
	reached, release, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	stop := func() { close(reached); <-release }
	read := x.reader()
	synctest.Wait() // nobody else looks at the clock now
	x.home.OnClock(stop)
	go func() {
		defer close(done)
		value, err = read()
	}()
	<-reached
	meanwhile()
	close(release)
	<-done
	return value, err
}
