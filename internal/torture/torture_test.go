package torture

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

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
	call := func(from int, timeout time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
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
	if r.Passed() || !strings.Contains(b.String(), "VIOLATION") || !strings.Contains(b.String(), "(1, 2) is lost") {
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

// TestHealNode: only the directions from and to the node become whole.
func TestHealNode(t *testing.T) {
	l := NewLinks()
	defer l.Close()
	l.CutBoth(1, 2)
	l.Cut(2, 3)
	l.HealNode(1)
	for d, want := range map[direction]bool{{1, 2}: true, {2, 1}: true, {2, 3}: false, {3, 2}: true} {
		if open, _ := l.open(d); open != want {
			t.Errorf("%v is whole: %v", d, open)
		}
	}
}

// TestJudgeComparison: replicas count as identical only if all were compared.
func TestJudgeComparison(t *testing.T) {
	for out, want := range map[string]comparison{
		"x\n12 ranges identical (0 of them without some replica that did not answer), 0 differing, 0 unchecked":  identical,
		"12 ranges identical (1 of them without some replica that did not answer), 0 differing, 0 unchecked":     incomplete,
		"12 ranges identical (0 of them without some replica that did not answer), 0 differing, 1 unchecked":     incomplete,
		"12 ranges identical (0 of them without some replica that did not answer), 1 differing, 3 unchecked\nno": differing,
		"0 ranges identical (0 of them without some replica that did not answer), 0 differing, 0 unchecked":      incomplete,
		"connection refused": incomplete,
	} {
		if got := judgeComparison(out); got != want {
			t.Errorf("%q: %v, want %v", out, got, want)
		}
	}
}

// TestReplicasOf finds the replicas among other columns.
func TestReplicasOf(t *testing.T) {
	if got := replicasOf([]string{"/a", "{}", "{region=a}", "{1,12}", "{3}"}); !slices.Equal(got, []string{"1", "12"}) {
		t.Errorf("%q", got)
	}
	if got := replicasOf([]string{"{}", "{x,1}", "3"}); got != nil {
		t.Errorf("%q", got)
	}
}

// TestUntil: scenarios share what is left of the time.
func TestUntil(t *testing.T) {
	left := func(d time.Duration, name string, n int) time.Duration {
		u := (&test{o: Options{Duration: d}}).until(&Scenario{Name: name}, time.Now(), n)
		if u.IsZero() {
			return 0
		}
		return time.Until(u).Round(time.Second)
	}
	for _, x := range []struct{ got, want time.Duration }{
		{left(0, "kill", 1), 0},
		{left(0, MixedName, 1), mixedTime},
		{left(2*time.Minute, "kill", 2), time.Minute - judgeTime},
		{left(5*time.Minute, MixedName, 1), 5*time.Minute - judgeTime},
		{left(time.Second, "kill", 3), time.Second},
	} {
		if x.got != x.want {
			t.Errorf("%v, want %v", x.got, x.want)
		}
	}
}

// TestScenarios: names are unique, their faults exist, and a scenario that needs more
// nodes is refused before anything is started.
func TestScenarios(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range Scenarios() {
		if seen[s.Name] || s.play == nil || s.About == "" {
			t.Errorf("scenario %q", s.Name)
		}
		seen[s.Name] = true
	}
	for _, f := range faults() {
		if seen["fault "+f.name] || f.begin == nil && f.hold == nil {
			t.Errorf("fault %q", f.name)
		}
		seen["fault "+f.name] = true
	}
	for _, name := range []string{"disk stands still", "disk full"} {
		if !seen["fault "+name] {
			t.Errorf("no fault %q", name)
		}
	}
	for _, o := range []Options{
		{Scenarios: []string{"partition"}, Cluster: ClusterOptions{Nodes: 1}}, {Scenarios: []string{"none"}, Cluster: ClusterOptions{Nodes: 3}},
	} {
		if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "scenario") {
			t.Errorf("%v: %v", o.Scenarios, err)
		}
	}
}

// TestRowWriter: a row may have the values that its writer was told, and those that it was told nothing of.
func TestRowWriter(t *testing.T) {
	c := &rowWriter{client: client{rng: rand.New(rand.NewPCG(1, 1))}, rows: map[int64][]int64{}}
	var done []rowChange
	for range 50 {
		x := c.plan(done)
		if slices.ContainsFunc(done, func(o rowChange) bool { return o.id == x.id }) {
			t.Fatalf("row %d is changed twice in a transaction", x.id)
		}
		done = append(done, x)
	}
	for _, x := range done {
		c.settle(x, check.OK)
	}
	id := done[0].id
	steps := []struct {
		u    int64
		o    check.Outcome
		want []int64
	}{
		{done[0].u + 1, check.Failed, []int64{done[0].u}},
		{done[0].u + 2, check.Unknown, []int64{done[0].u, done[0].u + 2}},
		{noRow, check.OK, []int64{noRow}},
	}
	for _, s := range steps {
		if c.settle(rowChange{id: id, u: s.u}, s.o); !slices.Equal(c.rows[id], s.want) {
			t.Errorf("after %v of %d: %d", s.o, s.u, c.rows[id])
		}
		if known := slices.Contains(c.known, id); known != (s.o == check.Failed) {
			t.Errorf("after %v of %d the row may be changed: %v", s.o, s.u, known)
		}
	}
	c.settle(rowChange{id: 700, u: 7}, check.Failed)
	if !slices.Equal(c.rows[700], []int64{noRow}) {
		t.Errorf("a row that was not inserted: %d", c.rows[700])
	}
}

// TestJSON: programs read the verdict and the waits.
func TestJSON(t *testing.T) {
	r := &Report{Results: []*Result{{
		Scenario: "kill", Waits: []time.Duration{time.Second}, Lists: []ListCount{{Level: "SERIALIZABLE", Committed: 3, Of: 4}},
	}}}
	r.Results[0].undecided("too long")
	var b bytes.Buffer
	if err := r.JSON(&b); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Passed    bool
		Scenarios []struct {
			Scenario, Verdict string
			Waits             []float64
			Lists             []ListCount
		}
	}
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if s := got.Scenarios[0]; got.Passed || s.Verdict != "undecided" || s.Waits[0] != 1 || s.Lists[0].Of != 4 {
		t.Errorf("%+v", got)
	}
}

