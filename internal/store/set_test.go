package store

import (
	"strings"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
)

func openTestSet(t *testing.T, mem fs.FS, dirs ...string) (*Set, *hlc.Clock, error) {
	t.Helper()
	clock := hlc.New(func() int64 { return time.Now().UnixNano() }, 250*time.Millisecond)
	s, err := OpenSet(Options{FS: mem, Clock: clock, CacheBytes: 2 << 20, MemTableBytes: 256 << 10}, dirs...)
	return s, clock, err
}

// TestSetIdentities opens the stores of a node in any order, and stores that do not belong together.
func TestSetIdentities(t *testing.T) {
	mem := fs.NewMem()
	s, _, err := openTestSet(t, mem, "a", "b")
	if err != nil {
		t.Fatal(err)
	}
	if n := len(s.Empty()); n != 2 {
		t.Fatalf("%d of two new stores are empty", n)
	}
	if err := s.Bootstrap(Identity{Cluster: "c", Node: 1, Store: 1}); err != nil {
		t.Fatal(err)
	}
	if e := s.Empty(); len(e) != 1 || e[0].Dir() != "b" {
		t.Fatalf("empty: %v", e)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, _, err = openTestSet(t, mem, "b", "a"); err != nil { // the empty one first
		t.Fatal(err)
	}
	if s.First().Dir() != "a" || s.Identity().Node != 1 {
		t.Errorf("the node's identity is %+v, of %s", s.Identity(), s.First().Dir())
	}
	if err := s.Empty()[0].Join(Identity{Cluster: "c", Node: 1, Store: 7}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for dir, id := range map[string]Identity{
		"other node":    {Cluster: "c", Node: 2, Store: 9},
		"other cluster": {Cluster: "d", Node: 1, Store: 9},
		"same store":    {Cluster: "c", Node: 1, Store: 7},
	} {
		o, _, err := openTestSet(t, mem, dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := o.Join(id); err != nil {
			t.Fatal(err)
		}
		if err := o.Close(); err != nil {
			t.Fatal(err)
		}
		_, _, err = openTestSet(t, mem, "b", dir)
		if err == nil || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

// TestSetClock: the clock continues above its bounds, whichever store has the highest.
func TestSetClock(t *testing.T) {
	mem := fs.NewMem()
	s, clock, err := openTestSet(t, mem, "a", "b")
	if err != nil {
		t.Fatal(err)
	}
	last := clock.Now()
	ahead := time.Now().Add(time.Hour).UnixNano()
	if err := s.stores[1].persistClock(ahead); err != nil {
		t.Fatal(err)
	}
	for _, st := range s.stores {
		if st.clockBound() <= last.WallTime {
			t.Errorf("%s: bound %d, the clock showed %d", st.Dir(), st.clockBound(), last.WallTime)
		}
		st.halt()
	}
	if err := s.abandon(); err != nil { // as after a crash: the clock leaves no last bound
		t.Fatal(err)
	}
	s, clock, err = openTestSet(t, mem, "a", "b")
	if err != nil {
		t.Fatal(err)
	}
	if now := clock.Now().WallTime; now < ahead {
		t.Errorf("the clock shows %d, below the bound %d", now, ahead)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestSetClockStalledDisk: a stalled disk does not stop the node's clock.
func TestSetClockStalledDisk(t *testing.T) {
	s, _, err := openTestSet(t, fs.NewMem(), "a", "b")
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	s.stores[1].DiskWatch().SetFault(func(op *fs.Op) error {
		if op.Kind.Mutates() {
			<-over
		}
		return nil
	})
	s.stores[1].disk.stalled.Store(true)
	bound := time.Now().Add(time.Minute).UnixNano()
	for range 2 {
		bound++
		if err := s.persistClock(bound); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.stores[0].clockBound(); got != bound {
		t.Errorf("the bound is %d, %d was persisted", got, bound)
	}
	s.stores[1].disk.stalled.Store(false)
	s.stores[1].DiskWatch().SetFault(nil)
	close(over)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestAddressedTo: an envelope's receiver is read without the rest.
func TestAddressedTo(t *testing.T) {
	e := envelope{
		id: 1 << 40, from: kvpb.ReplicaDescriptor{Node: 300, Store: 400, Replica: 5},
		to: kvpb.ReplicaDescriptor{Node: 6, Store: 70000, Replica: 8}, start: []byte("k"), epoch: 1 << 60, raft: []byte("m"),
	}
	if id, ok := addressedTo(e.encode()); !ok || id != 70000 {
		t.Errorf("store %d, %v", id, ok)
	}
	p := e.encode()
	for n := range 8 {
		if id, ok := addressedTo(p[:n]); ok {
			t.Errorf("store %d in the first %d bytes", id, n)
		}
	}
}
