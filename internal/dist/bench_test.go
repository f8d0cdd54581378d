package dist

import (
	"context"
	"fmt"
	"testing"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/kvpb/sendertest"
)

// still answers every request with an empty response.
var still = sendertest.Script(func(context.Context, any, any) error { return nil })

// onlyStill is a node whose only replica is still.
type onlyStill struct{}

func (onlyStill) Replica(kvpb.RangeID) (kvpb.Sender, bool) { return still, true }

// stillRouter returns a router for n ranges that node 1 leads.
func stillRouter(n int) (*Router, [][]byte) {
	d := NewRouter(Config{Node: 1, Local: onlyStill{}})
	var starts [][]byte
	for i := range n {
		desc := kvpb.RangeDescriptor{
			RangeID: kvpb.RangeID(i + 1), StartKey: fmt.Appendf(nil, "%06d", i), EndKey: fmt.Appendf(nil, "%06d", i+1),
			Generation: 1, Replicas: replicasOn(1),
		}
		d.cache.Insert(desc)
		starts = append(starts, desc.StartKey)
	}
	return d, starts
}

// A request for a range of this node allocates nothing.
func TestLocalRequestsDontAllocate(t *testing.T) {
	d, starts := stillRouter(10)
	ctx := context.Background()
	get, got := &kvpb.GetRequest{Key: starts[4]}, &kvpb.GetResponse{}
	commit := &kvpb.CommitRequest{Writes: []kvpb.Write{{Key: starts[4]}}}
	done := &kvpb.CommitResponse{}
	n := testing.AllocsPerRun(100, func() {
		if d.Get(ctx, get, got) != nil || d.Commit(ctx, commit, done) != nil {
			t.Error("failed")
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkLocalGet(b *testing.B) {
	ctx := context.Background()
	for _, n := range []int{0, 1, 100, 10000} {
		d, starts := stillRouter(max(n, 1))
		var s kvpb.Sender = d
		name := fmt.Sprintf("ranges=%d", n)
		if n == 0 {
			s, name = still, "direct"
		}
		b.Run(name, func(b *testing.B) {
			req, resp := &kvpb.GetRequest{}, &kvpb.GetResponse{}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				req.Key = starts[i*7%len(starts)]
				if err := s.Get(ctx, req, resp); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkRemoteGet(b *testing.B) {
	ctx := context.Background()
	r := remoteTo(still)
	req, resp := &kvpb.GetRequest{Txn: &kvpb.TxnMeta{}, Key: []byte("some key of a row")}, &kvpb.GetResponse{}
	b.ReportAllocs()
	for b.Loop() {
		if err := r.Get(ctx, req, resp); err != nil {
			b.Fatal(err)
		}
	}
}
