package kv_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/lichendb/lichen/internal/dist"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/store"
)

// crashStride is how many file operations lie between two simulated power
// losses; LICHEN_CRASH_STRIDE=1 tries every one.
func crashStride() int64 {
	if n, err := strconv.ParseInt(os.Getenv("LICHEN_CRASH_STRIDE"), 10, 64); err == nil && n > 0 {
		return n
	}
	return 5
}

func openCrash(f fs.FS) (*store.Store, *kv.DB, error) {
	c := hlc.NewSystem(0)
	s, err := store.Open(store.Options{
		Bootstrap: true,
		FS:        f, Dir: "store", Clock: c, SegmentBytes: 256 << 10, MemTableBytes: 1 << 20, OnFatal: func(error) {},
	})
	if err != nil {
		return nil, nil, err
	}
	if err := s.Start(); err != nil {
		return nil, nil, err
	}
	return s, kv.NewDB(dist.New(s, nil), c, uint64(c.Now().WallTime)), nil
}

// pair writes the same number under two keys, in one transaction.
func pair(db *kv.DB, n uint64) error {
	ctx := context.Background()
	val := make([]byte, 8, 2048)
	binary.BigEndian.PutUint64(val, n)
	return db.Run(ctx, func(ctx context.Context, t *kv.Txn) error {
		for _, k := range []string{"a", "b"} {
			if _, err := t.Lock(ctx, key(k), lock.Update, lock.WaitBlock); err != nil {
				return err
			}
			if err := t.Put(key(k), val[:cap(val)]); err != nil {
				return err
			}
		}
		return t.Put(key(fmt.Sprintf("n%06d", n)), val[:cap(val)])
	})
}

func readPair(t *testing.T, db *kv.DB) uint64 {
	t.Helper()
	n, err := readPairUpTo(db, 1<<62)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// readPairUpTo returns the newest pair and checks that every transaction up to
// it, or up to limit, is there.
func readPairUpTo(db *kv.DB, limit uint64) (uint64, error) {
	ctx := context.Background()
	txn := db.Begin(kv.TxnOptions{ReadOnly: true})
	txn.BeginStatement()
	defer txn.Rollback(ctx)
	var failed error
	read := func(k string) (n uint64) {
		v, ok, err := txn.Get(ctx, key(k))
		failed = errors.Join(failed, err)
		if ok {
			n = binary.BigEndian.Uint64(v)
		}
		return n
	}
	a, b := read("a"), read("b")
	if a != b {
		return a, fmt.Errorf("a transaction is half there: a=%d b=%d", a, b)
	}
	for n := uint64(1); n <= a && a <= limit; n++ {
		if read(fmt.Sprintf("n%06d", n)) != n {
			return a, fmt.Errorf("transaction %d of %d is missing", n, a)
		}
	}
	return a, failed
}

// crash is what a power loss at one moment leaves behind.
type crash struct {
	op    int64
	keep  int
	acked uint64 // acknowledged before the moment
	disk  *fs.MemFS
}

// crasher takes a copy of the disk, as a power loss would leave it, at every
// stride-th file operation; the run itself goes on.
type crasher struct {
	mem    *fs.MemFS
	stride int64
	acked  atomic.Uint64

	mu      sync.Mutex
	n       int64
	crashes []crash
}

func (c *crasher) fs() fs.FS { return fs.WithHooks(c.mem, c.Hook) }

func (c *crasher) Hook(op *fs.Op) error {
	if !op.Kind.Mutates() {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n++; c.n%c.stride != 0 {
		return nil
	}
	keep := []int{0, 50, 100}[c.n/c.stride%3]
	acked := c.acked.Load() // before the copy: it must hold all of these
	c.crashes = append(c.crashes, crash{c.n, keep, acked, fs.CrashClone(c.mem, keep, uint64(c.n))})
	return nil
}

// losePower writes pairs and takes a copy of the disk at every stride-th operation.
func losePower(t *testing.T, writes uint64) *crasher {
	t.Helper()
	c := &crasher{mem: fs.NewCrashableMem(), stride: crashStride()}
	s, db, err := openCrash(c.fs())
	if err != nil {
		t.Fatal(err)
	}
	for i := uint64(1); i <= writes; i++ {
		if i%20 == 0 {
			_ = s.Engine().StartFlush()
		}
		if err := pair(db, i); err != nil {
			t.Fatal(err)
		}
		c.acked.Store(i)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return c
}

// After a power loss at any file operation, everything acknowledged is there and
// nothing is half there; and so after a second one during recovery.
func TestPowerLoss(t *testing.T) {
	const writes = 80
	c := losePower(t, writes)
	for _, cr := range c.crashes {
		if err := verifyCrash(cr, writes); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d operations, %d power losses", c.n, len(c.crashes))
}

func verifyCrash(cr crash, writes uint64) error {
	again := &crasher{mem: cr.disk, stride: 7}
	wrong := func(err error) error {
		return fmt.Errorf("power loss at operation %d, %d%% of unsynced data kept: %w", cr.op, cr.keep, err)
	}
	s, db, err := openCrash(again.fs())
	if err != nil {
		return wrong(err)
	}
	err = errors.Join(allThere(db, cr.acked, 1<<62), pair(db, writes+1))
	if err = errors.Join(err, s.Close()); err != nil {
		return wrong(err)
	}
	if len(again.crashes) == 0 {
		return nil
	}
	second := again.crashes[len(again.crashes)/2]
	if s, db, err = openCrash(second.disk); err == nil {
		err = errors.Join(allThere(db, cr.acked, writes), s.Close())
	}
	if err != nil {
		return wrong(fmt.Errorf("and a second one at operation %d: %w", second.op, err))
	}
	return nil
}

// allThere answers whether all pairs that were acknowledged are there.
func allThere(db *kv.DB, acked, limit uint64) error {
	got, err := readPairUpTo(db, limit)
	if err == nil && got < acked {
		err = fmt.Errorf("%d acknowledged, %d there", acked, got)
	}
	return err
}
