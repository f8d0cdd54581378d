package closedts

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/scripttest"
)

// TestScripts runs the stories in testdata/streams. Node 1 leads ranges with replicas on node 2, which
// serves reads of the past. A step happens at one of them; its result are the messages that are sent,
// and what becomes of them.
func TestScripts(t *testing.T) {
	scripttest.Walk(t, "testdata/streams", func(t *testing.T, _ *datadriven.TestData) scripttest.Step {
		s := newScript(t)
		return func(words []string) []string {
			s.out = nil
			s.op(words)
			return s.out
		}
	})
}

type script struct {
	t       *testing.T
	out     []string // the result of the step
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

func (s *script) say(format string, args ...any) { s.out = append(s.out, fmt.Sprintf(format, args...)) }

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
			s.say("node 2 asks for everything")
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
			s.say("refused: closed up to %d", closed.WallTime)
		} else {
			s.say("served: closed up to %d", closed.WallTime)
		}
	default:
		s.t.Fatalf("unknown step %q", f[0])
	}
}

func (s *script) send(m *Message, lost bool) bool {
	s.say("%s", show(m))
	switch {
	case s.down:
		s.say("not sent")
		return false
	case lost:
		s.say("lost")
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

// TestReads runs the stories in testdata/reads. A story is one read, with its snapshot and the end of its
// uncertainty, of spans of the range [b, m) of bounds generation 1.
func TestReads(t *testing.T) {
	scripttest.Walk(t, "testdata/reads", func(t *testing.T, d *datadriven.TestData) scripttest.Step {
		s := &readScript{script: script{t: t}}
		var ts, uncertain int64
		d.ScanArgs(t, "ts", &ts)
		d.MaybeScanArgs(t, "uncertain", &uncertain)
		s.read = NewRead(&kvpb.TxnMeta{ReadTS: hlc.Timestamp{WallTime: ts}, UncertainTS: hlc.Timestamp{WallTime: uncertain}}, d.HasArg("moves"))
		return func(words []string) []string { return []string{s.op(words)} }
	})
}

type readScript struct {
	script
	read Read
}

func (s *readScript) op(f []string) string {
	names := [...]string{"go on", "ask the leader", "the range does not hold the span", "versions are collected"}
	var ts hlc.Timestamp
	if len(f) > 1 {
		ts.WallTime = s.num(f[1])
	}
	d := &kvpb.RangeDescriptor{StartKey: []byte("b"), EndKey: []byte("m"), BoundsGen: 1}
	switch f[0] {
	case "begin": // begin CLOSED FROM TO
		return names[s.read.Begin(ts, d, []kvpb.Span{{Key: []byte(f[2]), EndKey: []byte(f[3])}})]
	case "state": // state CLOSED [missing]
		return names[s.read.State(ts, len(f) == 2)]
	case "lock": // lock TIME
		return names[s.read.Lock(ts)]
	case "at":
		return strconv.FormatInt(s.read.At().WallTime, 10)
	case "end": // end THRESHOLD BOUNDS-GENERATION
		d.BoundsGen = uint64(s.num(f[2]))
		return names[s.read.End(d, ts)]
	}
	s.t.Fatalf("unknown step %q", f[0])
	return ""
}
