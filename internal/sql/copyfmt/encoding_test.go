package copyfmt

import (
	"testing"

	"github.com/lichendb/lichen/internal/sql/charset"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

func written(t testing.TB, f func() ([]byte, error)) string {
	t.Helper()
	b, err := f()
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func line(t testing.TB, w *Writer, row []types.Datum) string {
	t.Helper()
	return written(t, func() ([]byte, error) { return w.Row(row) })
}

// TestEncodings writes and reads text in other encodings, in chunks of every size.
func TestEncodings(t *testing.T) {
	const text = "日本語 \\\tソ\n能"
	for _, format := range []string{"", "format csv", "format binary"} {
		for _, name := range []string{"SJIS", "EUC_JP", "GB18030"} {
			cols := columns(t, "a text, b int")
			o := parseOptions(t, format, cols, true)
			o.Encoding = charset.Find(name)
			w := NewWriter(o, cols, types.NewFormatContext())
			data := written(t, w.Header) + line(t, w, []types.Datum{types.NewString(text), types.NewInt(7)}) + string(w.Trailer())
			for size := 1; size <= len(data); size++ {
				r := NewReader(o, cols, types.NewFormatContext(), chunks(data, size))
				row := make([]types.Datum, 2)
				if more, err := r.NextRow(row); err != nil || !more || row[0].Str() != text || row[1].Int() != 7 {
					t.Fatalf("%s %s in pieces of %d: %v, %v, %v", name, format, size, more, err, row)
				}
				if more, err := r.NextRow(row); err != nil || more {
					t.Fatalf("%s %s in pieces of %d: %v, %v", name, format, size, more, err)
				}
			}
		}
	}
}

// TestEncodingErrors reads what is no text, and writes what the encoding does not have.
func TestEncodingErrors(t *testing.T) {
	cols := columns(t, "a text")
	o := parseOptions(t, "", cols, true)
	o.Encoding = charset.Find("SJIS")
	for _, data := range []string{"\xff\xff\n", "a\n\x82"} {
		r := NewReader(o, cols, types.NewFormatContext(), chunks(data, 1))
		var err error
		for more := true; more && err == nil; {
			more, err = r.NextRow(make([]types.Datum, 1))
		}
		if pgerr.CodeOf(err) != pgerr.CharacterNotInRepertoire {
			t.Errorf("%q: %v", data, err)
		}
	}
	w := NewWriter(o, cols, types.NewFormatContext())
	if _, err := w.Row([]types.Datum{types.NewString("é")}); pgerr.CodeOf(err) != pgerr.UntranslatableCharacter {
		t.Errorf("got %v", err)
	}
}
