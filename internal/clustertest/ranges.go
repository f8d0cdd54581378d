package clustertest

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/replica"
)

const (
	// within is how long something may take that needs a leader, again the pause before the next
	// attempt.
	within = 20 * time.Second
	again  = 20 * time.Millisecond
	// changeWithin is how long one attempt to change replicas may take.
	changeWithin = 5 * time.Second
	// offerEvery is the interval between two offers of a leadership.
	offerEvery = time.Second
)

// Leader returns the replica that leads a range, nil if none does.
func (c *Cluster) Leader(id kvpb.RangeID) *replica.Replica {
	_, r := c.leading(id)
	return r
}

// Leading returns the node that leads a range, nil if none does.
func (c *Cluster) Leading(id kvpb.RangeID) *Node {
	nd, _ := c.leading(id)
	return nd
}

func (c *Cluster) leading(id kvpb.RangeID) (*Node, *replica.Replica) {
	for _, nd := range c.Nodes {
		if r, ok := nd.Store.Replica(id); ok && !nd.Port.Down() && r.Leads() {
			return nd, r
		}
	}
	return nil, nil
}

// Of returns the node with a replica.
func (c *Cluster) Of(r *replica.Replica) *Node {
	for _, nd := range c.Nodes {
		if o, ok := nd.Store.Replica(r.RangeID()); ok && o == r {
			return nd
		}
	}
	return nil
}

// Other returns a node that is none of these.
func (c *Cluster) Other(not ...*Node) *Node {
	for _, nd := range c.Nodes {
		if !slices.Contains(not, nd) {
			return nd
		}
	}
	return nil
}

// Do runs fn against the leader of a range until it succeeds and returns how long that took.
func (c *Cluster) Do(id kvpb.RangeID, fn func(r *replica.Replica) error) time.Duration {
	c.T.Helper()
	begun := time.Now()
	var last error
	for time.Since(begun) < within {
		if r := c.Leader(id); r != nil {
			if last = fn(r); last == nil {
				return time.Since(begun)
			}
			var nl *kvpb.NotLeaderError
			if !errors.As(last, &nl) && !errors.Is(last, replica.ErrBusy) && !errors.Is(last, replica.ErrBehind) {
				c.T.Logf("retry: %v", last)
			}
		}
		<-time.After(again)
	}
	c.describe(id)
	c.T.Fatalf("no success within %v: %v", within, last)
	return 0
}

// describe logs the replicas of a range and the support between their stores.
func (c *Cluster) describe(id kvpb.RangeID) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	for _, nd := range c.Nodes {
		r, ok := nd.Store.Replica(id)
		if !ok || nd.Port.Down() {
			continue
		}
		c.T.Logf("node %d: %s", nd.ID, r.Describe(ctx))
		for _, o := range c.Nodes {
			sid := kvpb.StoreID(o.ID)
			c.T.Logf("  store %d: from it %+v, to it %+v", o.ID, nd.KV.Live.From(sid).Support(), nd.KV.Live.Granted(sid))
		}
	}
}

// ofTests marks the numbers of transactions that tests send past the gateway.
const ofTests = 1 << 63

// Txn returns a transaction of the node that reads now and does not pass through its gateway. Its
// number n is as the test likes: those of Put and Get are small.
func (nd *Node) Txn(n uint64) *kvpb.TxnMeta {
	ts := nd.Clock.Now()
	return &kvpb.TxnMeta{ID: kvpb.TxnID{Hi: nd.KV.GatewayIncarnation(), Lo: ofTests | n}, ReadTS: ts, StartTS: ts}
}

// Put writes a key in a range and returns how long that took.
func (c *Cluster) Put(id kvpb.RangeID, key, value string) time.Duration {
	c.T.Helper()
	return c.Do(id, func(r *replica.Replica) error {
		m := c.Nodes[0].Txn(c.txns.Add(1))
		m.Isolation = kvpb.ReadCommitted
		return r.Commit(context.Background(), &kvpb.CommitRequest{
			Txn: m, Writes: []kvpb.Write{{Key: []byte(key), Value: []byte(value)}},
		}, &kvpb.CommitResponse{})
	})
}

// Get reads a key in a range.
func (c *Cluster) Get(id kvpb.RangeID, key string) (value string) {
	c.T.Helper()
	c.Do(id, func(r *replica.Replica) error {
		nd := c.Of(r)
		if nd == nil {
			nd = c.Nodes[0]
		}
		var resp kvpb.GetResponse
		err := r.Get(context.Background(), &kvpb.GetRequest{Txn: nd.Txn(c.txns.Add(1)), Key: []byte(key)}, &resp)
		value = string(resp.Value)
		return err
	})
	return value
}

// Change adds, promotes or removes a replica of a range on a node.
func (c *Cluster) Change(id kvpb.RangeID, k replica.ChangeKind, nd *Node) {
	c.T.Helper()
	c.Do(id, func(r *replica.Replica) error {
		ctx, cancel := context.WithTimeout(context.Background(), changeWithin)
		defer cancel()
		return r.ChangeReplicas(ctx, []replica.Change{{Kind: k, Node: nd.ID, Store: kvpb.StoreID(nd.ID)}})
	})
}

// Replicate gives a range replicas on all nodes.
func (c *Cluster) Replicate(id kvpb.RangeID) {
	c.T.Helper()
	for _, nd := range c.Nodes[1:] {
		for _, k := range []replica.ChangeKind{replica.AddLearner, replica.Promote} {
			c.Change(id, k, nd)
			<-time.After(time.Second)
		}
	}
}

// Split splits a range at a key.
func (c *Cluster) Split(id kvpb.RangeID, key string, right kvpb.RangeID) {
	c.T.Helper()
	c.Do(id, func(r *replica.Replica) error { return r.Split(context.Background(), []byte(key), right) })
}

// Transfer makes another node lead a range, as a drain does, and returns how long that took.
func (c *Cluster) Transfer(id kvpb.RangeID, to *Node) time.Duration {
	c.T.Helper()
	begun, offered := time.Now(), time.Time{}
	for c.Leading(id) != to {
		if r := c.Leader(id); r != nil && time.Since(offered) >= offerEvery {
			offered = time.Now()
			rep, _ := r.Desc().Replica(kvpb.StoreID(to.ID))
			r.TransferLeader(rep.Replica)
		}
		if time.Since(begun) > within {
			c.T.Fatalf("node %d does not lead range %d", to.ID, id)
		}
		<-time.After(time.Millisecond)
	}
	return time.Since(begun)
}
