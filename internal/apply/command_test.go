package apply

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/storage"
	"github.com/lichendb/lichen/internal/storage/mvcc"
)

func openEngine(t testing.TB) *storage.Engine {
	t.Helper()
	e, err := storage.Open(storage.Options{FS: fs.NewMem(), Dir: "e", CacheBytes: 1 << 20, MemTableBytes: 1 << 20, ReserveBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func ignore(Applied) {}

func testDescriptor() *kvpb.RangeDescriptor {
	return &kvpb.RangeDescriptor{
		RangeID: 1, StartKey: []byte("\x08"), EndKey: []byte("\x11"), Generation: 1, BoundsGen: 1, NextReplicaID: 2,
		Replicas: []kvpb.ReplicaDescriptor{{Node: 1, Store: 1, Replica: 1}},
	}
}

func sampleEntry() []byte {
	var b Builder
	b.Reset(kvpb.TxnID{Hi: 1, Lo: 2}, hlc.Timestamp{WallTime: 100})
	b.Put([]byte("\x10a"), []byte("one"))
	b.Tombstone([]byte("\x10b"))
	b.SetRaw([]byte("\x09raw"), []byte("x"))
	entry := AppendEntry(nil, AnyBounds, b.Bytes())
	b.Reset(kvpb.TxnID{}, hlc.Timestamp{})
	b.Collect([]byte("\x10a"), mvcc.Garbage{TS: hlc.Timestamp{WallTime: 50, Logical: 1}, Size: 3})
	b.RaiseThreshold(hlc.Timestamp{WallTime: 60})
	b.ClearSpan([]byte("\x10c"), []byte("\x10d"))
	b.DeleteRaw([]byte("\x09raw"))
	return AppendEntry(entry, 1, b.Bytes())
}

func TestApply(t *testing.T) {
	e := openEngine(t)
	var a Applier
	a.Reset(e, 1, testDescriptor(), State{Index: 10, Term: 5})
	if err := a.Entry(11, 6, sampleEntry(), ignore); err != nil {
		t.Fatal(err)
	}
	if err := a.Entry(12, 6, nil, ignore); err != nil {
		t.Fatal(err)
	}
	if err := a.Finish(); err != nil {
		t.Fatal(err)
	}
	v, ok, err := mvcc.Get(e, []byte("\x10a"), hlc.Timestamp{WallTime: 100}, nil)
	if err != nil || !ok || string(v.Data) != "one" {
		t.Errorf("a is %q, %v, %v", v.Data, ok, err)
	}
	if st, err := LoadState(e, 1); err != nil || st != (State{Index: 12, Term: 6}) {
		t.Errorf("state %v, %v", st, err)
	}
	if th, err := LoadThreshold(e, 1); err != nil || th.WallTime != 60 {
		t.Errorf("threshold %v, %v", th, err)
	}
	if _, err := LoadState(e, 2); !errors.Is(err, ErrNoState) {
		t.Errorf("state of an absent range: %v", err)
	}
	for _, next := range []uint64{12, 14} {
		if a.Entry(next, 6, nil, ignore) == nil {
			t.Errorf("A3: entry %d was accepted after 12", next)
		}
	}
}

// TestProvisionalCommands checks that a command which leaves its transaction open says so, and writes like others.
func TestProvisionalCommands(t *testing.T) {
	e := openEngine(t)
	var a Applier
	a.Reset(e, 1, testDescriptor(), State{Index: 10, Term: 5})
	txn, ts := kvpb.TxnID{Hi: 1, Lo: 2}, hlc.Timestamp{WallTime: 100}
	var b Builder
	b.Provisional(txn, ts)
	b.Put([]byte("\x10a"), []byte("one"))
	entry := AppendEntry(nil, AnyBounds, b.Bytes())
	b.Reset(txn, ts)
	entry = AppendEntry(entry, AnyBounds, b.Bytes())
	var got []Applied
	if err := a.Entry(11, 5, entry, func(c Applied) { got = append(got, c) }); err != nil {
		t.Fatal(err)
	}
	if err := a.Finish(); err != nil {
		t.Fatal(err)
	}
	want := []Applied{{Txn: txn, TS: ts, Effects: true}, {Txn: txn, TS: ts, Ends: true, Effects: true}}
	if !slices.Equal(got, want) {
		t.Errorf("commands %+v, want %+v", got, want)
	}
	v, ok, err := mvcc.Get(e, []byte("\x10a"), ts, nil)
	if err != nil || !ok || string(v.Data) != "one" {
		t.Errorf("a is %q, %v, %v", v.Data, ok, err)
	}
}

func TestOtherVersionsAreRefused(t *testing.T) {
	entry := sampleEntry()
	entry[0] = 9
	if err := Commands(entry, func(uint64, []byte) error { return nil }); err == nil {
		t.Error("an entry of version 9 was read")
	}
	var b Builder
	b.Reset(kvpb.TxnID{}, hlc.Timestamp{})
	cmd := bytes.Clone(b.Bytes())
	cmd[0] = 9
	var a Applier
	a.Reset(openEngine(t), 1, testDescriptor(), State{})
	if err := a.Entry(1, 1, AppendEntry(nil, AnyBounds, cmd), ignore); err == nil {
		t.Error("a command of version 9 was applied")
	}
	a.Reset(openEngine(t), 1, testDescriptor(), State{})
	cmd[0] = priorVersion
	if err := a.Entry(1, 1, AppendEntry(nil, AnyBounds, cmd), ignore); err != nil {
		t.Errorf("a command of version %d: %v", priorVersion, err)
	}
	if _, err := decodeState(append([]byte{9}, make([]byte, 16)...)); err == nil || !strings.Contains(err.Error(), "version 9") {
		t.Errorf("an applied state of version 9: %v", err)
	}
}

// FuzzEntry: whatever an entry holds, applying it ends, with an error or without.
func FuzzEntry(f *testing.F) {
	f.Add(sampleEntry())
	f.Add([]byte{entryVersion, 0})
	f.Add([]byte{entryVersion, 1, Version})
	e := openEngine(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		var a Applier
		a.Reset(e, 1, testDescriptor(), State{})
		_ = a.Entry(1, 1, data, ignore)
		if a.batch != nil {
			a.batch.Close()
		}
	})
}

// A command that was evaluated under other bounds does nothing, and its proposer
// hears of it; so does a split that another change of the range came before.
func TestBoundaries(t *testing.T) {
	e := openEngine(t)
	var a Applier
	a.Reset(e, 1, testDescriptor(), State{Index: 10, Term: 5})
	put := func(key string) []byte {
		var b Builder
		b.Reset(kvpb.TxnID{Lo: 7}, hlc.Timestamp{WallTime: 100})
		b.Put([]byte(key), []byte("v"))
		return bytes.Clone(b.Bytes())
	}
	left, right := testDescriptor(), testDescriptor()
	left.EndKey, left.Generation, left.BoundsGen = []byte("\x10m"), 2, 2
	right.RangeID, right.StartKey, right.Generation, right.BoundsGen = 2, left.EndKey, 2, 2
	var b Builder
	b.Reset(kvpb.TxnID{}, hlc.Timestamp{})
	b.Split(left, right)
	var got []bool
	note := func(c Applied) { got = append(got, c.Effects) }
	entry := AppendEntry(nil, 1, put("\x10a"))
	entry = AppendEntry(entry, 1, b.Bytes())
	entry = AppendEntry(entry, 1, put("\x10z"))
	entry = AppendEntry(entry, AnyBounds, b.Bytes())
	if err := a.Entry(11, 6, entry, note); err != nil {
		t.Fatal(err)
	}
	if want := []bool{true, true, false, false}; !slices.Equal(got, want) {
		t.Errorf("effects %v, want %v", got, want)
	}
	if tr := a.Trigger(); tr == nil || tr.Right == nil || tr.Right.RangeID != 2 {
		t.Errorf("trigger %+v", tr)
	}
	if err := a.Finish(); err != nil {
		t.Fatal(err)
	}
	if _, ok, _ := mvcc.Get(e, []byte("\x10z"), hlc.Timestamp{WallTime: 100}, nil); ok {
		t.Error("a write evaluated before the split took effect in the right half")
	}
	if st, err := LoadState(e, 2); err != nil || st != (State{Index: FirstIndex, Term: FirstTerm}) {
		t.Errorf("state of the right half: %v, %v", st, err)
	}
}

// A command that raises the collection threshold may come after one that raised it higher.
func TestThresholdNeverFalls(t *testing.T) {
	e := openEngine(t)
	var a Applier
	a.Reset(e, 1, testDescriptor(), State{Index: 10, Term: 5})
	want := hlc.Timestamp{}
	for i, wall := range []int64{60, 90, 70, 100, 100, 80} {
		var b Builder
		b.Reset(kvpb.TxnID{}, hlc.Timestamp{})
		b.RaiseThreshold(hlc.Timestamp{WallTime: wall})
		if err := a.Entry(uint64(11+i), 6, AppendEntry(nil, 1, b.Bytes()), ignore); err != nil {
			t.Fatal(err)
		}
		want = want.Max(hlc.Timestamp{WallTime: wall})
		if i%2 == 1 { // some in one batch
			if err := a.Finish(); err != nil {
				t.Fatal(err)
			}
			if got, err := LoadThreshold(e, 1); err != nil || got != want {
				t.Fatalf("after %d the threshold is %v, want %v; %v", wall, got, want, err)
			}
		}
	}
}

// Builders keep the memory of short commands only.
func TestTake(t *testing.T) {
	for size, kept := range map[int]bool{10: true, LongCommand: false} {
		var b Builder
		b.Reset(kvpb.TxnID{}, hlc.Timestamp{WallTime: 1})
		b.Put([]byte("k"), make([]byte, size))
		want := b.Len()
		if got := len(b.Take()); got != want {
			t.Errorf("%d bytes of %d", got, want)
		}
		if got := cap(b.buf) > 0; got != kept {
			t.Errorf("a command with a value of %d bytes: memory kept %v", size, got)
		}
	}
}
