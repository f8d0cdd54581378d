package apply

import (
	"bytes"
	"errors"
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

func sampleEntry() []byte {
	var b Builder
	b.Reset(kvpb.TxnID{Hi: 1, Lo: 2}, hlc.Timestamp{WallTime: 100})
	b.Put([]byte("\x10a"), []byte("one"))
	b.Tombstone([]byte("\x10b"))
	b.SetRaw([]byte("\x09raw"), []byte("x"))
	entry := AppendEntry(nil, b.Bytes())
	b.Reset(kvpb.TxnID{}, hlc.Timestamp{})
	b.Collect([]byte("\x10a"), mvcc.Garbage{TS: hlc.Timestamp{WallTime: 50, Logical: 1}, Size: 3})
	b.RaiseThreshold(hlc.Timestamp{WallTime: 60})
	b.ClearSpan([]byte("\x10c"), []byte("\x10d"))
	b.DeleteRaw([]byte("\x09raw"))
	return AppendEntry(entry, b.Bytes())
}

func TestApply(t *testing.T) {
	e := openEngine(t)
	var a Applier
	a.Reset(e, 1, State{Index: 10, Term: 5})
	if err := a.Entry(11, 6, sampleEntry()); err != nil {
		t.Fatal(err)
	}
	if err := a.Entry(12, 6, nil); err != nil {
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
		if a.Entry(next, 6, nil) == nil {
			t.Errorf("A3: entry %d was accepted after 12", next)
		}
	}
}

func TestOtherVersionsAreRefused(t *testing.T) {
	entry := sampleEntry()
	entry[0] = 9
	if err := Commands(entry, func([]byte) error { return nil }); err == nil {
		t.Error("an entry of version 9 was read")
	}
	var b Builder
	b.Reset(kvpb.TxnID{}, hlc.Timestamp{})
	cmd := bytes.Clone(b.Bytes())
	cmd[0] = 9
	var a Applier
	a.Reset(openEngine(t), 1, State{})
	if err := a.Entry(1, 1, AppendEntry(nil, cmd)); err == nil {
		t.Error("a command of version 9 was applied")
	}
}

// FuzzEntry: whatever an entry holds, applying it ends, with an error or without.
func FuzzEntry(f *testing.F) {
	f.Add(sampleEntry())
	f.Add([]byte{Version, 0})
	f.Add([]byte{Version, 1, Version})
	e := openEngine(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		var a Applier
		a.Reset(e, 1, State{})
		_ = a.Entry(1, 1, data)
		if a.batch != nil {
			a.batch.Close()
		}
	})
}
