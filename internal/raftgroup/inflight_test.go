package raftgroup

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/lichendb/lichen/internal/apply"
	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// TestInFlight runs testdata/inflight: entries from their proposal to their outcome. Each command has a name. The output
// of an event is the commands whose proposers were notified.
func TestInFlight(t *testing.T) {
	datadriven.RunTest(t, "testdata/inflight", func(t *testing.T, d *datadriven.TestData) string {
		return newInFlightScript().run(t, d.Input)
	})
}

type inFlightScript struct {
	q       *Queue
	f       InFlight
	entries map[string][]byte // by the first command in them
	props   []*Proposal
}

type refusals struct{}

func (refusals) NotLeader() error { return errors.New("not leader") }
func (refusals) Mismatch() error  { return errors.New("other bounds") }
func (refusals) Busy() error      { return errors.New("busy") }

func newInFlightScript() *inFlightScript {
	s := &inFlightScript{q: NewQueue(true, nil), entries: map[string][]byte{}}
	s.f = InFlight{queue: s.q, refusals: refusals{}}
	return s
}

func (s *inFlightScript) run(t *testing.T, input string) string {
	var out strings.Builder
	for line := range strings.Lines(input) {
		line = strings.TrimSpace(line)
		result := append(s.op(t, strings.Fields(line)), s.notified()...)
		fmt.Fprintf(&out, "%s\n", strings.TrimSuffix(line+": "+strings.Join(result, "; "), ": "))
	}
	return out.String()
}

func (s *inFlightScript) op(t *testing.T, f []string) []string {
	num := func(i int) uint64 {
		n, err := strconv.ParseUint(f[i], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	switch f[0] {
	case "propose": // propose TERM COMMAND[@TERM of its fence]...
		return s.propose(num(1), f[2:])
	case "change": // a configuration change
		p := NewProposal(Fence{}, []byte(f[1]))
		s.props = append(s.props, p)
		s.f.RegisterConfChange(p)
	case "dropped":
		s.f.Drop()
	case "number": // number INDEX TERM COMMAND, or "change", or "refused-change"
		e := &pb.Entry{Index: proto.Uint64(num(1)), Term: proto.Uint64(num(2)), Data: s.entries[f[3]]}
		switch f[3] {
		case "change":
			e.Type, e.Data = pb.EntryConfChangeV2.Enum(), []byte("change")
		case "refused-change":
			e.Data = nil
		}
		s.f.Number([]*pb.Entry{e})
	case "apply": // apply INDEX TERM: an effect of each command, "no" for none
		s.f.Applying(num(1), num(2))
		for _, effect := range f[3:] {
			s.f.CommandApplied(effect != "no")
		}
	case "visible":
		s.f.Applied()
	case "expire":
		s.f.Expire(num(1), errors.New("ambiguous"))
	case "fail":
		s.f.Fail(errors.New("the log is lost"))
	default:
		t.Fatalf("unknown event %q", f[0])
	}
	return nil
}

func (s *inFlightScript) propose(term uint64, commands []string) []string {
	var batch []*Proposal
	for _, c := range commands {
		name, fence, _ := strings.Cut(c, "@")
		p := NewProposal(Fence{Term: term, BoundsGen: apply.AnyBounds}, []byte(name))
		if fence != "" {
			p.Fence.Term, _ = strconv.ParseUint(fence, 10, 64)
		}
		batch = append(batch, p)
	}
	s.props = append(s.props, batch...)
	entry, n := s.f.Compose(batch, term, false)
	if len(entry) > 0 {
		s.f.Register(entry, batch[:n])
	}
	s.entries[commands[0]] = entry
	var in []string
	_ = apply.Commands(entry, func(_ uint64, cmd []byte) error {
		in = append(in, string(cmd))
		return nil
	})
	return []string{fmt.Sprintf("an entry of %v", in)}
}

func (s *inFlightScript) notified() (out []string) {
	for _, p := range s.props {
		select {
		case <-p.Woken():
			out = append(out, fmt.Sprintf("%s %s", p.Command, outcome(p.Err())))
		default:
		}
	}
	return out
}

// A long command is released once it is in an entry.
func TestLongCommandsAreForgotten(t *testing.T) {
	for size, kept := range map[int]bool{10: true, apply.LongCommand: false} {
		s := newInFlightScript()
		batch := []*Proposal{nil, NewProposal(Fence{Term: AnyTerm}, make([]byte, size))}
		entry, n := s.f.Compose(batch[1:], 1, false)
		if n != 1 || len(entry) < size {
			t.Fatalf("%d bytes: an entry of %d with %d commands", size, len(entry), n)
		}
		s.f.Register(entry, batch)
		if got := batch[1].Command != nil; got != kept {
			t.Errorf("%d bytes: kept %v", size, got)
		}
		s.f.Number([]*pb.Entry{{Index: proto.Uint64(7), Term: proto.Uint64(1), Data: entry}})
		if s.f.Waiting() != 1 {
			t.Errorf("%d bytes: the entry is not known by its size", size)
		}
	}
}
