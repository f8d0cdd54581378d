package torture

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/lichendb/lichen/internal/sleep"
)

const (
	// leaveTime bounds the time that a node takes to leave the cluster.
	leaveTime = 3 * time.Minute
	// shareTime bounds the wait until a new node has a replica.
	shareTime = 60 * time.Second
)

// newcomer makes a node that is not part of the cluster and has no load.
func (c *Cluster) newcomer() (*Node, error) {
	n, err := c.newNode(len(c.Nodes) + len(c.extras))
	if err != nil {
		return nil, err
	}
	c.extras = append(c.extras, n)
	return n, nil
}

// removedReturns takes a node out of the cluster and starts it again: while it runs,
// then while it is dead and comes back with its replicas.
func removedReturns(ctx context.Context, s *stage) error {
	for _, dead := range []bool{false, true} {
		if s.over() && s.res.Events > 0 {
			return nil
		}
		if err := s.removeOne(ctx, dead); err != nil {
			return err
		}
	}
	return nil
}

func (s *stage) removeOne(ctx context.Context, dead bool) error {
	n, err := s.c.newcomer()
	if err != nil {
		return err
	}
	if err := n.Start(); err != nil {
		return err
	}
	if err := n.AwaitSQL(ctx); err != nil {
		return err
	}
	if n.ID, err = n.askID(ctx); err != nil {
		return err
	}
	n.proxy.identify(n.ID)
	if err := s.awaitShare(ctx, n); err != nil {
		s.res.undecided("the removal of a node that has replicas: %v", err)
	}
	what := fmt.Sprintf("node %d was removed and returns", n.ID)
	if dead {
		what = fmt.Sprintf("node %d was removed while it was dead and returns", n.ID)
		if err := n.Kill(); err != nil {
			return err
		}
	}
	begun := time.Now()
	if err := s.c.decommission(ctx, n); err != nil {
		return err
	}
	s.res.note("node %d left after %.1f s", n.ID, time.Since(begun).Seconds())
	if err := s.watch(ctx, begun, time.Second, fmt.Sprintf("node %d leaves", n.ID), n); err != nil {
		return err
	}
	if err := n.Kill(); err != nil {
		return err
	}
	begun = time.Now()
	if err := s.refusedStart(ctx, n, what, "was decommissioned", "empty store"); err != nil {
		return err
	}
	return s.watch(ctx, begun, 3*time.Second, what, n)
}

// awaitShare waits until a node has a replica.
func (s *stage) awaitShare(ctx context.Context, n *Node) error {
	ctx, cancel := context.WithTimeout(ctx, shareTime)
	defer cancel()
	id := fmt.Sprint(n.ID)
	for {
		rows, err := s.c.Nodes[0].query(ctx, "SHOW CLUSTER RANGES")
		for _, r := range rows {
			if slices.Contains(replicasOf(r), id) {
				return nil
			}
		}
		if perr := sleep.For(ctx, 25*pollPace); perr != nil {
			return errors.Join(fmt.Errorf("node %d got no replica in %s", n.ID, shareTime), err)
		}
	}
}

// decommission takes a node out of the cluster for good.
func (c *Cluster) decommission(ctx context.Context, n *Node) error {
	ctx, cancel := context.WithTimeout(ctx, leaveTime)
	defer cancel()
	out, err := exec.CommandContext(ctx, c.o.Binary, "node", "decommission", "--insecure", "--host="+c.Nodes[0].SQL, fmt.Sprint(n.ID)).CombinedOutput()
	if err != nil {
		return fmt.Errorf("decommission node %d: %w: %s", n.ID, err, lastLines(string(out)))
	}
	return nil
}

// sameAddress starts processes that take what belongs to another: each is refused, and
// the cluster goes on.
func sameAddress(ctx context.Context, s *stage) error {
	victim := s.c.Nodes[s.rng.IntN(len(s.c.Nodes))]
	for _, x := range []struct {
		what   string
		change func(n *Node)
		words  []string
	}{
		{"a node with another one's advertised address", func(n *Node) { n.advertise = victim.Addr() }, []string{"answers at " + victim.Addr()}},
		{"a node with another one's SQL address", func(n *Node) { n.SQL = victim.SQL }, []string{"address already in use"}},
		{"a second process for a store", func(n *Node) { n.dir = victim.dir }, []string{"in use"}},
	} {
		n, err := s.c.newcomer()
		if err != nil {
			return err
		}
		x.change(n)
		begun := time.Now()
		if err := s.refusedStart(ctx, n, x.what, x.words...); err != nil {
			return err
		}
		if err := s.watch(ctx, begun, 2*time.Second, x.what, n); err != nil {
			return err
		}
	}
	return nil
}

// arriving reports whether a snapshot is on its way to the node: tables of it lie in
// its store.
func (n *Node) arriving() bool {
	found := false
	_ = filepath.WalkDir(filepath.Join(n.dir, "snapshots"), func(_ string, d os.DirEntry, err error) error {
		found = found || err == nil && !d.IsDir()
		return nil
	})
	return found
}

