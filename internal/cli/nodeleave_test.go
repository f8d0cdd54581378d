package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/node"
	"github.com/lichendb/lichen/internal/rpc"
)

// desc is a range with a voter on each of some nodes.
func desc(id kvpb.RangeID, nodes ...kvpb.NodeID) kvpb.RangeDescriptor {
	d := kvpb.RangeDescriptor{RangeID: id}
	for _, n := range nodes {
		d.Replicas = append(d.Replicas, kvpb.ReplicaDescriptor{Node: n, Type: kvpb.Voter})
	}
	return d
}

// TestDecommissionStuck: what is left on a node that leaves can move, or never will as it is.
func TestDecommissionStuck(t *testing.T) {
	lost := []node.LostRange{{Range: 7, Holds: []string{"app.public.orders"}, Silent: []kvpb.NodeID{4, 5}}}
	for _, tc := range []struct {
		name      string
		remaining node.Remaining
		stuck     string
	}{
		{"on its way", node.Remaining{Ranges: 1, Examples: []kvpb.RangeDescriptor{desc(6, 1, 2, 4)}, Others: []kvpb.NodeID{1, 2, 3}}, ""},
		{"no quorum", node.Remaining{Ranges: 1, Lost: 1, LostSome: lost, Examples: []kvpb.RangeDescriptor{desc(7, 1, 4, 5)}, Others: []kvpb.NodeID{1, 2, 3}}, "without a quorum"},
		{"some may move", node.Remaining{Ranges: 2, Lost: 1, LostSome: lost, Examples: []kvpb.RangeDescriptor{desc(6, 1, 2, 4), desc(7, 1, 4, 5)}, Others: []kvpb.NodeID{1, 2, 3}}, ""},
		{"too few nodes", node.Remaining{Ranges: 1, Examples: []kvpb.RangeDescriptor{desc(6, 1, 2, 3, 4, 5)}, Others: []kvpb.NodeID{1, 2, 3}}, "too few nodes"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := leaving{remaining: []node.Remaining{tc.remaining}, sum: tc.remaining.Ranges, lost: tc.remaining.Lost}
			if got := l.stuck(); (got == "") != (tc.stuck == "") || !strings.Contains(got, tc.stuck) {
				t.Errorf("stuck: %q", got)
			}
			var out bytes.Buffer
			explainRemaining(&streams{err: &out}, 4, &tc.remaining, stuckAfter)
			const named = "range 7 (app.public.orders) waits for nodes 4, 5"
			if strings.Contains(out.String(), named) != (tc.remaining.Lost > 0) {
				t.Errorf("the explanation: %s", out.String())
			}
		})
	}
}

// TestDecommissionSaysAtOnce: with too few nodes the command says what it waits for before anything
// could have moved, and ends when that can't change.
func TestDecommissionSaysAtOnce(t *testing.T) {
	held := node.Remaining{Ranges: 1, Examples: []kvpb.RangeDescriptor{desc(6, 1, 2, 3)}, Others: []kvpb.NodeID{1, 2}}
	asked := make(chan int, 10)
	f := decommissionFlags{stuck: time.Hour}
	f.host, f.insecure = remainingNode(t, &held, asked), true
	ctx, cancel := context.WithCancel(t.Context())
	var out, errOut bytes.Buffer
	ended := make(chan error, 1)
	go func() { ended <- f.await(ctx, &streams{out: &out, err: &errOut}, []kvpb.NodeID{3}) }()
	<-asked
	<-asked // the first answer was printed
	cancel()
	<-ended
	for _, want := range []string{"only 2 other live nodes", "too few nodes are live", "waiting 1h0m0s"} {
		if !strings.Contains(errOut.String(), want) {
			t.Errorf("%q is not in: %s", want, errOut.String())
		}
	}
	f.stuck = 0
	if err := f.await(t.Context(), &streams{out: &out, err: &errOut}, []kvpb.NodeID{3}); err == nil || !strings.Contains(err.Error(), "too few nodes") {
		t.Errorf("the end: %v", err)
	}
}

// remainingNode answers what a node still has; it returns its address.
func remainingNode(t *testing.T, held *node.Remaining, asked chan<- int) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := rpc.New(rpc.Options{Version: node.Version, Logger: slog.New(slog.DiscardHandler)})
	t.Cleanup(func() { _ = l.Close(); n.Close() })
	n.Handle(node.MethodRemaining, func(context.Context, kvpb.NodeID, []byte) ([]byte, error) {
		asked <- 1
		return json.Marshal(held)
	})
	go func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			go n.ServeConn(nc, nil)
		}
	}()
	return l.Addr().String()
}
