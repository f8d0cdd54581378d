package catalog

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/catalog/membership"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// gateways are several catalogs over one key space.
type gateways struct {
	t     testing.TB
	kv    *node
	nodes []*node
	net   *peerNet
}

// peerNet carries requests between them, and loses some.
type peerNet struct {
	mu     sync.Mutex
	stores map[kvpb.NodeID]*Store
	cut    map[kvpb.NodeID]bool
	// fault, if set, is asked for each message whether it is lost; answer says
	// whether it is an answer.
	fault func(answer bool) bool
}

var errLostMessage = errors.New("lost")

type peerEnd struct {
	net  *peerNet
	self kvpb.NodeID
}

func (p peerEnd) RemoteWait(kvpb.TxnID, kvpb.NodeID) (done func()) { return func() {} }

func (p peerEnd) Call(ctx context.Context, to kvpb.NodeID, req []byte) ([]byte, error) {
	p.net.mu.Lock()
	s, cut, fault := p.net.stores[to], p.net.cut[to] || p.net.cut[p.self], p.net.fault
	p.net.mu.Unlock()
	if s == nil || cut || fault != nil && fault(false) {
		return nil, errLostMessage
	}
	b, err := s.HandlePeer(ctx, p.self, req)
	p.net.mu.Lock()
	cut = p.net.cut[to] || p.net.cut[p.self]
	p.net.mu.Unlock()
	if cut || fault != nil && fault(true) {
		return nil, errLostMessage
	}
	return b, err
}

func (n *peerNet) setCut(id kvpb.NodeID, cut bool) {
	n.mu.Lock()
	n.cut[id] = cut
	n.mu.Unlock()
}

func testTiming(validity time.Duration) timing {
	return timing{
		margin: validity / 10, deadline: validity / 2,
		poll: 40 * time.Millisecond, backoff: 2 * time.Millisecond, watch: 20 * time.Millisecond,
		maxLock: time.Minute, release: time.Minute,
	}
}

// openGateways starts n of them.
func openGateways(t testing.TB, n int, validity time.Duration) *gateways {
	t.Helper()
	return openGatewaysOver(openNode(t, fs.NewMem()), t, n, validity)
}

func openGatewaysOver(over *node, t testing.TB, n int, validity time.Duration) *gateways {
	t.Helper()
	c := &gateways{t: t, kv: over}
	c.net = &peerNet{stores: map[kvpb.NodeID]*Store{}, cut: map[kvpb.NodeID]bool{}}
	for range n {
		c.add(validity)
	}
	return c
}

// make returns one more, not yet started.
func (c *gateways) make(validity time.Duration) *node {
	id := kvpb.NodeID(len(c.nodes) + 1)
	s := NewStore(Options{
		DB: c.kv.db, Node: id, Incarnation: int64(id), Peers: peerEnd{c.net, id},
	})
	s.gw.timing = testTiming(validity)
	s.gw.member.Timing = membership.Timing{
		Validity: validity, Renew: validity / 4, Wait: 10 * validity, Backoff: s.gw.backoff, Deadline: validity / 2,
	}
	n := &node{store: c.kv.store, db: c.kv.db, cat: s}
	c.nodes = append(c.nodes, n)
	c.net.mu.Lock()
	c.net.stores[id] = s
	c.net.mu.Unlock()
	return n
}

func (c *gateways) add(validity time.Duration) *node {
	c.t.Helper()
	n := c.make(validity)
	if err := n.cat.StartGateway(ctx); err != nil {
		c.t.Fatal(err)
	}
	return n
}

func (c *gateways) close() {
	for _, n := range c.nodes {
		if err := n.cat.StopGateway(ctx); err != nil {
			c.t.Error(err)
		}
	}
	c.kv.close(c.t)
}

// die makes a gateway fall silent without a word.
func (c *gateways) die(i int) {
	c.net.setCut(kvpb.NodeID(i+1), true)
	g := c.nodes[i].cat.gw
	g.mu.Lock()
	cancel := g.cancel
	g.mu.Unlock()
	cancel()
	g.done.Wait()
}

