package apply

import (
	"errors"
	"fmt"
	"testing"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/storage"
	"github.com/lichendb/lichen/internal/storage/mvcc"
)

func tableEntry(keys ...string) []byte {
	var b Builder
	b.Reset(kvpb.TxnID{Lo: 3}, hlc.Timestamp{WallTime: 100})
	b.Table()
	for _, k := range keys {
		b.Put([]byte(k), []byte("v"))
	}
	return AppendEntry(nil, 1, b.Bytes())
}

func clearEntry(start, end string) []byte {
	var b Builder
	b.Reset(kvpb.TxnID{}, hlc.Timestamp{})
	b.ClearSpan([]byte(start), []byte(end))
	return AppendEntry(nil, AnyBounds, b.Bytes())
}

// newApplier returns one that has applied entry 10.
func newApplier(t *testing.T) (*Applier, *storage.Engine) {
	e, a := openEngine(t), new(Applier)
	a.Reset(e, 1, testDescriptor(), State{Index: 10, Term: 5})
	return a, e
}

// there returns which of the keys an engine has.
func there(e *storage.Engine, keys ...string) (out string, err error) {
	for _, k := range keys {
		_, ok, gerr := mvcc.Get(e, []byte(k), hlc.Timestamp{WallTime: 100}, nil)
		out, err = out+fmt.Sprint(ok, " "), errors.Join(err, gerr)
	}
	return out, err
}

// tableAfterClear applies a table after a deletion of its span that is not finished yet.
func tableAfterClear(t *testing.T) error {
	a, e := newApplier(t)
	err := errors.Join(a.Entry(11, 6, clearEntry("\x10a", "\x10z"), ignore),
		a.Entry(12, 6, tableEntry("\x10b", "\x10c"), ignore), a.Finish())
	if err != nil {
		return err
	}
	if got, err := there(e, "\x10b", "\x10c"); err != nil || got != "true true " {
		return fmt.Errorf("the keys of the table are there: %s, %v", got, err)
	}
	return nil
}

// Puts that are to go in as a table are there whatever came before them, and when they are not
// in order; to apply them again changes nothing.
func TestTable(t *testing.T) {
	if err := tableAfterClear(t); err != nil {
		t.Error(err)
	}
	a, e := newApplier(t)
	entries := [][]byte{
		tableEntry("\x10b", "\x10c", "\x10d"), tableEntry("\x10f", "\x10e"), clearEntry("\x10d", "\x10f"), tableEntry(),
	}
	for round := range 2 {
		a.Reset(e, 1, testDescriptor(), State{Index: 10, Term: 5})
		for i, entry := range entries {
			if !HasTable(entry) != (i == 2) {
				t.Errorf("entry %d has a table: %t", i, HasTable(entry))
			}
			if err := errors.Join(a.Entry(uint64(11+i), 6, entry, ignore), a.Finish()); err != nil {
				t.Fatal(err)
			}
		}
		got, err := there(e, "\x10b", "\x10c", "\x10d", "\x10e", "\x10f")
		if want := "true true false false true "; err != nil || got != want {
			t.Errorf("round %d: got %s, %v, want %s", round, got, err, want)
		}
	}
	if st, err := LoadState(e, 1); err != nil || st != (State{Index: 14, Term: 6}) {
		t.Errorf("state %v, %v", st, err)
	}
}

// A table that was evaluated under other bounds does nothing.
func TestTableOfOtherBounds(t *testing.T) {
	a, e := newApplier(t)
	d := testDescriptor()
	d.BoundsGen = 2
	a.Reset(e, 1, d, State{Index: 10, Term: 5})
	took := true
	note := func(c Applied) { took = c.Effects }
	if err := errors.Join(a.Entry(11, 6, tableEntry("\x10b"), note), a.Finish()); err != nil || took {
		t.Errorf("it took effect: %t, %v", took, err)
	}
	if got, err := there(e, "\x10b"); err != nil || got != "false " {
		t.Errorf("the key is there: %s, %v", got, err)
	}
}

// tableCommand is that of tableEntry.
func tableCommand(t *testing.T, keys ...string) (cmd []byte) {
	err := Commands(tableEntry(keys...), func(_ uint64, c []byte) error {
		cmd = append([]byte(nil), c...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return cmd
}

// preparedForAnother applies a command for which no table was prepared, while one waits that differs in a key.
func preparedForAnother(t *testing.T) error {
	a, e := newApplier(t)
	var tables Tables
	a.Use(&tables)
	tables.Prepare(e, tableCommand(t, "\x10b", "\x10d"))
	if err := errors.Join(a.Entry(11, 6, tableEntry("\x10b", "\x10c"), ignore), a.Finish()); err != nil {
		return err
	}
	if got, err := there(e, "\x10b", "\x10c", "\x10d"); err != nil || got != "true true false " {
		return fmt.Errorf("the keys of the table are there: %s, %v", got, err)
	}
	return nil
}

// A command takes the table that was prepared for it and no other; one that nobody takes goes.
func TestPreparedTable(t *testing.T) {
	if err := preparedForAnother(t); err != nil {
		t.Error(err)
	}
	a, e := newApplier(t)
	var tables Tables
	a.Use(&tables)
	applied, dropped := tableCommand(t, "\x10b", "\x10c"), tableCommand(t, "\x10e")
	tables.Prepare(e, applied)
	tables.Prepare(e, dropped)
	if len(tables.list) != 2 {
		t.Fatalf("%d tables are prepared", len(tables.list))
	}
	if err := errors.Join(a.Entry(11, 6, tableEntry("\x10b", "\x10c"), ignore), a.Finish()); err != nil {
		t.Fatal(err)
	}
	if len(tables.list) != 1 {
		t.Errorf("%d tables wait after one was applied", len(tables.list))
	}
	tables.Drop(applied)
	tables.Drop(dropped)
	if len(tables.list) != 0 {
		t.Errorf("%d tables are left", len(tables.list))
	}
	if got, err := there(e, "\x10b", "\x10c", "\x10e"); err != nil || got != "true true false " {
		t.Errorf("the keys of the tables are there: %s, %v", got, err)
	}
	for range maxPrepared + 1 {
		tables.Prepare(e, dropped)
	}
	if len(tables.list) != maxPrepared {
		t.Errorf("%d tables wait, at most %d should", len(tables.list), maxPrepared)
	}
	for range maxPrepared {
		tables.Drop(dropped)
	}
}
