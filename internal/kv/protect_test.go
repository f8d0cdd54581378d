package kv_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/dist"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/store"
)

// protectedStore is a node by itself whose clock is moved by hand, and which reads the
// protected timestamps when it is told to.
type protectedStore struct {
	t     *testing.T
	wall  atomic.Int64
	store *store.Store
	db    *kv.DB
	read  []kv.Protection
	asOf  hlc.Timestamp
}

const protectTTL = 10 * time.Second

func newProtected(t *testing.T) *protectedStore {
	p := &protectedStore{t: t}
	p.wall.Store(int64(time.Hour))
	clock := hlc.New(func() int64 { return p.wall.Add(1000) }, 0)
	var err error
	p.store, err = store.Open(store.Options{
		FS: fs.NewMem(), Dir: "s", Clock: clock, CacheBytes: 1 << 20, Bootstrap: true, GCTTL: protectTTL, NoTableStats: true,
		Protected: func(start, end []byte) (asOf, oldest hlc.Timestamp) {
			return p.asOf, kv.OldestProtected(p.read, start, end)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.store.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.store.Close() })
	p.db = kv.NewDB(dist.New(p.store, nil), clock, 1)
	return p
}

// readRules does what a node does every few seconds.
func (p *protectedStore) readRules() {
	p.t.Helper()
	err := p.db.Run(context.Background(), func(ctx context.Context, t *kv.Txn) (err error) {
		p.read, err = kv.Protections(ctx, t)
		p.asOf = t.ReadTimestamp()
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p *protectedStore) pass(d time.Duration) { p.wall.Add(int64(d)) }

func (p *protectedStore) put(value string) hlc.Timestamp {
	p.t.Helper()
	t := p.db.Begin(kv.TxnOptions{})
	t.BeginStatement()
	if err := t.Put([]byte("\x10k"), []byte(value)); err != nil {
		p.t.Fatal(err)
	}
	if err := t.Commit(context.Background()); err != nil {
		p.t.Fatal(err)
	}
	return t.CommitTimestamp()
}

func (p *protectedStore) collect() {
	p.t.Helper()
	for _, r := range p.store.Replicas() {
		for range 2 {
			if err := r.CollectGarbage(context.Background(), p.store.CollectBelow(r.Desc())); err != nil {
				p.t.Fatal(err)
			}
		}
	}
}

func (p *protectedStore) get(at hlc.Timestamp) (string, error) {
	t := p.db.Begin(kv.TxnOptions{ReadOnly: true, AsOf: at})
	t.BeginStatement()
	v, _, err := t.Get(context.Background(), []byte("\x10k"))
	t.Rollback(context.Background())
	return string(v), err
}

// What is protected stays readable, whether or not the store has read the protection yet,
// until it is protected no longer.
func TestProtect(t *testing.T) {
	ctx := context.Background()
	p := newProtected(t)
	p.readRules()
	first := p.put("one")
	p.pass(time.Second)
	p.put("two")
	p.pass(protectTTL / 2)
	all := []kvpb.Span{{Key: []byte("\x10"), EndKey: []byte("\x11")}}
	if err := p.db.Protect(ctx, kv.Protection{Name: "backup", Spans: all, TS: first, Why: "test"}, protectTTL); err != nil {
		t.Fatal(err)
	}
	p.pass(3 * protectTTL)
	for _, when := range []string{"before the store has read of it", "after"} {
		p.put("three")
		p.collect()
		if v, err := p.get(first); v != "one" || err != nil {
			t.Errorf("%s: %q, %v", when, v, err)
		}
		p.readRules()
		p.pass(protectTTL)
	}
	var old *kvpb.SnapshotTooOldError
	err := p.db.Protect(ctx, kv.Protection{Name: "late", Spans: all, TS: first}, protectTTL)
	if !errors.As(err, &old) {
		t.Errorf("protecting what may be gone: %v", err)
	}
	if err := p.db.Protect(ctx, kv.Protection{Name: "backup", Spans: all, TS: first.Next()}, protectTTL); err != nil {
		t.Errorf("moving a protection forward: %v", err)
	}
	if err := p.db.Unprotect(ctx, "backup"); err != nil {
		t.Fatal(err)
	}
	p.readRules()
	p.pass(2 * protectTTL)
	p.readRules()
	p.put("four")
	p.collect()
	if _, err := p.get(first); !errors.As(err, &old) {
		t.Errorf("what is protected no longer is still there: %v", err)
	}
}