// revive lets it live again, not knowing that it was gone.
func (c *gateways) revive(i int) {
	g := c.nodes[i].cat.gw
	c.net.setCut(g.member.Node, false)
	run, cancel := context.WithCancel(ctx)
	g.mu.Lock()
	g.cancel = cancel
	g.mu.Unlock()
	g.done.Add(2)
	go g.keepAlive(run)
	go g.watchPeers(run)
}

// tryCommit commits, or rolls back and returns the error.
func (s *session) tryCommit() error {
	err := s.PreCommit(ctx)
	if err == nil {
		err = s.txn.Commit(ctx)
	}
	if err != nil {
		s.rollback()
		return err
	}
	s.Committed(ctx)
	return nil
}

// comment gives table a new comment.
func (s *session) comment(name, text string) error {
	tab, _, err := s.FindRelation(ctx, "", "", name)
	if err != nil || tab == nil {
		return errors.Join(err, errors.New("not found"))
	}
	if err := s.LockExclusive(ctx, tab.ID); err != nil {
		return err
	}
	if tab, err = s.TableByID(ctx, tab.ID); err != nil {
		return err
	}
	c := tab.Clone()
	c.Comment = text
	return s.Put(ctx, c)
}

func (n *node) commentOf(t testing.TB, name string) string {
	t.Helper()
	s := n.session(t)
	defer s.Close()
	s.begin(kv.TxnOptions{})
	defer s.rollback()
	if tab := s.find(name); tab != nil {
		return tab.Comment
	}
	return "(none)"
}

// table makes a table on the first node.
func (c *gateways) table(name string) ID {
	s := c.nodes[0].session(c.t)
	defer s.Close()
	s.begin(kv.TxnOptions{})
	id := s.create(name).ID
	s.commit()
	return id
}

func TestPeersSeeDDL(t *testing.T) { synctest.Test(t, testPeersSeeDDL) }

func testPeersSeeDDL(t *testing.T) {
	c := openGateways(t, 3, 5*time.Second)
	defer c.close()
	a := c.table("a")
	gen := c.nodes[2].cat.Generation()
	for i, n := range c.nodes {
		if got := n.commentOf(t, "a"); got != "" {
			t.Fatalf("node %d: %q", i+1, got)
		}
	}
	s := c.nodes[1].session(t)
	s.begin(kv.TxnOptions{})
	if err := s.comment("a", "one"); err != nil {
		t.Fatal(err)
	}
	s.commit()
	for i, n := range c.nodes {
		if got := n.commentOf(t, "a"); got != "one" {
			t.Errorf("node %d: %q", i+1, got)
		}
	}
	if c.nodes[2].cat.Generation() == gen {
		t.Error("the generation did not rise")
	}
	// Rename on one node, drop on another.
	s.begin(kv.TxnOptions{})
	tab := s.find("a")
	if err := s.LockExclusive(ctx, a); err != nil {
		t.Fatal(err)
	}
	old, now := NameKey{tab.Database, tab.Schema, "a"}, NameKey{tab.Database, tab.Schema, "z"}
	if err := s.RemoveName(ctx, old); err != nil {
		t.Fatal(err)
	}
	if _, err := s.AddName(ctx, now, NameEntry{ID: a}); err != nil {
		t.Fatal(err)
	}
	z := tab.Clone()
	z.Name = "z"
	if err := s.Put(ctx, z); err != nil {
		t.Fatal(err)
	}
	s.commit()
	for i, n := range c.nodes {
		if n.commentOf(t, "a") != "(none)" || n.commentOf(t, "z") != "one" {
			t.Errorf("node %d does not know the new name", i+1)
		}
	}
	d := c.nodes[2].session(t)
	d.begin(kv.TxnOptions{})
	if err := d.LockExclusive(ctx, a); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(d.RemoveName(ctx, now), d.Remove(ctx, a)); err != nil {
		t.Fatal(err)
	}
	d.commit()
	for i, n := range c.nodes {
		if n.commentOf(t, "z") != "(none)" || n.cat.object(a) != nil {
			t.Errorf("node %d still has the table", i+1)
		}
	}
}