// TestTable: the columns of all rows are as wide.
func TestTable(t *testing.T) {
	var b bytes.Buffer
	writeTable(&b, [][]string{{"a", "long one"}, {"…", "x"}})
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	for _, l := range lines {
		if utf8.RuneCountInString(l) != utf8.RuneCountInString(lines[0]) {
			t.Errorf("\n%s", b.String())
		}
	}
}

// TestLists: what is sent is what is judged.
func TestLists(t *testing.T) {
	if got := listSQL(check.ListStep{Key: "k", Append: "7"}); !strings.Contains(got, "VALUES ('k', '7')") || !strings.Contains(got, "v || ',7'") {
		t.Error(got)
	}
	if got := listSQL(check.ListStep{Key: "k"}); !strings.HasPrefix(got, "SELECT v") {
		t.Error(got)
	}
	a, b := &round{number: 1}, &round{number: 11}
	if !strings.Contains(a.listKey(check.Snapshot, 3), a.listMark(check.Snapshot)) || strings.Contains(b.listKey(check.Snapshot, 3), a.listMark(check.Snapshot)) ||
		strings.Contains(a.listKey(check.Serializable, 3), a.listMark(check.Snapshot)) {
		t.Error("names of lists do not tell rounds and levels apart")
	}
}

// TestMustJudge: a scenario in which nothing happened, or of which nothing was looked at, does
// not pass.
func TestMustJudge(t *testing.T) {
	for _, c := range []struct {
		r      Result
		passes bool
	}{
		{Result{Events: 1, Operations: 1}, true},
		{Result{Events: 1}, false},
		{Result{Operations: 1}, false},
	} {
		c.r.mustJudge()
		if got := (&Report{Results: []*Result{&c.r}}).Passed(); got != c.passes {
			t.Errorf("%d faults, %d operations: passed %v", c.r.Events, c.r.Operations, got)
		}
	}
}

// TestBalancerFollowsReadiness: a node goes out after two checks that fail, and comes back after
// two that pass; one does nothing.
func TestBalancerFollowsReadiness(t *testing.T) {
	n := &target{up: true}
	for i, c := range []struct{ ready, up bool }{
		{false, true}, {true, true}, {false, true}, {false, false}, {true, false}, {false, false}, {true, false}, {true, true},
	} {
		if n.answered(c.ready); n.up != c.up {
			t.Errorf("after answer %d: up %v", i+1, n.up)
		}
	}
	b := &balancer{targets: []*target{{up: true, conns: 2}, {up: false}, {up: true, conns: 1}}}
	if got := b.pick(); got != b.targets[2] || got.conns != 2 {
		t.Error("a connection goes to another than the one with the fewest of those that are ready")
	}
}
