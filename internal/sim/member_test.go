package sim

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"time"

	"github.com/lichendb/lichen/internal/config"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/nettest"
	"github.com/lichendb/lichen/internal/node"
	"github.com/lichendb/lichen/internal/replica"
	"github.com/lichendb/lichen/internal/rpc"
	"github.com/lichendb/lichen/internal/store"
)

const (
	// deadAfter is how long a node may be silent before its replicas are placed elsewhere, drainTimeout
	// how long a drain waits for sessions, lookAfter the pace at which ranges are looked after.
	deadAfter    = 5 * time.Second
	drainTimeout = 2 * time.Second
	lookAfter    = 200 * time.Millisecond
	// foundWithin is how long a cluster may take to form.
	foundWithin = 2 * time.Minute
)

// member is an incarnation of a whole node as it ships: package node over the machine's disk, its
// clock and connections over its links. Its exit is that it loses disk and network.
type member struct {
	*node.Node
	c        *cluster
	inc      *incarnation
	listener net.Listener
	process  context.Context // ends with the process
	exit     context.CancelFunc
	started  chan struct{} // closed when Start has returned
	err      error         // of Start
	twin     error         // why it ended as a twin; guarded by l.node.mu
	crashes  int           // of the disk before
}

var _ node.Listeners = (*member)(nil)

// AdvertisedAddr implements node.Listeners.
func (m *member) AdvertisedAddr() string { return nettest.Addr(m.inc.node.id) }

// AdvertisedHTTPAddr implements node.Listeners.
func (m *member) AdvertisedHTTPAddr() string { return "" }

// CloseClients implements node.Listeners.
func (m *member) CloseClients() error { return m.listener.Close() }

// CloseHTTP implements node.Listeners.
func (m *member) CloseHTTP() error { return nil }

// boot starts processes on a machine until one is ready, or the machine goes down. prepare, if set, is
// called before a node starts.
func (c *cluster) boot(on *machine, prepare func(*node.Node) error) {
	c.ending.Go(func() {
		for began := time.Now(); time.Since(began) < startWithin; <-time.After(time.Second) {
			inc := c.newIncarnation(on)
			if inc == nil {
				return // it runs, or is kept down
			}
			err := c.run(inc, prepare)
			if err == nil {
				return
			}
			c.story.Addf("node %d does not start: %v", on.id, err)
			var lost *replica.LostLogError
			if errors.As(err, &lost) && c.onFatal != nil {
				c.onFatal(fmt.Errorf("node %d: %w", on.id, err)) // no fault loses what was synced
				return
			}
			if inc.member.process.Err() != nil {
				return // it was stopped, or ended by itself
			}
			on.disk.Kill() // its process has ended
			c.net.Crash(on.id, nettest.Killed)
			inc.member.exit()
			on.forget(inc)
		}
	})
}

// newIncarnation returns a new incarnation of a machine that is down.
func (c *cluster) newIncarnation(on *machine) *incarnation {
	on.mu.Lock()
	defer on.mu.Unlock()
	if on.down || on.incarnation != nil || on.booting != nil {
		return nil
	}
	inc := &incarnation{node: on, hlc: hlc.New(on.clock.Now, simOffset)}
	inc.ended, inc.end = context.WithCancel(context.Background())
	inc.member = &member{c: c, inc: inc, started: make(chan struct{})}
	inc.member.process, inc.member.exit = context.WithCancel(context.Background())
	on.booting = inc
	return inc
}

// forget takes an incarnation out of use that did not become ready.
func (n *machine) forget(inc *incarnation) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.booting == inc {
		n.booting = nil
	}
}

// run starts the node of an incarnation. After an error it is closed.
func (c *cluster) run(inc *incarnation, prepare func(*node.Node) error) (err error) {
	m := inc.member
	defer close(m.started)
	defer func() { m.err = err }()
	inc.ep = c.net.Start(inc.node.id, nettest.Hooks{})
	m.crashes = inc.node.disk.Crashes()
	m.listener = inc.ep.Listen()
	if m.Node, err = node.New(m.options()); err != nil {
		return err
	}
	inc.kv, inc.sql, inc.store, inc.live, inc.began = m.KV, m.SQL, m.KV.Store.First(), m.KV.Live, m.KV.Incarnation
	go m.accept()
	if prepare != nil {
		if err = prepare(m.Node); err != nil {
			return err
		}
	}
	if err = m.Start(m.process); err != nil {
		return err
	}
	inc.router, inc.db = m.KV.Router, m.KV.DB
	on := inc.node
	on.mu.Lock()
	defer on.mu.Unlock()
	if on.booting != inc {
		return nil // it was stopped meanwhile, and is ended by who did
	}
	on.incarnation, on.booting, on.last = inc, nil, inc.store.Identity()
	on.incarnations++
	c.story.Addf("machine %d serves as node %d, incarnation %d", on.id, m.NodeID(), on.incarnations)
	return nil
}