// interruptSnapshots kills the receiver, then the sender of a snapshot that is on its
// way, a few times over. The table has one replica, then three, so that two snapshots
// are sent each time; the receivers write slowly.
func interruptSnapshots(ctx context.Context, s *stage) error {
	if err := s.bulk(ctx); err != nil {
		return err
	}
	for round := 0; round < 4 && (round == 0 || !s.over()); round++ {
		if err := s.interruptOne(ctx, round%2 == 1); err != nil {
			return err
		}
	}
	_, err := s.round.anywhere(ctx, "DROP TABLE torture_bulk")
	return err
}

// bulkRows is the size of the table of snapshots, a kilobyte each.
const bulkRows = 16000

func (s *stage) bulk(ctx context.Context) error {
	if _, err := s.round.anywhere(ctx, "CREATE TABLE IF NOT EXISTS torture_bulk (id INT PRIMARY KEY, v TEXT NOT NULL)"); err != nil {
		return err
	}
	const part = 2000
	for at := 0; at < bulkRows; at += part {
		sql := fmt.Sprintf("INSERT INTO torture_bulk SELECT g, repeat(md5(g::TEXT), 32) FROM generate_series(%d, %d) g ON CONFLICT DO NOTHING", at, at+part-1)
		if _, err := s.round.anywhere(ctx, sql); err != nil {
			return fmt.Errorf("filling a table: %w", err)
		}
	}
	return nil
}

// replicas asks for so many replicas of the table and waits, if told so, until they are
// there.
func (s *stage) replicas(ctx context.Context, n int, wait bool) error {
	if _, err := s.round.anywhere(ctx, fmt.Sprintf("ALTER TABLE torture_bulk CONFIGURE ZONE USING num_replicas = %d", n)); err != nil || !wait {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, wholeTime)
	defer cancel()
	for {
		rows, err := s.round.anywhere(ctx, "SHOW RANGES FROM TABLE torture_bulk")
		state := partial(rows, fmt.Sprint(n))
		if err == nil && state == "" {
			return nil
		}
		if perr := sleep.For(ctx, 10*pollPace); perr != nil {
			return errors.Join(fmt.Errorf("the table does not get %d replicas: %s", n, state), err)
		}
	}
}

func (s *stage) interruptOne(ctx context.Context, sender bool) error {
	if err := s.replicas(ctx, 1, true); err != nil {
		return err
	}
	for _, n := range s.c.Nodes {
		if err := n.Disk("delay=100ms&path=snapshots"); err != nil {
			return err
		}
	}
	holder, err := s.holder(ctx)
	if err != nil {
		return err
	}
	if err := s.replicas(ctx, 3, false); err != nil {
		return err
	}
	receiver, err := s.awaitArrival(ctx)
	if err != nil {
		return err
	}
	victim, what := receiver, "the receiver of a snapshot"
	if sender {
		victim, what = holder, "the sender of a snapshot"
	}
	if err := sleep.For(ctx, time.Duration(s.rng.Int64N(int64(300*time.Millisecond)))); err != nil {
		return err
	}
	underWay := receiver.arriving()
	begun := time.Now()
	if err := victim.Kill(); err != nil {
		return err
	}
	if !underWay {
		s.res.note("the snapshot had ended just before")
	}
	if err := s.watch(ctx, begun, 3*time.Second, fmt.Sprintf("kill %s, node %d", what, victim.ID), victim); err != nil {
		return err
	}
	for _, n := range s.c.Nodes {
		if n != victim {
			if err := n.Disk("off=1"); err != nil {
				return err
			}
		}
	}
	if err := s.restart(ctx, victim); err != nil {
		return err
	}
	if err := s.replicas(ctx, 3, true); err != nil {
		s.res.violation("after an interrupted snapshot: %v", err)
	}
	rows, err := s.round.anywhere(ctx, "SELECT count(*) FROM torture_bulk WHERE v = repeat(md5(id::TEXT), 32)")
	if err == nil && rows[0][0] != fmt.Sprint(bulkRows) {
		s.res.violation("the table has %s good rows, not %d", rows[0][0], bulkRows)
	}
	return err
}

// awaitArrival waits until a node receives a snapshot, and returns the node.
func (s *stage) awaitArrival(ctx context.Context) (*Node, error) {
	ctx, cancel := context.WithTimeout(ctx, wholeTime)
	defer cancel()
	for {
		for _, n := range s.c.Nodes {
			if n.arriving() {
				return n, nil
			}
		}
		if err := sleep.For(ctx, linkPoll); err != nil {
			return nil, errors.New("no snapshot is sent")
		}
	}
}

// holder returns the node that has the table's only replica.
func (s *stage) holder(ctx context.Context) (*Node, error) {
	rows, err := s.round.anywhere(ctx, "SHOW RANGES FROM TABLE torture_bulk")
	if err != nil {
		return nil, err
	}
	for _, n := range s.c.Nodes {
		if slices.Contains(replicasOf(rows[0]), fmt.Sprint(n.ID)) {
			return n, nil
		}
	}
	return nil, errors.New("nobody has the table's replica")
}
