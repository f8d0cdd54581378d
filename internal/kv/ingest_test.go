package kv_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/lock"
)

// block is the writes of a sorted block: its keys are p with numbers from 0 to n.
func block(p string, n int, value []byte) (writes []kv.Write) {
	for i := range n {
		writes = append(writes, kv.Write{Key: key(fmt.Sprintf("%s%04d", p, i)), Value: value})
	}
	return writes
}

// wholeBlock checks that the keys of a block are there, but for those that were deleted since.
func wholeBlock(ctx context.Context, db *kv.DB, p string, n, deleted int, value []byte) error {
	txn := db.Begin(kv.TxnOptions{ReadOnly: true})
	txn.BeginStatement()
	defer txn.Rollback(ctx)
	var page kv.ScanResult
	next := deleted
	for start := key(p); start != nil; start = bytes.Clone(page.Resume) {
		page.Reset()
		if err := txn.Scan(ctx, start, key(p+"~"), kv.ScanOptions{}, &page); err != nil {
			return err
		}
		for i := range page.Len() {
			if want := key(fmt.Sprintf("%s%04d", p, next)); !bytes.Equal(page.Key(i), want) || !bytes.Equal(page.Value(i), value) {
				return fmt.Errorf("key %d of block %s is %q with %d bytes", next, p, page.Key(i), len(page.Value(i)))
			}
			next++
		}
	}
	if next != n {
		return fmt.Errorf("block %s ends at %d of %d keys", p, next, n)
	}
	return nil
}

// What was ingested is there as a whole for whoever begins later, also where it lies in several
// ranges, and not for a snapshot that was taken before.
func TestIngest(t *testing.T) {
	ctx := context.Background()
	for _, splits := range [][]string{nil, {"x0100"}, {"x0001", "x0300", "x0399"}} {
		t.Run(fmt.Sprint(splits), func(t *testing.T) {
			r := newRanges(t, fs.NewMem(), splits...)
			defer r.close()
			g, other := r.gateway(), r.gateway()
			before := other.begin(kv.TxnOptions{ReadOnly: true, Isolation: kv.RepeatableRead})
			defer before.Rollback(ctx)
			if _, _, err := before.Get(ctx, key("a")); err != nil {
				t.Fatal(err)
			}
			value := bytes.Repeat([]byte("v"), 900)
			if err := g.db.Ingest(ctx, block("x", 400, value), nil); err != nil {
				t.Fatal(err)
			}
			if err := wholeBlock(ctx, g.db, "x", 400, 0, value); err != nil {
				t.Error(err)
			}
			if _, found, err := before.Get(ctx, key("x0000")); found || err != nil {
				t.Errorf("an earlier snapshot sees the key: %t, %v", found, err)
			}
			g.mustSet("later", "x0000")
			if got := other.get("x0000"); got != "[later]" {
				t.Errorf("after an update: %s", got)
			}
		})
	}
}

// What may be written up to a time is refused afterwards, and written if the time is put off.
func TestIngestUntil(t *testing.T) {
	ctx := context.Background()
	r := newRanges(t, fs.NewMem(), "x0100")
	defer r.close()
	g := r.gateway()
	value, asked := []byte("v"), 0
	past := func() hlc.Timestamp { return hlc.Timestamp{WallTime: 1} }
	if err := g.db.Ingest(ctx, block("x", 200, value), past); !kv.IsRetryable(err) {
		t.Errorf("behind its time: %v", err)
	}
	if err := wholeBlock(ctx, g.db, "x", 200, 0, value); err == nil {
		t.Error("what was refused is there")
	}
	later := func() hlc.Timestamp {
		if asked++; asked == 1 {
			return past()
		}
		return hlc.MaxTimestamp
	}
	if err := g.db.Ingest(ctx, block("x", 200, value), later); err != nil {
		t.Fatal(err)
	}
	if err := wholeBlock(ctx, g.db, "x", 200, 0, value); err != nil {
		t.Error(err)
	}
}

// ingestSteps write block after block, between other transactions: of every block one key is deleted
// and one pair is written afterwards.
func ingestSteps(db *kv.DB, n uint64, value []byte, flush func()) error {
	ctx := context.Background()
	p := fmt.Sprintf("t%02d-", n)
	if err := db.Ingest(ctx, block(p, 300, value), nil); err != nil {
		return err
	}
	if n%3 == 0 {
		flush()
	}
	err := db.Run(ctx, func(ctx context.Context, txn *kv.Txn) error {
		if _, err := txn.Lock(ctx, key(p+"0000"), lock.Update, lock.WaitBlock); err != nil {
			return err
		}
		return txn.Delete(key(p + "0000"))
	})
	if err != nil {
		return err
	}
	return pair(db, n)
}

// loseIngests ingests blocks and takes a copy of the disk at every stride-th operation.
func loseIngests(t *testing.T, blocks uint64, value []byte) *crasher {
	t.Helper()
	c := &crasher{mem: fs.NewCrashableMem(), stride: crashStride()}
	s, db, err := openCrash(c.fs())
	if err != nil {
		t.Fatal(err)
	}
	for i := uint64(1); i <= blocks; i++ {
		if err := ingestSteps(db, i, value, func() { _ = s.Engine().StartFlush() }); err != nil {
			t.Fatal(err)
		}
		c.acked.Store(i)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return c
}

// After a power loss at any file operation, all blocks that were acknowledged are there, and
// what happened to them later has happened; so after a second one during recovery.
func TestIngestPowerLoss(t *testing.T) {
	const blocks = 12
	value := bytes.Repeat([]byte("v"), 100)
	c := loseIngests(t, blocks, value)
	whole := func(f fs.FS, acked uint64) error {
		s, db, err := openCrash(f)
		if err != nil {
			return err
		}
		err = allThere(db, acked, 1<<62)
		for n := uint64(1); n <= acked && err == nil; n++ {
			err = wholeBlock(context.Background(), db, fmt.Sprintf("t%02d-", n), 300, 1, value)
		}
		return errors.Join(err, s.Close())
	}
	for _, cr := range c.crashes {
		again := &crasher{mem: cr.disk, stride: 7}
		err := whole(again.fs(), cr.acked)
		if n := len(again.crashes); n > 0 && err == nil {
			err = whole(again.crashes[n/2].disk, cr.acked)
		}
		if err != nil {
			t.Fatalf("power loss at operation %d, %d%% of unsynced data kept: %v", cr.op, cr.keep, err)
		}
	}
	t.Logf("%d operations, %d power losses", c.n, len(c.crashes))
}
