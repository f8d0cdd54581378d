package torture

import (
	"bytes"
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/lichendb/lichen/internal/check"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/rpc"
)

const echo = rpc.FirstMethod

// peers are two nodes that reach each other through Links.
func peers(t *testing.T, l *Links) [2]*rpc.Node {
	t.Helper()
	var nodes [2]*rpc.Node
	var addr [2]string
	for i := range nodes {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		p, err := l.front("127.0.0.1:0", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		p.identify(kvpb.NodeID(i + 1))
		addr[i] = p.ln.Addr().String()
		n := rpc.New(rpc.Options{
			ClusterID: func() string { return "c" }, NodeID: func() kvpb.NodeID { return kvpb.NodeID(i + 1) },
			Resolve: func(id kvpb.NodeID) (string, bool) { return addr[id-1], true },
		})
		n.Handle(echo, func(_ context.Context, _ kvpb.NodeID, req []byte) ([]byte, error) { return req, nil })
		nodes[i] = n
		go func() {
			for {
				c, err := ln.Accept()
				if err != nil {
					return
				}
				go n.ServeConn(c, nil)
			}
		}()
		t.Cleanup(func() { _ = ln.Close(); n.Close() })
	}
	return nodes
}

// TestLinks: a direction that is cut carries nothing, whoever dialled the connection,
// and carries what waited when it is whole again.
func TestLinks(t *testing.T) {
	l := NewLinks()
	defer l.Close()
	nodes := peers(t, l)
	call := func(from int, patience time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		_, err := nodes[from-1].Call(ctx, kvpb.NodeID(3-from), echo, []byte("x"))
		return err
	}
	const long, short = 10 * time.Second, 50 * time.Millisecond
	for from := 1; from <= 2; from++ {
		if err := call(from, long); err != nil {
			t.Fatal(err)
		}
	}
	// One direction is enough to stop calls both ways: requests or answers.
	l.Cut(1, 2)
	for from := 1; from <= 2; from++ {
		if err := call(from, short); err == nil {
			t.Errorf("a call of node %d was answered over a link that is cut", from)
		}
	}
	l.Heal()
	for from := 1; from <= 2; from++ {
		if err := call(from, long); err != nil {
			t.Errorf("node %d after the link was healed: %v", from, err)
		}
	}
}

// TestOutcome: only an error that says that nothing happened counts so.
func TestOutcome(t *testing.T) {
	for code, want := range map[string]check.Outcome{
		"40001": check.Failed, "40P01": check.Failed, "40003": check.Unknown, "57P01": check.Unknown, "57P03": check.Unknown,
	} {
		if got := outcome(&pgconn.PgError{Code: code}); got != want {
			t.Errorf("%s: %v, want %v", code, got, want)
		}
	}
	if got := outcome(errors.New("connection reset")); got != check.Unknown {
		t.Errorf("a lost connection: %v", got)
	}
}

// TestWaits: a wait counts from the fault on, whether it has ended or not.
func TestWaits(t *testing.T) {
	now := time.Now()
	at := func(s float64) time.Time { return now.Add(time.Duration(s * float64(time.Second))) }
	w := &waits{last: at(-0.05), spans: []span{{at(-30), at(-20)}, {at(-12), at(-7)}}}
	for _, x := range []struct{ from, to, want float64 }{
		{-40, -15, 10}, // the longest of those under way
		{-25, -15, 5},  // of the ten seconds, those after the fault
		{-10, -1, 3},
		{-19, -13, 0}, // between the waits
	} {
		if got := w.longest(at(x.from), at(x.to)).Seconds(); got != x.want {
			t.Errorf("from %v to %v: %.2f s, want %v", x.from, x.to, got, x.want)
		}
	}
	w.last = at(-2)
	if got := w.longest(at(-3), at(0)).Seconds(); got < 2 || got > 10 {
		t.Errorf("a wait that goes on: %.2f s, want 2", got)
	}
}

// TestReport: a violation shows in the line, in the table and in the verdict.
func TestReport(t *testing.T) {
	r := &Report{Results: []*Result{{Scenario: "kill", Events: 2, Waits: []time.Duration{time.Second, 2 * time.Second}}}}
	if !r.Passed() || !strings.Contains(r.Results[0].line(), "1.00/") && !strings.Contains(r.Results[0].line(), "2.00/") {
		t.Errorf("%v, %s", r.Passed(), r.Results[0].line())
	}
	r.Results[0].violation("the insert of (%d, %d) is lost", 1, 2)
	var b bytes.Buffer
	r.Write(&b)
	if r.Passed() || !strings.Contains(b.String(), "**violation**") || !strings.Contains(b.String(), "(1, 2) is lost") {
		t.Errorf("%v, %s", r.Passed(), b.String())
	}
}

// TestPartial names a range that lacks replicas.
func TestPartial(t *testing.T) {
	if got := partial([][]string{{"/a", "/b", "1", "{1,2,3}"}, {"/b", "/c", "2", "{1,2}"}}, "3"); !strings.HasPrefix(got, "/b /c") {
		t.Errorf("%q", got)
	}
	if got := partial([][]string{{"/a", "/b", "1", "{1,2,3}"}}, "3"); got != "" {
		t.Errorf("%q", got)
	}
}