// options are those of the node.
func (m *member) options() node.Options {
	c, on, logger := m.c, m.inc.node, slog.New(m.c.log).With("machine", m.inc.node.id)
	cfg := config.Default()
	cfg.Stores, cfg.Insecure, cfg.MaxOffset = config.Dirs("store"), true, simOffset
	cfg.CacheBytes, cfg.MaxMemory = 1<<20, simMemory
	cfg.DeadAfter, cfg.Drain, cfg.RangePace = deadAfter, drainTimeout, lookAfter
	for _, o := range c.nodes {
		cfg.Join = append(cfg.Join, nettest.Addr(o.id))
	}
	return node.Options{
		Config: cfg,
		Store: store.Options{
			FS: on.disk.FS(), Clock: m.inc.hlc, CacheBytes: cfg.CacheBytes, MemTableBytes: memTable, NoTableStats: true, SegmentBytes: 64 << 10,
			Logger: logger, GCTTL: c.ttl, ClosedLag: c.lag,
			OldestRead: func() hlc.Timestamp { return hlc.Timestamp{} }, // nobody waits for readers that are behind
		},
		Dial: m.inc.ep.Dial, Listeners: m, Capacity: func(*store.Store) (total, used, own int64) { return simDisk, 0, 0 },
		OnFatal: m.fatal, OnTwin: m.endAsTwin, Logger: logger,
	}
}

// accept serves the connections of the listener.
func (m *member) accept() {
	for {
		c, err := m.listener.Accept()
		if err != nil {
			return
		}
		go func() {
			first := make([]byte, rpc.FirstBytes)
			if _, err := io.ReadFull(c, first); err != nil {
				_ = c.Close() // nothing was said
				return
			}
			m.ServeConn(c, first)
		}()
	}
}

// fatal is the end of a process that can't go on. It is a failure of the run unless its disk was
// taken from it.
func (m *member) fatal(err error) {
	if m.process.Err() != nil || m.inc.node.disk.Crashes() > m.crashes {
		return
	}
	m.c.story.Addf("machine %d: fatal: %v", m.inc.node.id, err)
	if m.c.onFatal != nil {
		m.c.onFatal(err)
	}
	m.die()
}

// endAsTwin is the end of a process of which another one has taken the place.
func (m *member) endAsTwin(err error) {
	on := m.inc.node
	on.mu.Lock()
	m.twin = err
	on.mu.Unlock()
	m.c.story.Addf("machine %d ends as a twin: %v", on.id, err)
	m.die()
}

// die is what the end of the process comes to, whoever ends it.
func (m *member) die() {
	m.exit()
	m.inc.node.disk.Kill()
	m.c.net.Crash(m.inc.node.id, nettest.Killed)
	if m.c.retire(m.inc.node.id) != nil {
		m.c.ending.Go(m.end)
	}
}

// end ends what is left of a process that has lost disk and network.
func (m *member) end() {
	m.exit()
	<-m.started
	m.inc.running.Wait()
	if m.err == nil {
		_ = m.Stop(m.process) // its disk may be gone
	}
}

// errLeft is the answer to an operation on a machine whose node has ended meanwhile.
var errLeft = errors.New("the node has ended")

// leaveWhole stops a whole node in good order.
func (c *cluster) leaveWhole(inc *incarnation) error {
	on := inc.node
	on.mu.Lock()
	if on.incarnation != inc {
		on.mu.Unlock()
		return errLeft
	}
	on.incarnation = nil
	inc.end()
	on.mu.Unlock()
	inc.running.Wait()
	err := inc.member.Stop(context.Background())
	inc.member.exit()
	c.story.Addf("machine %d has stopped", on.id)
	if inc.ep.Alive() { // nobody else has ended the process
		on.disk.Kill()
		c.net.Crash(on.id, nettest.Killed)
	}
	return err
}

// foundWhole has the first machine found a cluster and the others join it, waits until all ranges
// have their replicas, and cuts the ranges at keys.
func (c *cluster) foundWhole(cuts []string) {
	c.boot(c.nodes[0], (*node.Node).Init)
	c.until("the first node serves", func() bool { return c.nodes[0].current() != nil })
	for _, on := range c.nodes[1:] {
		c.boot(on, nil)
	}
	c.until("all nodes serve", func() bool { return len(c.running()) == len(c.nodes) })
	inc := c.nodes[0].current()
	for _, k := range cuts {
		c.until("the ranges are cut", func() bool { return inc.kv.Admin.SplitAt(inc.ended, []byte(k)) == nil })
	}
	c.until("the ranges have their replicas", func() bool { return c.replicated(0) == nil })
	c.founded = true
}

// until waits for what the cluster is to come to by itself.
func (c *cluster) until(what string, done func() bool) {
	c.t.Helper()
	for began := time.Now(); !done(); <-time.After(changePause) {
		if time.Since(began) > foundWithin {
			_, _ = c.story.WriteTo(c.t.Output())
			c.t.Fatalf("%s: not within %v", what, foundWithin)
		}
	}
}

// notLed says that no range that is led begins at a key.
type notLed struct{ start []byte }

func (n *notLed) Error() string { return fmt.Sprintf("no range that is led begins at %q", n.start) }

// explained adds to an error of replicated what the replicas concerned say of themselves. Asking them
// disturbs them, so it comes last.
func (c *cluster) explained(err error) error {
	var n *notLed
	if !errors.As(err, &n) {
		return err
	}
	return fmt.Errorf("%w%s", err, c.replicasAt(n.start))
}

// replicated answers whether each range is led and has its voters, none of them on a node.
func (c *cluster) replicated(without kvpb.NodeID) error {
	at := keys.ReplicatedSpan().Start
	next := map[string]*kvpb.RangeDescriptor{}
	for _, r := range c.leaders() {
		next[string(r.Desc().StartKey)] = r.Desc()
	}
	for end := string(keys.ReplicatedSpan().End); string(at) != end; {
		d := next[string(at)]
		if d == nil {
			return &notLed{at}
		}
		if err := wellPlaced(d, without); err != nil {
			return err
		}
		at = d.EndKey
	}
	return nil
}