func TestDeadPeerHoldsNobodyUp(t *testing.T) { synctest.Test(t, testDeadPeerHoldsNobodyUp) }

// While a change waits for a gateway that has died, or for what that may have left on its way, others use the table.
func testDeadPeerHoldsNobodyUp(t *testing.T) {
	const validity = 5 * time.Second
	for _, again := range []bool{false, true} {
		c := openGateways(t, 3, validity)
		a := c.table("a")
		c.die(2)
		if again {
			c.net.setCut(3, false)
			if _, err := c.nodes[2].cat.gw.member.Begin(ctx); err != nil { // by its next process
				t.Fatal(err)
			}
		}
		began := time.Now()
		changed := make(chan error, 1)
		go func() {
			s := c.nodes[0].session(t)
			s.begin(kv.TxnOptions{})
			err := s.comment("a", "new")
			if err == nil {
				err = s.tryCommit()
			}
			changed <- err
		}()
		for time.Since(began) < validity/2 {
			for _, n := range c.nodes[:2] {
				if got := n.commentOf(t, "a"); got != "" {
					t.Fatalf("changed to %q while the lease of a gateway lasted", got)
				}
				if n.cat.object(a).excl.Load() != nil {
					t.Fatal("the table is locked by a change that waits")
				}
			}
			time.Sleep(validity / 50)
		}
		if err := <-changed; err != nil {
			t.Fatal(err)
		}
		if got := c.nodes[1].commentOf(t, "a"); got != "new" {
			t.Errorf("after the change: %q", got)
		}
		c.close()
	}
}

func TestDDLWaitsForPinsElsewhere(t *testing.T) { synctest.Test(t, testDDLWaitsForPinsElsewhere) }

func testDDLWaitsForPinsElsewhere(t *testing.T) {
	c := openGateways(t, 2, 5*time.Second)
	defer c.close()
	a := c.table("a")
	reader, late := c.nodes[1].session(t), c.nodes[1].session(t)
	reader.begin(kv.TxnOptions{})
	reader.find("a")
	changer := c.nodes[0].session(t)
	changer.begin(kv.TxnOptions{})
	changed := make(chan error, 1)
	go func() {
		err := changer.comment("a", "new")
		if err == nil {
			err = changer.tryCommit()
		}
		changed <- err
	}()
	o := c.nodes[1].cat.object(a)
	for o.excl.Load() == nil {
		time.Sleep(time.Millisecond)
	}
	found := make(chan string, 1)
	go func() {
		late.begin(kv.TxnOptions{})
		tab, _, err := late.FindRelation(ctx, "", "", "a")
		if err != nil {
			found <- err.Error()
			return
		}
		found <- tab.Comment
	}()
	time.Sleep(5 * c.nodes[1].cat.gw.poll)
	select {
	case <-changed:
		t.Fatal("changed while another node uses the table")
	case <-found:
		t.Fatal("used while another node changes the table")
	default:
	}
	reader.commit()
	if err := <-changed; err != nil {
		t.Fatal(err)
	}
	if got := <-found; got != "new" {
		t.Errorf("the waiting user got %q", got)
	}
	late.rollback()
	// A change that is given up lets the others go on.
	changer.begin(kv.TxnOptions{})
	if err := changer.comment("a", "never"); err != nil {
		t.Fatal(err)
	}
	changer.rollback()
	if got := c.nodes[1].commentOf(t, "a"); got != "new" {
		t.Errorf("after the rollback: %q", got)
	}
}

func TestLockTimeoutAndDeadlockElsewhere(t *testing.T) {
	synctest.Test(t, testLockTimeoutAndDeadlockElsewhere)
}

