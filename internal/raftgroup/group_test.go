package raftgroup

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/raftlog"
	"go.etcd.io/raft/v3"
	pb "go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

// TestGroup runs testdata/group: three replicas of one range, whose groups exchange messages only where the script says
// so. The output of an event is the messages sent because of it, the commands applied, the leaderships begun or ended,
// and the outcomes of proposals.
func TestGroup(t *testing.T) {
	var c *cluster
	datadriven.RunTest(t, "testdata/group", func(t *testing.T, d *datadriven.TestData) string {
		switch d.Cmd {
		case "new":
			c = newCluster(t)
			return ""
		case "run":
			return c.run(t, d.Input)
		}
		d.Fatalf(t, "unknown command %q", d.Cmd)
		return ""
	})
}

type cluster struct {
	nodes  []*node
	events []string
	props  map[string]*Proposal
	names  []string
}

// node is a replica: the host of its group. Its state is the list of applied commands.
type node struct {
	*Group
	c           *cluster
	id          uint64
	index, term uint64
	state       []string
	sent        []*pb.Message // and not delivered
	idle, away  bool
	members     []uint64
}

func newCluster(t *testing.T) *cluster {
	c := &cluster{props: map[string]*Proposal{}}
	for id := uint64(1); id <= 3; id++ {
		log, err := raftlog.Open(raftlog.Options{FS: fs.NewMem(), Dir: "log"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = log.Close() })
		begin := raftlog.Write{
			Group: 1, Replica: id, Reset: &raftlog.Mark{Index: 10, Term: 1}, HardState: &raftlog.HardState{Term: 1, Commit: 10},
		}
		if err := log.Append([]raftlog.Write{begin}); err != nil {
			t.Fatal(err)
		}
		n := &node{c: c, id: id, index: 10, term: 1, members: []uint64{1, 2, 3}}
		st, _ := log.State(1)
		n.Group = New(Config{
			Range: 1, Replica: kvpb.ReplicaID(id), Log: log, State: st, Started: true, Schedule: func(fn func()) { fn() },
			Logger: &raft.DefaultLogger{Logger: slog.NewLogLogger(slog.NewTextHandler(io.Discard, nil), slog.LevelError)},
		}, n)
		if err := n.Reset(); err != nil {
			t.Fatal(err)
		}
		c.nodes = append(c.nodes, n)
	}
	return c
}

func (c *cluster) run(t *testing.T, input string) string {
	var out strings.Builder
	for line := range strings.Lines(input) {
		line = strings.TrimSpace(line)
		c.events = nil
		c.op(t, strings.Fields(line))
		c.notified()
		fmt.Fprintf(&out, "%s\n", line)
		for _, e := range c.events {
			fmt.Fprintf(&out, "  %s\n", e)
		}
	}
	return out.String()
}

func (c *cluster) event(format string, args ...any) {
	c.events = append(c.events, fmt.Sprintf(format, args...))
}

func (c *cluster) op(t *testing.T, f []string) {
	at := func(i int) *node {
		id, err := strconv.Atoi(f[i])
		if err != nil {
			t.Fatal(err)
		}
		return c.nodes[id-1]
	}
	switch f[0] {
	case "campaign":
		n := at(1)
		n.Do(func() { _ = n.Raft().Campaign() })
	case "unsupport": // the nodes' stores support the leader's no more, so they may vote for another
		for i := range f[1:] {
			n := at(i + 1)
			n.Do(func() { _ = n.Raft().ForgetLeader() })
		}
	case "propose": // propose NODE COMMAND...: what comes while one is being written is the next batch
		c.propose(at(1), f[2:])
	case "stale": // propose NODE COMMAND under the lease of term 1
		c.enqueue(at(1), f[2], 1)
	case "deliver": // until there are no messages but to those away
		c.deliver(t)
	case "lose": // the messages of a node
		at(1).sent = nil
	case "away":
		at(1).away = true
	case "back":
		at(1).away = false
	case "tick":
		n, ticks := at(1), 1
		if len(f) > 2 {
			ticks, _ = strconv.Atoi(f[2])
		}
		for range ticks {
			n.Do(n.TickLeader)
			c.deliver(t)
		}
	case "unquiesce":
		n := at(1)
		n.Do(n.Unquiesce)
	case "log-full":
		_ = at(1).Fail(raftlog.ErrDiskFull)
	case "log-fails":
		_ = at(1).Fail(errors.New("input/output error"))
	case "show":
		for _, n := range c.nodes {
			c.event("%d: term %d, leader %d, applied %v", n.id, n.Raft().BasicStatus().GetTerm(), n.Raft().BasicStatus().Lead, n.state)
		}
	default:
		t.Fatalf("unknown event %q", f[0])
	}
}

