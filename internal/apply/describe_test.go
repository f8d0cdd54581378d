package apply

import (
	"errors"
	"testing"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
)

// Of an entry's commands, only descriptors with Into freeze the range.
func TestFreezes(t *testing.T) {
	var b Builder
	command := func(fill func()) []byte {
		b.Reset(kvpb.TxnID{}, hlc.Timestamp{WallTime: 1})
		fill()
		return append([]byte(nil), b.Bytes()...)
	}
	frozen := &kvpb.RangeDescriptor{RangeID: 2, StartKey: []byte("f"), EndKey: []byte("m"), Generation: 4, Into: 1, IntoGeneration: 7}
	moved := &kvpb.RangeDescriptor{RangeID: 2, StartKey: []byte("f"), EndKey: []byte("m"), Generation: 3}
	var entry []byte
	for _, cmd := range [][]byte{
		nil, // a barrier
		command(func() { b.Put([]byte("g"), []byte("v")); b.Tombstone([]byte("h")) }),
		command(func() { b.SetDescriptor(moved) }),
		command(func() { b.SetDescriptor(frozen) }),
	} {
		entry = AppendEntry(entry, AnyBounds, cmd)
	}
	found, err := Freezes(entry)
	if err != nil || len(found) != 1 || found[0].Into != 1 || found[0].IntoGeneration != 7 {
		t.Errorf("found %+v, %v", found, err)
	}
	if found, err = Freezes(nil); err != nil || len(found) != 0 {
		t.Errorf("an empty entry: %+v, %v", found, err)
	}
	if _, err = Freezes(entry[:len(entry)-1]); !errors.Is(err, ErrDamaged) {
		t.Errorf("a truncated entry: %v", err)
	}
}