func testLockTimeoutAndDeadlockElsewhere(t *testing.T) {
	c := openGateways(t, 2, 5*time.Second)
	defer c.close()
	a, b := c.table("a"), c.table("b")
	reader, changer := c.nodes[1].session(t), c.nodes[0].session(t)
	reader.begin(kv.TxnOptions{})
	reader.find("a")
	changer.begin(kv.TxnOptions{})
	changer.txn.LockTimeout = 30 * time.Millisecond
	var timeout *kvpb.LockNotAvailableError
	if err := changer.LockExclusive(ctx, a); !errors.As(err, &timeout) || !timeout.Timeout {
		t.Fatalf("want a lock timeout: %v", err)
	}
	changer.rollback()
	// The reader's node now waits in a cycle with the changer: one of them gives up.
	changer.begin(kv.TxnOptions{})
	if err := changer.LockExclusive(ctx, b); err != nil {
		t.Fatal(err)
	}
	errs := make(chan error, 2)
	go func() {
		err := changer.LockExclusive(ctx, a)
		changer.rollback()
		errs <- err
	}()
	go func() {
		_, err := reader.TableByID(ctx, b)
		reader.rollback()
		errs <- err
	}()
	x, y := <-errs, <-errs
	var dead *kvpb.DeadlockError
	if (x == nil) == (y == nil) || !errors.As(errors.Join(x, y), &dead) {
		t.Errorf("want one deadlock: %v, %v", x, y)
	}
}

func TestConcurrentDDLBothWays(t *testing.T) { synctest.Test(t, testConcurrentDDLBothWays) }

func testConcurrentDDLBothWays(t *testing.T) {
	c := openGateways(t, 3, 5*time.Second)
	defer c.close()
	c.table("a")
	const rounds = 15
	var wg sync.WaitGroup
	for _, n := range c.nodes {
		s := n.session(t)
		wg.Add(1)
		go func() {
			defer wg.Done()
			for done := 0; done < rounds; {
				s.begin(kv.TxnOptions{})
				tab, _, err := s.FindRelation(ctx, "", "", "a")
				if err == nil {
					err = s.LockExclusive(ctx, tab.ID)
				}
				if err == nil {
					tab, _ = s.TableByID(ctx, tab.ID)
					err = s.comment("a", tab.Comment+"x")
				}
				if err == nil {
					err = s.tryCommit()
				} else {
					s.rollback()
				}
				var dead *kvpb.DeadlockError
				switch {
				case err == nil:
					done++
				case !kv.IsRetryable(err) && !errors.As(err, &dead):
					t.Error(err)
					return
				}
			}
		}()
	}
	wg.Wait()
	for i, n := range c.nodes {
		if got := len(n.commentOf(t, "a")); got != 3*rounds {
			t.Errorf("node %d sees %d of %d changes", i+1, got, 3*rounds)
		}
	}
}

func TestDeadPeerIsStruckOff(t *testing.T) { synctest.Test(t, testDeadPeerIsStruckOff) }

func testDeadPeerIsStruckOff(t *testing.T) {
	c := openGateways(t, 2, 400*time.Millisecond)
	defer c.close()
	c.table("a")
	old := c.nodes[1].session(t)
	old.begin(kv.TxnOptions{})
	old.find("a")
	if err := old.txn.Put(keys.DatabasePrefix(900), []byte("old")); err != nil {
		t.Fatal(err)
	}
	fresh := c.nodes[1].session(t)
	c.die(1)
	s := c.nodes[0].session(t)
	s.begin(kv.TxnOptions{})
	if err := s.comment("a", "new"); err != nil { // despite the pin
		t.Fatal(err)
	}
	s.commit()
	if c.nodes[1].cat.gw.member.Valid(0) {
		t.Fatal("changed while another gateway's record was valid")
	}
	// Cut off, it serves nobody.
	c.nodes[1].cat.gw.member.Timing.Wait = 10 * time.Millisecond
	fresh.begin(kv.TxnOptions{})
	if _, _, err := fresh.FindRelation(ctx, "", "", "a"); pgerr.CodeOf(err) != pgerr.CannotConnectNow {
		t.Errorf("a gateway without a record: %v", err)
	}
	fresh.rollback()
	if _, err := c.nodes[1].cat.DatabaseByName(ctx, "nosuch"); pgerr.CodeOf(err) != pgerr.CannotConnectNow {
		t.Errorf("a database that a gateway without a record does not know: %v", err)
	}
	c.nodes[1].cat.gw.member.Timing.Wait = 5 * time.Second
	c.revive(1)
	if got := c.nodes[1].commentOf(t, "a"); got != "new" {
		t.Errorf("after it is back: %q", got)
	}
	if err := old.tryCommit(); !kv.IsRetryable(err) {
		t.Errorf("a transaction from before committed: %v", err)
	}
}

