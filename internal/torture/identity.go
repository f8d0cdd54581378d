package torture

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/lichendb/lichen/internal/sleep"
)

const (
	// twinTime bounds how long a process goes on that is a node which another one is.
	twinTime = 10 * time.Second
	// misplacedTime bounds how long a node goes on whose files are gone.
	misplacedTime = 10 * time.Second
	// forgetTime is how much later a store is than the copy that is put in its place.
	forgetTime = 5 * time.Second
	// explainAfter is how long a decommissioning may stand still before it says why, and
	// decommissionTime how long it takes at the most.
	explainAfter     = 10 * time.Second
	decommissionTime = 2 * time.Minute
)

// pick returns one of the nodes.
func (s *stage) pick() *Node { return s.c.Nodes[s.rng.IntN(len(s.c.Nodes))] }

// panicBelow has a node panic while it writes: the process must end.
func panicBelow(ctx context.Context, s *stage, n *Node) error {
	begun := time.Now()
	n.expectEnd()
	if err := n.Disk("fail=panic&path=raftlog"); err != nil {
		return err
	}
	what := fmt.Sprintf("node %d panics", n.ID)
	if err := s.ends(ctx, n, what, refusedTime, "this is a bug", "start the node again"); err != nil {
		return err
	}
	return s.back(ctx, n, begun, what)
}

// back watches the others, starts a node that has ended, and waits until all is well.
func (s *stage) back(ctx context.Context, n *Node, begun time.Time, what string) error {
	if err := s.watch(ctx, begun, 3*time.Second, what, n); err != nil {
		return err
	}
	if err := s.restart(ctx, n); err != nil {
		return err
	}
	return sleep.For(ctx, 3*time.Second)
}

// copyStore copies a node's store while its process stands still: the copy is what a crash at
// that moment leaves.
func (n *Node) copyStore(to string) error {
	if err := n.Pause(); err != nil {
		return err
	}
	err := errors.Join(os.RemoveAll(to), os.CopyFS(to, os.DirFS(n.dir)))
	return errors.Join(err, n.Resume())
}

// twins starts a process with a copy of a running node's store, which must end; then one while
// the node stands still, which takes its place, so that the node must end when it wakes up.
func twins(ctx context.Context, s *stage) error {
	n := s.pick()
	copied := n.dir + ".copy"
	if err := n.copyStore(copied); err != nil {
		return err
	}
	twin, err := s.c.newcomer()
	if err != nil {
		return err
	}
	twin.dir = copied
	begun := time.Now()
	what := fmt.Sprintf("a copy of the store of node %d runs beside it", n.ID)
	if err := twin.Start(); err != nil {
		return err
	}
	if err := s.ends(ctx, twin, what, twinTime, "runs already", "a store of its own"); err != nil {
		return err
	}
	if err := s.watch(ctx, begun, 3*time.Second, what); err != nil {
		return err
	}
	return s.takePlace(ctx, n, twin)
}

// takePlace has a twin run in the place of a node that stands still.
func (s *stage) takePlace(ctx context.Context, n, twin *Node) error {
	begun := time.Now()
	if err := n.Pause(); err != nil {
		return err
	}
	n.expectEnd()
	if err := errors.Join(os.RemoveAll(twin.dir), os.CopyFS(twin.dir, os.DirFS(n.dir))); err != nil {
		return err
	}
	if err := s.restart(ctx, twin); err != nil {
		return fmt.Errorf("in the place of node %d: %w", n.ID, err)
	}
	what := fmt.Sprintf("a copy of the store of node %d runs in its place", n.ID)
	if err := s.watch(ctx, begun, 3*time.Second, what, n); err != nil {
		return err
	}
	begun = time.Now()
	if err := n.Resume(); err != nil {
		return err
	}
	if err := s.ends(ctx, n, fmt.Sprintf("node %d wakes up beside its successor", n.ID), twinTime, "another process"); err != nil {
		return err
	}
	if _, err := twin.Stop(); err != nil {
		return err
	}
	// The successor's store is the node's from now on.
	if err := errors.Join(os.RemoveAll(n.dir), os.Rename(twin.dir, n.dir)); err != nil {
		return err
	}
	return s.back(ctx, n, begun, what+", and is stopped")
}

// olderCopies starts a node with what its store was a while ago, whole or in part: it must not
// go on with that.
func olderCopies(ctx context.Context, s *stage) error {
	for i, part := range []string{"", "raftlog", "no raftlog"} {
		if i > 0 && s.over() {
			return nil
		}
		if err := s.olderCopy(ctx, s.pick(), part); err != nil {
			return err
		}
	}
	return nil
}

