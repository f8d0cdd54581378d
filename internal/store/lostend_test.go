package store_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/clustertest"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/raftlog"
	"github.com/lichendb/lichen/internal/replica"
	"github.com/lichendb/lichen/internal/store"
)

// TestLostEndBehindFlush: a log has lost its end, and the engine has flushed the effects of the lost entries. The store
// does not take the log for one that a snapshot had to empty, since votes are lost with the end.
func TestLostEndBehindFlush(t *testing.T) {
	if err := startsAgainBehindFlush(t); err != nil {
		t.Error(err)
	}
}

// startsAgainBehindFlush starts a follower with the log from before it voted and wrote, and the engine from afterwards.
// It fails if the store starts, and says what the store has forgotten.
func startsAgainBehindFlush(t *testing.T) (failure error) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 3)
		defer c.CloseAll()
		c.Replicate(1)
		c.Put(1, "\x10a", "1")
		time.Sleep(time.Second)
		lead := c.Of(c.Leader(1))
		older := map[*clustertest.Node]*fs.MemFS{}
		for _, nd := range c.Nodes {
			older[nd] = fs.CrashClone(nd.Disk, 100, 1)
		}
		c.Close(lead) // the others vote
		c.Put(1, "\x10b", "2")
		time.Sleep(time.Second)
		voter := c.follower(1)
		before, _ := voter.Store.Log().State(1)
		if before.HardState.Vote == 0 {
			t.Fatal("no follower has voted")
		}
		if err := voter.Store.Engine().Flush(); err != nil {
			t.Fatal(err)
		}
		c.Close(voter)
		replaceLog(t, voter.Disk, older[voter])
		clock := hlc.New(func() int64 { return time.Now().UnixNano() }, 250*time.Millisecond)
		s, err := store.Open(store.Options{FS: voter.Disk, Dir: clustertest.Dir, Clock: clock, CacheBytes: 1 << 20, MemTableBytes: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		var lost *replica.LostLogError
		switch err := s.Start(); {
		case err == nil:
			now, _ := s.Log().State(1)
			failure = fmt.Errorf("the store goes on with the vote %+v: it had %+v", now.HardState, before.HardState)
		case !errors.As(err, &lost) || !strings.Contains(err.Error(), "start the node with an empty store"):
			failure = fmt.Errorf("a log that has lost its end: %w", err)
		}
	})
	return failure
}

// follower returns a node that is up and follows in a range.
func (c *cluster) follower(id kvpb.RangeID) *clustertest.Node {
	for _, nd := range c.Nodes {
		if r, ok := nd.Store.Replica(id); ok && !nd.Port.Down() && !r.Leads() {
			return nd
		}
	}
	return nil
}

// replaceLog puts the raft log of another disk in the place of a disk's own.
func replaceLog(t *testing.T, disk, from *fs.MemFS) {
	t.Helper()
	dir := disk.PathJoin(clustertest.Dir, "raftlog")
	if err := disk.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := disk.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	names, err := from.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if err := copyFile(disk, from, disk.PathJoin(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
}

func copyFile(to, from *fs.MemFS, path string) error {
	r, err := from.Open(path)
	if err != nil {
		return err
	}
	defer r.Close()
	all, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	w, err := to.Create(path, fs.WriteUnspecified)
	if err != nil {
		return err
	}
	_, err = w.Write(all)
	return errors.Join(err, w.Sync(), w.Close())
}

// An installed snapshot leaves no mark behind once the log begins after it.
func TestSnapshotMarkGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, 2)
		defer c.CloseAll()
		c.Replicate(1)
		time.Sleep(time.Second)
		for _, nd := range c.Nodes {
			if st, ok := nd.Store.Log().State(raftlog.GroupID(1)); !ok || st.Last == 0 {
				t.Fatalf("node %d has no replica", nd.ID)
			}
			if mark, marked, err := nd.Store.Engine().GetUnversioned(keys.RangeSnapshotMark(1), nil); marked || err != nil {
				t.Errorf("node %d: the mark of a snapshot is left: %x, %v", nd.ID, mark, err)
			}
		}
	})
}