func TestCoordinatorDies(t *testing.T) {
	for _, when := range []string{"locked", "committed"} {
		t.Run(when, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := openGateways(t, 3, 400*time.Millisecond)
				defer c.close()
				c.table("a")
				s := c.nodes[0].session(t)
				s.begin(kv.TxnOptions{})
				if err := s.comment("a", "new"); err != nil {
					t.Fatal(err)
				}
				want := ""
				if when == "committed" {
					s.create("b")
					if err := errors.Join(s.PreCommit(ctx), s.txn.Commit(ctx)); err != nil {
						t.Fatal(err)
					}
					want = "new"
				}
				c.die(0)
				for _, n := range c.nodes[1:] { // both wait for the lock to be dropped
					if got := n.commentOf(t, "a"); got != want {
						t.Errorf("node %d: %q, want %q", n.cat.gw.member.Node, got, want)
					}
				}
				if when == "committed" {
					for _, n := range c.nodes[1:] {
						if got := n.commentOf(t, "b"); got != "" {
							t.Errorf("node %d does not know a table that was created: %q", n.cat.gw.member.Node, got)
						}
					}
					c.revive(0)
					s.Committed(ctx)
					return
				}
				s.n.cat.gw.member.ValidUntil.Store(1 << 62) // as if it had looked long ago
				if err := s.tryCommit(); !kv.IsRetryable(err) {
					t.Errorf("a change was committed after its locks were dropped: %v", err)
				}
			})
		})
	}
}

func TestNewGatewayInheritsLocks(t *testing.T) { synctest.Test(t, testNewGatewayInheritsLocks) }

func testNewGatewayInheritsLocks(t *testing.T) {
	c := openGateways(t, 1, 5*time.Second)
	defer c.close()
	c.table("a")
	s := c.nodes[0].session(t)
	s.begin(kv.TxnOptions{})
	if err := s.comment("a", "new"); err != nil {
		t.Fatal(err)
	}
	n := c.add(5 * time.Second)
	found := make(chan string, 1)
	go func() { found <- n.commentOf(t, "a") }()
	time.Sleep(5 * n.cat.gw.poll)
	select {
	case got := <-found:
		t.Fatalf("a new gateway uses what is being changed: %q", got)
	default:
	}
	s.commit()
	if got := <-found; got != "new" {
		t.Errorf("got %q", got)
	}
}

func TestBootstrapTogether(t *testing.T) { synctest.Test(t, testBootstrapTogether) }

func testBootstrapTogether(t *testing.T) {
	c := openGateways(t, 0, 5*time.Second)
	defer c.close()
	var wg sync.WaitGroup
	for range 3 {
		n := c.make(5 * time.Second)
		wg.Add(1)
		go func() {
			defer wg.Done()
			if err := n.cat.StartGateway(ctx); err != nil {
				t.Error(err)
			}
		}()
	}
	wg.Wait()
	want := len(c.nodes[0].cat.names.entries)
	for _, n := range c.nodes {
		if len(n.cat.names.entries) != want || want == 0 {
			t.Errorf("a node has %d names, another %d", len(n.cat.names.entries), want)
		}
	}
}

func TestSetValReachesPeers(t *testing.T) { synctest.Test(t, testSetValReachesPeers) }

