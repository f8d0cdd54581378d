package closedts

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
)

// TestScripts runs the stories in testdata. Node 1 leads ranges with replicas on node 2, which serves
// reads of the past. Each line of a "run" block is a step of one of them; the output repeats it with
// the messages that are sent, and what becomes of them.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		if strings.Contains(path, "fuzz") {
			t.Skip()
		}
		var s *script
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "new" {
				s = newScript(t)
				return ""
			}
			for line := range strings.Lines(d.Input) {
				line = strings.TrimSpace(line)
				fmt.Fprintf(&s.out, "%s\n", line)
				s.op(strings.Fields(line))
			}
			defer s.out.Reset()
			return s.out.String()
		})
	})
}

type script struct {
	t       *testing.T
	out     strings.Builder
	now     time.Time
	from    Message // store and process of node 1
	sender  *Sender
	node2   *Receiver
	applied map[kvpb.RangeID]uint64 // at node 2
	down    bool                    // the connection
	last    *Message
	asked   bool // node 2 has missed something
}

func newScript(t *testing.T) *script {
	s := &script{t: t, now: time.Unix(1000, 0), applied: map[kvpb.RangeID]uint64{}, from: Message{Store: 1, Process: 10}, sender: NewSender()}
	s.node2 = NewReceiver(func(id kvpb.RangeID) uint64 { return s.applied[id] })
	return s
}

func (s *script) num(f string) int64 {
	n, err := strconv.ParseInt(f, 10, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

func (s *script) op(f []string) {
	id := func(i int) kvpb.RangeID { return kvpb.RangeID(s.num(f[i])) }
	ts := func(i int) hlc.Timestamp { return hlc.Timestamp{WallTime: s.num(f[i])} }
	switch f[0] {
	case "track": // track RANGE INDEX: node 1 has the range's closed timestamp rise by itself
		s.sender.Track(id(1), uint64(s.num(f[2])), []kvpb.NodeID{2})
	case "untrack":
		s.sender.Untrack(id(1))
	case "say": // say RANGE INDEX TIME: of an active range
		s.sender.Say(Item{Range: id(1), Index: uint64(s.num(f[2])), TS: ts(3)}, []kvpb.NodeID{2})
	case "flush": // flush TIME [lost]: the message is lost, unnoticed
		s.sender.Flush(s.from, ts(1), func(_ kvpb.NodeID, m *Message) bool { return s.send(m, len(f) > 2) })
		if s.asked {
			fmt.Fprintf(&s.out, "  node 2 asks for everything\n")
			s.sender.Resend(2)
			s.asked = false
		}
	case "again": // the last message comes once more
		s.receive(s.last)
	case "connection": // connection up|down
		s.down = f[1] == "down"
	case "restart": // restart PROCESS: node 1, which leads nothing then
		s.from.Process, s.sender = s.num(f[1]), NewSender()
	case "advance": // advance MILLISECONDS
		s.now = s.now.Add(time.Duration(s.num(f[1])) * time.Millisecond)
	case "applied": // applied RANGE INDEX: by node 2
		s.applied[id(1)] = uint64(s.num(f[2]))
	case "split": // split RANGE NEW INDEX: node 2 applies it
		s.node2.Inherit(id(1), id(2), uint64(s.num(f[3])))
		s.applied[id(2)] = 10
	case "read": // read RANGE TIME: at node 2
		if closed := s.node2.Closed(id(1), s.applied[id(1)]); closed.Less(ts(2)) {
			fmt.Fprintf(&s.out, "  refused: closed up to %d\n", closed.WallTime)
		} else {
			fmt.Fprintf(&s.out, "  served: closed up to %d\n", closed.WallTime)
		}
	default:
		s.t.Fatalf("unknown step %q", f[0])
	}
}

func (s *script) send(m *Message, lost bool) bool {
	fmt.Fprintf(&s.out, "  %s\n", show(m))
	switch {
	case s.down:
		fmt.Fprintf(&s.out, "  not sent\n")
		return false
	case lost:
		fmt.Fprintf(&s.out, "  lost\n")
		return true
	}
	c := *m
	s.last = &c
	s.receive(m)
	return true
}

func (s *script) receive(m *Message) {
	var got Message
	if err := got.Decode(m.Encode()); err != nil {
		s.t.Fatal(err)
	}
	s.asked = s.node2.Receive(&got, s.now) || s.asked
}

func show(m *Message) string {
	out := fmt.Sprintf("message %d: closed %d", m.Seq, m.Closed.WallTime)
	if m.Reset {
		out += ", reset"
	}
	removed := slices.Clone(m.Removed)
	for _, id := range removed {
		out += fmt.Sprintf(", removed %d", id)
	}
	for _, k := range m.Added {
		out += fmt.Sprintf(", added %d from %d", k.Range, k.Index)
	}
	for _, k := range m.Active {
		out += fmt.Sprintf(", %d from %d closed %d", k.Range, k.Index, k.TS.WallTime)
	}
	return out
}
