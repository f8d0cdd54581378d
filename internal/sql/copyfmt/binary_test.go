package copyfmt

import (
	"reflect"
	"testing"

	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

func binaryData(t *testing.T) (data string, rows [][]types.Datum) {
	t.Helper()
	cols := columns(t, "a text, b int, c bool")
	rows = [][]types.Datum{
		{types.NewString("x\ty"), types.NewInt(-7), types.True},
		{types.Null, types.NewInt(1 << 30), types.Null},
		{types.NewString(""), types.Null, types.False},
	}
	w := NewWriter(parseOptions(t, "format binary", cols, false), cols, nil)
	data = written(t, w.Header)
	for _, r := range rows {
		data += line(t, w, r)
	}
	return data + string(w.Trailer()), rows
}

// TestBinaryRoundTrip reads what was written, in chunks of every size (C1, C2).
func TestBinaryRoundTrip(t *testing.T) {
	data, want := binaryData(t)
	cols := columns(t, "a text, b int, c bool")
	for size := 1; size <= len(data); size++ {
		r := NewReader(parseOptions(t, "format binary", cols, true), cols, nil, chunks(data, size))
		for i := range want {
			got := make([]types.Datum, len(cols))
			if ok, err := r.NextRow(got); !ok || err != nil {
				t.Fatalf("chunks of %d, row %d: %v, %v", size, i, ok, err)
			}
			if !reflect.DeepEqual(got, want[i]) {
				t.Errorf("chunks of %d, row %d: %v, want %v", size, i, got, want[i])
			}
		}
		if ok, err := r.NextRow(make([]types.Datum, len(cols))); ok || err != nil {
			t.Errorf("chunks of %d: after the last row %v, %v", size, ok, err)
		}
	}
}

// TestBinaryDamaged cuts and changes the data: each time there is an error or, at the
// boundary of a row, an end.
func TestBinaryDamaged(t *testing.T) {
	data, rows := binaryData(t)
	cols := columns(t, "a text, b int, c bool")
	read := func(data string) (n int, err error) {
		r := NewReader(parseOptions(t, "format binary", cols, true), cols, nil, chunks(data, 5))
		row := make([]types.Datum, len(cols))
		for {
			ok, err := r.NextRow(row)
			if !ok || err != nil {
				return n, err
			}
			n++
		}
	}
	ends := 0
	for i := range data {
		n, err := read(data[:i])
		switch {
		case err == nil:
			ends++
		case pgerr.CodeOf(err) != pgerr.BadCopyFileFormat:
			t.Errorf("cut at %d: %v after %d rows", i, err, n)
		}
	}
	if ends != len(rows)+1 {
		t.Errorf("%d cuts were taken for the end, want %d", ends, len(rows)+1)
	}
	for i := range len(binarySignature) + 8 {
		b := []byte(data)
		b[i] ^= 0xff
		if _, err := read(string(b)); pgerr.CodeOf(err) != pgerr.BadCopyFileFormat && i != 13 && i != 14 {
			t.Errorf("byte %d of the header changed: %v", i, err)
		}
	}
	if _, err := read(data + "x"); pgerr.CodeOf(err) != pgerr.BadCopyFileFormat {
		t.Errorf("data behind the trailer: %v", err)
	}
	if _, err := read(data[:19] + "\x00\x02"); pgerr.CodeOf(err) != pgerr.BadCopyFileFormat {
		t.Errorf("a row of two fields: %v", err)
	}
}