func testSetValReachesPeers(t *testing.T) {
	c := openGateways(t, 2, 5*time.Second)
	defer c.close()
	tab := newTable("q")
	tab.ID, tab.Database, tab.RowIDOid, tab.RowIDStorage = 1000, 1, 5, 9
	q := tab.rowIDs()
	for _, n := range c.nodes {
		if _, err := n.cat.NextVal(ctx, q); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.nodes[0].cat.SetVal(ctx, q, 1_000_000, true); err != nil {
		t.Fatal(err)
	}
	if v, err := c.nodes[1].cat.NextVal(ctx, q); err != nil || v != 1_000_001 {
		t.Errorf("the other node goes on with %d, %v", v, err)
	}
}

func TestOneNodeCleans(t *testing.T) { synctest.Test(t, testOneNodeCleans) }

func testOneNodeCleans(t *testing.T) {
	c := openGateways(t, 2, 5*time.Second)
	defer c.close()
	cleared := 0
	pass := func(i int) int {
		cl := Cleaner{
			Store: c.nodes[i].cat, Delay: func() time.Duration { return 0 },
			ClearSpan: func(context.Context, []byte, []byte) error { cleared++; return nil },
		}
		n, err := cl.Pass(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	pass(0) // becomes the one that cleans
	s := c.nodes[1].session(t)
	s.begin(kv.TxnOptions{})
	if err := s.ClearOnCommit(ctx, keys.Span{Start: keys.DatabasePrefix(7), End: keys.DatabasePrefix(8)}); err != nil {
		t.Fatal(err)
	}
	s.commit()
	if pass(1) != 0 || cleared != 0 {
		t.Error("two nodes clean")
	}
	if pass(0) != 1 || cleared != 1 || pass(0) != 0 {
		t.Errorf("what the other node dropped was cleared %d times", cleared)
	}
}

// TestNoWaitElsewhere: NoWait does not wait for the sessions of other nodes either, nor for
// those that change the stored descriptor.
func TestNoWaitElsewhere(t *testing.T) { synctest.Test(t, testNoWaitElsewhere) }

func testNoWaitElsewhere(t *testing.T) {
	c := openGateways(t, 2, 5*time.Second)
	defer c.close()
	a, b := c.table("a"), c.table("b")
	reader, changer, other := c.nodes[1].session(t), c.nodes[0].session(t), c.nodes[1].session(t)
	reader.begin(kv.TxnOptions{})
	reader.find("a")
	changer.begin(kv.TxnOptions{})
	start := time.Now()
	var busy *kvpb.LockNotAvailableError
	if err := changer.NoWait(func() error { return changer.LockExclusive(ctx, a) }); !errors.As(err, &busy) || busy.Timeout {
		t.Fatalf("locking a table that another node uses: %v", err)
	}
	if d := time.Since(start); d >= c.nodes[1].cat.gw.poll {
		t.Errorf("it waited for %v", d)
	}
	changer.rollback()
	changer.begin(kv.TxnOptions{})
	if err := changer.NoWait(func() error { return changer.LockExclusive(ctx, b) }); err != nil {
		t.Fatal(err)
	}
	other.begin(kv.TxnOptions{})
	if err := other.NoWait(func() error { return other.LockExclusive(ctx, b) }); !errors.As(err, &busy) || busy.Timeout {
		t.Errorf("locking a table that another node has locked: %v", err)
	}
	other.rollback()
	changer.rollback()
	reader.commit()
	time.Sleep(c.nodes[1].cat.gw.poll) // until the other node knows how the transactions ended
	changer.begin(kv.TxnOptions{})
	if err := changer.NoWait(func() error { return changer.LockExclusive(ctx, a) }); err != nil {
		t.Errorf("locking a table that nobody uses any more: %v", err)
	}
	changer.rollback()
}

// TestStoppedGatewayKnowsNoDatabases: a node that has left its cluster says so to new
// sessions, and not that their database does not exist.
func TestStoppedGatewayKnowsNoDatabases(t *testing.T) {
	c := openGateways(t, 1, time.Minute)
	defer c.close()
	n := c.nodes[0]
	if _, err := n.cat.DatabaseByName(ctx, "defaultdb"); err != nil {
		t.Fatal(err)
	}
	if err := n.cat.StopGateway(ctx); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"defaultdb", "nosuch"} {
		if _, err := n.cat.DatabaseByName(ctx, name); pgerr.CodeOf(err) != pgerr.CannotConnectNow {
			t.Errorf("%s: %v, want 57P03", name, err)
		}
	}
}
