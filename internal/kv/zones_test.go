package kv_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/lichendb/lichen/internal/config/zone"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
)

func TestZoneSpans(t *testing.T) {
	ctx := context.Background()
	s, db := open(t, fs.NewMem())
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	put := func(key, value []byte) {
		t.Helper()
		if err := db.Run(ctx, func(_ context.Context, txn *kv.Txn) error { return txn.Put(key, value) }); err != nil {
			t.Fatal(err)
		}
	}
	var five zone.Config
	if err := five.Set("num_replicas", "5"); err != nil {
		t.Fatal(err)
	}
	table, index := keys.TableSpan(1, 300), keys.IndexSpan(1, 300, 2)
	put(keys.Zone(index.Start), zone.Encode(&zone.Record{End: index.End, Kind: zone.KindIndex}))
	put(keys.Zone(table.Start), zone.Encode(&zone.Record{End: table.End, Kind: zone.KindTable, Config: five}))
	put(keys.Zone(nil), zone.Encode(&zone.Record{Kind: zone.KindDefault}))
	read := func(span keys.Span) ([]zone.Span, error) {
		txn := db.Begin(kv.TxnOptions{ReadOnly: true})
		txn.BeginStatement()
		defer txn.Rollback(ctx)
		return kv.ZoneSpansIn(ctx, txn, span)
	}
	all, err := read(keys.ZoneSpan())
	if err != nil || len(all) != 3 || all[0].Kind != zone.KindDefault || all[1].Kind != zone.KindTable ||
		!bytes.Equal(all[1].Start, table.Start) || !bytes.Equal(all[1].End, table.End) {
		t.Fatalf("%+v, %v", all, err)
	}
	set, err := zone.NewSet(all)
	if err != nil {
		t.Fatal(err)
	}
	if c, z := set.At(append(index.Start, 7)); *c.NumReplicas != 5 || z.Kind != zone.KindIndex {
		t.Errorf("%+v from %+v", c, z)
	}
	if some, err := read(keys.ZonesWithin(table)); err != nil || len(some) != 2 {
		t.Errorf("%+v, %v", some, err)
	}
	put(keys.Zone([]byte("x")), []byte("damaged"))
	if _, err := read(keys.ZoneSpan()); err == nil {
		t.Error("a damaged zone was read")
	}
}
