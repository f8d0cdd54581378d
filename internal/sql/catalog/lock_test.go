package catalog

import (
	"errors"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
)

// twoTables returns a node with tables a and b.
func twoTables(t *testing.T) (n *node, a, b ID) {
	n = openNode(t, fs.NewMem())
	s := n.session(t)
	s.begin(kv.TxnOptions{})
	a, b = s.create("a").ID, s.create("b").ID
	s.commit()
	s.Close()
	return n, a, b
}

func TestExclusiveWaitsForPins(t *testing.T) {
	n, a, _ := twoTables(t)
	defer n.close(t)
	reader, changer, late := n.session(t), n.session(t), n.session(t)
	reader.begin(kv.TxnOptions{})
	reader.find("a")
	changer.begin(kv.TxnOptions{})
	locked := make(chan error, 1)
	go func() { locked <- changer.LockExclusive(ctx, a) }()
	for n.store.Waits().Len() == 0 {
		runtime.Gosched()
	}
	late.begin(kv.TxnOptions{})
	found := make(chan *Table, 1)
	go func() {
		tab, _, _ := late.FindRelation(ctx, "", "", "a")
		found <- tab
	}()
	for n.store.Waits().Len() < 2 { // the new user waits for the changer
		runtime.Gosched()
	}
	select {
	case <-locked:
		t.Fatal("locked while pinned")
	case <-found:
		t.Fatal("pinned while somebody waits to change it")
	default:
	}
	reader.commit()
	if err := <-locked; err != nil {
		t.Fatal(err)
	}
	tab, err := changer.TableByID(ctx, a)
	if err != nil {
		t.Fatal(err)
	}
	c := tab.Clone()
	c.Comment = "new"
	if err := changer.Put(ctx, c); err != nil {
		t.Fatal(err)
	}
	changer.commit()
	if tab := <-found; tab == nil || tab.Comment != "new" {
		t.Errorf("the waiting user got %+v", tab)
	}
	if ts := late.txn.ReadTimestamp(); ts.Less(changer.txn.CommitTimestamp()) {
		t.Error("the waiting user reads a snapshot older than the change")
	}
	late.commit()
}

func TestObjectDeadlock(t *testing.T) {
	n, a, b := twoTables(t)
	defer n.close(t)
	x, y := n.session(t), n.session(t)
	x.begin(kv.TxnOptions{})
	y.begin(kv.TxnOptions{})
	x.find("a")
	y.find("b")
	errs := make([]error, 2)
	var wg sync.WaitGroup
	wg.Add(2)
	go func() { defer wg.Done(); errs[0] = x.LockExclusive(ctx, b); x.rollback() }()
	go func() { defer wg.Done(); errs[1] = y.LockExclusive(ctx, a); y.rollback() }()
	wg.Wait()
	var dead *kvpb.DeadlockError
	if (errs[0] == nil) == (errs[1] == nil) || !errors.As(errors.Join(errs...), &dead) {
		t.Errorf("want one deadlock: %v", errs)
	}
}

func TestLockTimeoutLeavesNothing(t *testing.T) {
	n, a, _ := twoTables(t)
	defer n.close(t)
	reader, changer := n.session(t), n.session(t)
	reader.begin(kv.TxnOptions{})
	reader.find("a")
	changer.begin(kv.TxnOptions{})
	changer.txn.LockTimeout = time.Millisecond
	var timeout *kvpb.LockNotAvailableError
	if err := changer.LockExclusive(ctx, a); !errors.As(err, &timeout) || !timeout.Timeout {
		t.Fatalf("want a lock timeout: %v", err)
	}
	third := n.session(t)
	third.begin(kv.TxnOptions{})
	third.find("a") // must not wait for the one that gave up
	third.commit()
	reader.commit()
	changer.statement()
	if err := changer.LockExclusive(ctx, a); err != nil {
		t.Error(err)
	}
	changer.rollback()
}

