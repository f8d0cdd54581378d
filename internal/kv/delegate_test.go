package kv_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
)

// leafReads returns a delegated read of spans, and what it has read.
func leafReads(db *kv.DB, spans []kvpb.Span, res *kv.ScanResult) func(context.Context, kvpb.TxnMeta, []kvpb.Observation) (kv.DelegatedRead, error) {
	return func(ctx context.Context, meta kvpb.TxnMeta, observed []kvpb.Observation) (kv.DelegatedRead, error) {
		leaf := db.Leaf(meta, observed, 1<<20)
		err := leaf.ScanSpans(ctx, spans, kv.ScanOptions{}, res)
		return kv.DelegatedRead{Spans: spans, Observed: leaf.Observed()}, err
	}
}

func TestDelegate(t *testing.T) {
	if err := delegate(t); err != nil {
		t.Error(err)
	}
}

// delegate checks that what another node reads for a transaction counts as read once it is finished: a later write of another
// transaction makes the commit fail. A read that was abandoned is none, and a transaction with writes delegates nothing.
func delegate(t *testing.T) error {
	ctx := context.Background()
	s, db := open(t, fs.NewMem())
	defer s.Close()
	all := []kvpb.Span{{Key: key("k"), EndKey: key("l")}}
	put, set := writers(t, db)
	set("k1", "old")
	for _, abandoned := range []bool{false, true} {
		txn := db.Begin(kv.TxnOptions{})
		defer txn.Rollback(ctx)
		txn.BeginStatement()
		var res kv.ScanResult
		d := txn.Delegate(ctx, leafReads(db, all, &res))
		if abandoned {
			d.Abandon()
		} else if ok, err := d.Finish(ctx, 0); !ok || err != nil || res.Len() != 1 {
			return fmt.Errorf("%v, %v, %d rows", ok, err, res.Len())
		}
		set("k1", "new")
		if err := db.Run(ctx, func(_ context.Context, txn *kv.Txn) error { _, _, err := txn.Get(ctx, key("z")); return err }); err != nil {
			return err
		}
		put(txn, "z", "written") // above the read of z, and so above the write of k1
		if d := txn.Delegate(ctx, leafReads(db, all, &res)); d != nil {
			return errors.New("another node reads for a transaction that has writes")
		}
		if err := txn.Commit(ctx); (err == nil) != abandoned {
			return fmt.Errorf("abandoned: %v: the commit returns %v", abandoned, err)
		}
	}
	return nil
}

func TestDelegatedTooLate(t *testing.T) {
	if err := delegateTooLate(t); err != nil {
		t.Error(err)
	}
}

// delegateTooLate checks that a delegated read whose statement or snapshot has passed meanwhile does not count.
func delegateTooLate(t *testing.T) error {
	ctx := context.Background()
	s, db := open(t, fs.NewMem())
	defer s.Close()
	all := []kvpb.Span{{Key: key("k"), EndKey: key("l")}}
	for _, iso := range []kv.Isolation{kv.Serializable, kv.ReadCommitted} {
		txn := db.Begin(kv.TxnOptions{Isolation: iso})
		defer txn.Rollback(ctx)
		txn.BeginStatement()
		var res kv.ScanResult
		d := txn.Delegate(ctx, leafReads(db, all, &res))
		txn.BeginStatement()
		if ok, err := d.Finish(ctx, 0); ok || err != nil {
			return fmt.Errorf("%v: %v, %v", iso, ok, err)
		}
	}
	return nil
}

// A leaf stops where it has read enough, and says where. What is read from there on is the rest.
func TestLeaf(t *testing.T) {
	ctx := context.Background()
	s, db := open(t, fs.NewMem())
	defer s.Close()
	err := db.Run(ctx, func(_ context.Context, txn *kv.Txn) error {
		for i := range 50 {
			if err := txn.Put(key(fmt.Sprintf("k%02d", i)), []byte("value")); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	spans := []kvpb.Span{{Key: key("k03")}, {Key: key("k10"), EndKey: key("k30")}, {Key: key("k31")}, {Key: key("k40"), EndKey: key("k45")}}
	txn := db.Begin(kv.TxnOptions{})
	txn.BeginStatement()
	want := eachSpan(t, txn, spans)
	for _, limit := range []int64{1, 40, 1000} {
		var got []string
		leaves := 0
		for left := spans; len(left) > 0; leaves++ {
			leaf := db.Leaf(txn.Meta(), nil, limit)
			ask := slices.Clone(left)
			for len(ask) > 0 {
				var res kv.ScanResult
				if err := leaf.ScanSpans(ctx, ask, kv.ScanOptions{MaxRows: 4}, &res); err != nil {
					t.Fatal(err)
				}
				if got = appendRows(got, &res); res.Resume == nil {
					break
				}
				ask = kvpb.Rest(ask, res.Resume)
			}
			if leaf.Rest() == nil {
				break
			}
			left = kvpb.Rest(left, leaf.Rest())
		}
		if !slices.Equal(got, want) || leaves == 0 && limit < 1000 {
			t.Errorf("limit %d: %d rows of %d by %d leaves", limit, len(got), len(want), leaves)
		}
	}
	txn.Rollback(ctx)
}