func (s *stage) olderCopy(ctx context.Context, n *Node, part string) error {
	older, newer := n.dir+".older", n.dir+".newer"
	if err := n.copyStore(older); err != nil {
		return err
	}
	if err := sleep.For(ctx, forgetTime); err != nil {
		return err
	}
	begun := time.Now()
	if _, err := n.Stop(); err != nil { // it flushes, so that the log's end is behind its state
		return err
	}
	if err := errors.Join(os.RemoveAll(newer), os.CopyFS(newer, os.DirFS(n.dir))); err != nil {
		return err
	}
	what, err := "", error(nil)
	switch part {
	case "":
		what = fmt.Sprintf("node %d starts with an older copy of its store", n.ID)
		err = errors.Join(os.RemoveAll(n.dir), os.Rename(older, n.dir))
	case "raftlog":
		what = fmt.Sprintf("node %d starts with a log that has lost its end", n.ID)
		log := filepath.Join(n.dir, part)
		err = errors.Join(os.RemoveAll(log), os.Rename(filepath.Join(older, part), log))
	default:
		what = fmt.Sprintf("node %d starts without its log", n.ID)
		err = os.RemoveAll(filepath.Join(n.dir, "raftlog"))
	}
	if err != nil {
		return err
	}
	if err := s.refusedStart(ctx, n, what, "empty store"); err != nil {
		return err
	}
	if err := errors.Join(os.RemoveAll(n.dir), os.Rename(newer, n.dir), os.RemoveAll(older)); err != nil {
		return err
	}
	return s.back(ctx, n, begun, what)
}

// misplaced moves files of a running node away: it must end, and goes on when they are back.
func misplaced(ctx context.Context, s *stage) error {
	for i, part := range []string{"CLOCK", "state", "raftlog", ""} {
		if i > 0 && s.over() {
			return nil
		}
		n := s.pick()
		path := filepath.Join(n.dir, part)
		begun := time.Now()
		n.expectEnd()
		if err := os.Rename(path, n.dir+".away"); err != nil {
			return err
		}
		what := fmt.Sprintf("%s of node %d is moved away", filepath.Base(path), n.ID)
		if err := s.ends(ctx, n, what, misplacedTime, "removed or replaced", "put it back"); err != nil {
			return err
		}
		// What it has made anew meanwhile, its log above all, makes room.
		if err := errors.Join(os.RemoveAll(path), os.Rename(n.dir+".away", path)); err != nil {
			return err
		}
		if err := s.back(ctx, n, begun, what); err != nil {
			return err
		}
	}
	return nil
}

// deadNodes kills two nodes and decommissions one of them: the command ends, and if it has not
// taken the node out it says why.
func deadNodes(ctx context.Context, s *stage) error {
	order := s.rng.Perm(len(s.c.Nodes))
	gone, other, host := s.c.Nodes[order[0]], s.c.Nodes[order[1]], s.c.Nodes[order[2]]
	for _, n := range []*Node{gone, other} {
		if err := n.Kill(); err != nil {
			return err
		}
	}
	begun := time.Now()
	out, err := s.c.leave(ctx, host, gone)
	took := time.Since(begun)
	what := fmt.Sprintf("node %d, dead beside node %d, is decommissioned", gone.ID, other.ID)
	fmt.Fprintf(s.o.Progress, "  %s: the command ended after %.1f s\n", what, took.Seconds())
	s.res.note("%s: %s", what, lastLines(out))
	s.res.Events++
	switch {
	case took > decommissionTime:
		s.res.violation("%s: that took %s", what, took)
	case err != nil && !saysWhy(out):
		s.res.violation("%s: the command does not say why it ends: %v: %s", what, err, lastLines(out))
	}
	if err == nil { // it was taken out: a new one comes in its place
		if err := os.RemoveAll(gone.dir); err != nil {
			return err
		}
	}
	for _, n := range []*Node{other, gone} {
		if rerr := s.restart(ctx, n); rerr != nil {
			return rerr
		}
	}
	if err == nil {
		if gone.ID, err = gone.askID(ctx); err == nil {
			gone.proxy.identify(gone.ID)
		}
		return err
	}
	return s.c.recommission(ctx, host, gone)
}

// saysWhy reports whether the command that takes a node out says what it waits for.
func saysWhy(out string) bool {
	for _, w := range []string{"without a quorum", "too few nodes are live", "these nodes do not answer"} {
		if strings.Contains(out, w) {
			return true
		}
	}
	return false
}

// leave takes a node out of the cluster as far as that can be done, and returns what the command
// said.
func (c *Cluster) leave(ctx context.Context, host, n *Node) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, leaveTime)
	defer cancel()
	out, err := exec.CommandContext(ctx, c.o.Binary, "node", "decommission", "--insecure", "--host="+host.SQL,
		"--explain-after="+explainAfter.String(), fmt.Sprint(n.ID)).CombinedOutput()
	return string(out), err
}

// recommission takes back that a node leaves.
func (c *Cluster) recommission(ctx context.Context, host, n *Node) error {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, c.o.Binary, "node", "recommission", "--insecure", "--host="+host.SQL, fmt.Sprint(n.ID)).CombinedOutput()
	if err != nil {
		return fmt.Errorf("recommission node %d: %w: %s", n.ID, err, lastLines(string(out)))
	}
	return nil
}
