package catalog

import (
	"reflect"
	"testing"

	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

func sampleDescriptors() []Descriptor {
	t := newTable("t")
	t.ID, t.RowIDOid, t.RowIDStorage = 5, 20000, 1
	t.prepare()
	q := &Table{
		ID: 6, Kind: KindSequence, Name: "q", NextColumnID: 1, NextIndexID: 2,
		Columns:  []Column{},
		Sequence: &Sequence{Type: types.Int2, Start: 1, Increment: -3, Min: -10, Max: 10, Cache: 5, Cycle: true, Storage: 1, First: 4},
	}
	v := &Table{
		ID: 7, Kind: KindView, Name: "v", NextColumnID: 1, NextIndexID: 1, Columns: []Column{},
		View: &View{Query: "SELECT 1", Uses: []ID{5}, UsesColumns: [][]ColumnID{{1, 2}}},
	}
	return []Descriptor{
		&Database{ID: 1, Oid: 16384, Version: 3, Name: "d\"b", Owner: RootOid, Comment: "hello"},
		&Schema{ID: 2, Oid: 16385, Version: 1, Database: 1, Name: "sch\u00e9ma", Owner: 16500},
		t, q, v,
	}
}

func TestDescriptorRoundTrip(t *testing.T) {
	for _, d := range sampleDescriptors() {
		b, err := encodeDescriptor(d)
		if err != nil {
			t.Fatal(err)
		}
		got, err := decodeDescriptor(d.Ident().ID, b)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, d) {
			t.Errorf("got  %+v\nwant %+v", got, d)
		}
	}
}

func TestDescriptorOfOtherVersions(t *testing.T) {
	b, err := encodeDescriptor(&Database{ID: 1, Name: "d"})
	if err != nil {
		t.Fatal(err)
	}
	newer := append([]byte{lastFormat + 1}, b[1:]...)
	_, err = decodeDescriptor(1, newer)
	if pgerr.CodeOf(err) != pgerr.DataCorrupted || err.Error() != "catalog descriptor 1 has format 9, this version reads formats 1 to 8" {
		t.Errorf("a newer format: %v", err)
	}
	extra := []byte(string(b[:len(b)-1]) + `,"later":{"x":[1,2]}}`)
	if d, err := decodeDescriptor(1, extra); err != nil || d.Ident().Name != "d" {
		t.Errorf("a later field: %v, %v", d, err)
	}
	if _, err := decodeDescriptor(2, b); pgerr.CodeOf(err) != pgerr.DataCorrupted {
		t.Errorf("another id: %v", err)
	}
}

func TestNameRoundTrip(t *testing.T) {
	for _, k := range []NameKey{{Name: "db"}, {Database: 1, Name: ""}, {Database: 1, Schema: 1 << 40, Name: "t\x00/ü"}} {
		got, err := decodeNameKey(nameKey(k))
		if err != nil || got != k {
			t.Errorf("%v: got %v, %v", k, got, err)
		}
	}
	for _, e := range []NameEntry{{ID: 1}, {ID: 1 << 50, Index: true}} {
		got, err := decodeName(encodeName(e))
		if err != nil || got != e {
			t.Errorf("%v: got %v, %v", e, got, err)
		}
	}
}

// FuzzDecode feeds arbitrary bytes to every decoder: they fail with XX001 or
// yield something that encodes again.
func FuzzDecode(f *testing.F) {
	for _, d := range sampleDescriptors() {
		b, err := encodeDescriptor(d)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add(encodeName(NameEntry{ID: 3}))
	f.Add(encodeSequence(sequenceState{last: 5, called: true}))
	f.Add([]byte("\x01{\"Start\":\"EA==\",\"End\":\"EQ==\"}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		check := func(err error) {
			if err != nil && pgerr.CodeOf(err) != pgerr.DataCorrupted {
				t.Errorf("%x: %v", b, err)
			}
		}
		for id := ID(1); id < 8; id++ {
			d, err := decodeDescriptor(id, b)
			check(err)
			if err == nil {
				if _, err := encodeDescriptor(d); err != nil {
					t.Errorf("%x: decoded, but does not encode: %v", b, err)
				}
			}
		}
		_, err := decodeName(b)
		check(err)
		_, err = decodeNameKey(b)
		check(err)
		_, err = decodeCleanup(b)
		check(err)
		_, err = decodeSequence(&Table{Sequence: &Sequence{}}, b, true)
		check(err)
	})
}