// propose queues several commands before anybody processes the group.
func (c *cluster) propose(n *node, commands []string) {
	last := len(commands) - 1
	for _, cmd := range commands[:last] {
		p := n.Queue.Get(Fence{Term: n.Led(), BoundsGen: apply.AnyBounds}, []byte(cmd))
		c.add(cmd, p)
		n.Queue.mu.proposals = append(n.Queue.mu.proposals, p)
	}
	c.enqueue(n, commands[last], n.Led())
}

func (c *cluster) enqueue(n *node, cmd string, term uint64) {
	p := n.Queue.Get(Fence{Term: term, BoundsGen: apply.AnyBounds}, []byte(cmd))
	c.add(cmd, p)
	process, err := n.Queue.Propose(p)
	switch {
	case err != nil:
		c.event("%s: %v", cmd, err)
	case process && n.process(p):
		c.event("%s: %s", cmd, outcome(p.Err()))
		c.forget(cmd)
	}
}

func (c *cluster) add(name string, p *Proposal) {
	c.props[name] = p
	c.names = append(c.names, name)
}

func (c *cluster) forget(name string) {
	c.names = slices.DeleteFunc(c.names, func(n string) bool { return n == name })
}

func outcome(err error) string {
	if err == nil {
		return "took effect"
	}
	return err.Error()
}

// notified returns which proposers were notified.
func (c *cluster) notified() {
	for _, name := range slices.Clone(c.names) {
		select {
		case <-c.props[name].Woken():
			c.event("%s: %s", name, outcome(c.props[name].Err()))
			c.forget(name)
		default:
		}
	}
}

func (c *cluster) deliver(t *testing.T) {
	for range 100 {
		var all []*pb.Message
		for _, n := range c.nodes {
			kept := n.sent[:0]
			for _, m := range n.sent {
				if n.away || c.nodes[m.GetTo()-1].away {
					kept = append(kept, m)
					continue
				}
				all = append(all, m)
			}
			n.sent = kept
		}
		if len(all) == 0 {
			return
		}
		for _, m := range all {
			c.nodes[m.GetTo()-1].Post(Input{Msg: m})
		}
	}
	t.Fatal("the messages do not end")
}

// The node is the host of its group.

func (n *node) NotLeader() error { return errors.New("another replica leads, or may") }
func (n *node) Mismatch() error  { return errors.New("the bounds are others") }
func (n *node) Busy() error      { return errors.New("busy") }

func (n *node) ConfState() *pb.ConfState               { return &pb.ConfState{Voters: n.members} }
func (n *node) Applied() (index, term uint64, ok bool) { return n.index, n.term, true }
func (n *node) OnlyVoter() bool                        { return len(n.members) == 1 }
func (n *node) UnquiesceReplica()                      {}
func (n *node) Go(fn func()) bool                      { go fn(); return true }
func (n *node) Accept(*pb.Message, int64) bool         { return true }
func (n *node) Reachable(id uint64) bool               { return !n.c.nodes[id-1].away }
func (n *node) Appending(int)                          {}
func (n *node) NoteLeader(uint64)                      {}
func (n *node) NoteElected()                           {}

func (n *node) Send(m *pb.Message) {
	note := ""
	if len(m.Entries) > 0 {
		note = fmt.Sprintf(" of %d entries", len(m.Entries))
	}
	if m.GetReject() {
		note = ", refused"
	}
	n.c.event("%d→%d %s%s", n.id, m.GetTo(), strings.TrimPrefix(m.GetType().String(), "Msg"), note)
	n.sent = append(n.sent, proto.CloneOf(m))
}

func (n *node) SetIdle(idle bool) {
	if idle != n.idle {
		n.idle = idle
		n.c.event("%d is %s", n.id, map[bool]string{true: "idle", false: "active"}[idle])
	}
}

func (n *node) Apply(ents []*pb.Entry) error {
	for _, e := range ents {
		n.InFlight.Applying(e.GetIndex(), e.GetTerm())
		var cmds []string
		err := apply.Commands(e.GetData(), func(_ uint64, cmd []byte) error {
			cmds = append(cmds, string(cmd))
			n.InFlight.CommandApplied(true)
			return nil
		})
		if err != nil {
			return err
		}
		n.index, n.term = e.GetIndex(), e.GetTerm()
		n.state = append(n.state, cmds...)
		if len(cmds) > 0 {
			n.c.event("%d applies %v", n.id, cmds)
		}
	}
	n.InFlight.Applied()
	return nil
}

func (n *node) Install(*pb.Message) error   { return errors.New("no snapshots here") }
func (n *node) BeginLeadership(term uint64) { n.c.event("%d leads and serves, term %d", n.id, term) }
func (n *node) EndLeadership()              { n.c.event("%d leads no more", n.id) }
func (n *node) StopServing()                { n.c.event("%d stops serving", n.id) }

func (n *node) Demoted(uint64, []kvpb.ReplicaID) {}

func (n *node) LogFull(term uint64, candidates []kvpb.ReplicaID) {
	n.c.event("%d: the log is full, candidates for its term %d: %v", n.id, term, candidates)
}
