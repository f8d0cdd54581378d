package drain

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/scripttest"
)

// TestScripts runs the story in testdata. Node 1 drains; replica n is on node n.
func TestScripts(t *testing.T) {
	scripttest.Walk(t, "testdata", func(t *testing.T, _ *datadriven.TestData) scripttest.Step {
		s := &script{t: t, peers: map[kvpb.NodeID]Peer{}}
		return func(words []string) []string { return scripttest.Line(s.op(words)) }
	})
}

type script struct {
	t     *testing.T
	desc  kvpb.RangeDescriptor
	peers map[kvpb.NodeID]Peer
}

func (s *script) num(f string) int {
	n, err := strconv.Atoi(f)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

func (s *script) op(f []string) string {
	switch f[0] {
	case "range": // range ID REPLICA...: with an l, a learner
		s.desc = kvpb.RangeDescriptor{RangeID: kvpb.RangeID(s.num(f[1]))}
		for _, r := range f[2:] {
			id, d := s.num(strings.TrimSuffix(r, "l")), kvpb.ReplicaDescriptor{Type: kvpb.Voter}
			if strings.HasSuffix(r, "l") {
				d.Type = kvpb.Learner
			}
			d.Node, d.Replica = kvpb.NodeID(id), kvpb.ReplicaID(id)
			s.desc.Replicas = append(s.desc.Replicas, d)
		}
	case "node": // node ID STATE...
		var p Peer
		for _, w := range f[2:] {
			p.Live = p.Live || w == "live"
			p.Draining = p.Draining || w == "draining"
			p.Stalled, p.Full, p.Slow = p.Stalled || w == "stalled", p.Full || w == "full", p.Slow || w == "slow"
			p.Silent = p.Silent || w == "silent"
		}
		s.peers[kvpb.NodeID(s.num(f[1]))] = p
	case "successor": // successor ATTEMPT
		to, ok := Successor(&s.desc, 1, s.num(f[1]), func(r *kvpb.ReplicaDescriptor) Peer { return s.peers[r.Node] })
		if !ok {
			return "none"
		}
		return fmt.Sprint(to)
	case "quorum":
		if QuorumLost(&s.desc, func(id kvpb.NodeID) bool { return id == 1 || s.peers[id].Live }) {
			return "lost"
		}
		return "there"
	case "round": // round SECONDS LEADERS [ABOUT-TO-LEAD]
		return s.round(f[1:])
	default:
		s.t.Fatalf("unknown step %q", f[0])
	}
	return ""
}

// round visits replicas that lead, others that are about to, and one follower.
func (s *script) round(f []string) string {
	r, transferred := Round{Passed: time.Duration(s.num(f[0])) * time.Second}, 0
	visit := func(n int, rep replica) {
		rep.transferred = &transferred
		for range n {
			r.Visit(rep, func() (kvpb.ReplicaID, bool) { return 2, true })
		}
	}
	visit(s.num(f[1]), replica{claims: true, leads: true})
	if len(f) > 2 {
		visit(s.num(f[2]), replica{claims: true})
	}
	visit(1, replica{})
	return fmt.Sprintf("attempt %d, %d transferred, done %v", r.Attempt(), transferred, r.Done())
}

// replica counts its transfers.
type replica struct {
	claims, leads bool
	transferred   *int
}

func (r replica) ClaimsLeadership() bool        { return r.claims }
func (r replica) Leads() bool                   { return r.leads }
func (r replica) TransferLeader(kvpb.ReplicaID) { *r.transferred++ }