// A brief lock makes others wait for the time that it says, however many objects and gateways it waits for.
func TestBriefLockIsBrief(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := openGateways(t, 2, 5*time.Second)
		defer c.close()
		ids := []ID{c.table("a"), c.table("b")}
		for i, name := range []string{"a", "a", "b", "b"} { // at both gateways, for longer and longer
			u := c.nodes[i%2].session(t)
			u.begin(kv.TxnOptions{})
			u.find(name)
			go func() {
				time.Sleep(time.Duration(i+1) * 30 * time.Millisecond)
				u.commit()
			}()
		}
		changer := c.nodes[0].session(t)
		changer.begin(kv.TxnOptions{})
		begun := time.Now()
		err := changer.LockBriefly(ctx, ids, 40*time.Millisecond)
		var timeout *kvpb.LockNotAvailableError
		if took := time.Since(begun); !errors.As(err, &timeout) || took > 50*time.Millisecond {
			t.Errorf("%v after %v", err, took)
		}
		time.Sleep(time.Second)
		if err := changer.LockBriefly(ctx, ids, 40*time.Millisecond); err != nil {
			t.Error(err)
		}
		changer.rollback()
	})
}

// More tables than a session has slots for are pinned all the same.
func TestManyPins(t *testing.T) {
	n := openNode(t, fs.NewMem())
	defer n.close(t)
	s := n.session(t)
	s.begin(kv.TxnOptions{})
	var ids []ID
	for i := range 3 * inlinePins {
		ids = append(ids, s.create(string(rune('a'+i))).ID)
	}
	s.commit()
	s.begin(kv.TxnOptions{})
	for _, id := range ids {
		if _, err := s.TableByID(ctx, id); err != nil {
			t.Fatal(err)
		}
	}
	other := n.session(t)
	for _, id := range ids {
		if !other.pinnedElsewhere(n.cat.object(id)) {
			t.Errorf("table %d is not pinned", id)
		}
	}
	s.commit()
	for _, id := range ids {
		if other.pinnedElsewhere(n.cat.object(id)) {
			t.Errorf("table %d is still pinned", id)
		}
	}
}

func TestPinAllocatesNothing(t *testing.T) {
	n, a, b := twoTables(t)
	defer n.close(t)
	s := n.session(t)
	deps := []Dep{{a, 1}, {b, 1}}
	txn := n.db.Begin(kv.TxnOptions{})
	allocs := testing.AllocsPerRun(100, func() {
		s.Begin(txn)
		s.BeginStatement()
		if err := s.PinAll(ctx, deps); err != nil {
			t.Fatal(err)
		}
		s.Committed(ctx)
	})
	if allocs > 0 {
		t.Errorf("pinning two tables allocates %v times", allocs)
	}
}

// Readers and changers of one table race; a reader never sees it change within
// its transaction.
func TestPinStress(t *testing.T) {
	n, a, _ := twoTables(t)
	defer n.close(t)
	var wg sync.WaitGroup
	for range 4 {
		s := n.session(t)
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 200 {
				s.begin(kv.TxnOptions{})
				first := s.find("a")
				if second, err := s.TableByID(ctx, a); err != nil || second != first {
					t.Errorf("a table changed while it was pinned: %v", err)
				}
				s.commit()
			}
		}()
	}
	changer := n.session(t)
	for range 50 {
		changer.begin(kv.TxnOptions{})
		if err := changer.LockExclusive(ctx, a); err != nil {
			t.Error(err)
			changer.rollback()
			break
		}
		c := changer.find("a").Clone()
		if err := changer.Put(ctx, c); err != nil {
			t.Error(err)
			changer.rollback()
			break
		}
		changer.commit()
	}
	wg.Wait()
}

// TestNoWait: what would have to be waited for is an error, and leaves nothing behind.
func TestNoWait(t *testing.T) {
	n, a, b := twoTables(t)
	defer n.close(t)
	user, changer, late := n.session(t), n.session(t), n.session(t)
	user.begin(kv.TxnOptions{})
	user.find("a")
	changer.begin(kv.TxnOptions{})
	var busy *kvpb.LockNotAvailableError
	if err := changer.NoWait(func() error { return changer.LockExclusive(ctx, a) }); !errors.As(err, &busy) || busy.Timeout {
		t.Fatalf("locking a table in use: %v", err)
	}
	if err := changer.NoWait(func() error { return changer.LockExclusive(ctx, b) }); err != nil {
		t.Fatalf("locking a table that nobody uses: %v", err)
	}
	late.begin(kv.TxnOptions{})
	late.find("a") // whom the lock that failed does not keep out
	err := late.NoWait(func() error { _, err := late.TableByID(ctx, b); return err })
	if busy = nil; !errors.As(err, &busy) {
		t.Fatalf("using a locked table: %v", err)
	}
	user.commit()
	late.rollback()
	if err := changer.LockExclusive(ctx, a); err != nil {
		t.Error(err)
	}
	changer.rollback()
}
