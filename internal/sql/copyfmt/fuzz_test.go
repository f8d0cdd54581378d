package copyfmt

import (
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/lichendb/lichen/internal/sql/types"
)

var fuzzOptions = []string{
	"", "null ''", "delimiter ',', header", "format csv", "format csv, escape '\\'", "format csv, null 'N', header",
	"format csv, quote '''', delimiter ';'",
}

// FuzzReader reads anything, and checks that the cuts between chunks change
// nothing (C1).
func FuzzReader(f *testing.F) {
	for i, c := range handMade {
		f.Add(byte(i), byte(3), c.Input)
	}
	f.Fuzz(func(t *testing.T, option, size byte, input string) {
		c := goldenCase{Options: fuzzOptions[int(option)%len(fuzzOptions)], Cols: "a text, b text"}
		if option&1 == 1 {
			c.Cols = "a int"
		}
		whole := runCase(t, c, input, len(input)+1)
		cut := runCase(t, c, input, int(size)+1)
		if !reflect.DeepEqual(whole, cut) {
			t.Errorf("whole %+v, in chunks of %d %+v", whole, int(size)+1, cut)
		}
	})
}

// FuzzRoundTrip checks that what is written is read back as it was (C2).
func FuzzRoundTrip(f *testing.F) {
	f.Add(byte(0), "a\tb", "\\N", true)
	f.Add(byte(3), "\"", "\\.", false)
	f.Add(byte(4), "\\\"", "\r\n", true)
	f.Fuzz(func(t *testing.T, option byte, a, b string, null bool) {
		if !utf8.ValidString(a) || !utf8.ValidString(b) || strings.Contains(a+b, "\x00") {
			return
		}
		cols := columns(t, "a text, b text")
		opts := fuzzOptions[int(option)%len(fuzzOptions)]
		if opts == "null ''" && (a == "" || b == "") {
			return // the text format can't tell it from NULL then
		}
		row := []types.Datum{types.NewString(a), types.NewString(b)}
		if null {
			row[1] = types.Null
		}
		w := NewWriter(parseOptions(t, opts, cols, false), cols, nil)
		text := written(t, w.Header)
		text += line(t, w, row)
		text += line(t, w, row)
		r := NewReader(parseOptions(t, opts, cols, true), cols, nil, chunks(text, 5))
		got := make([]types.Datum, 2)
		for range 2 {
			if ok, err := r.NextRow(got); !ok || err != nil {
				t.Fatalf("%q: %v, %v", text, ok, err)
			}
			if !reflect.DeepEqual(got, row) {
				t.Errorf("%q: read %v, want %v", text, got, row)
			}
		}
		if ok, err := r.NextRow(got); ok || err != nil {
			t.Errorf("%q: a third row: %v", text, err)
		}
	})
}

// TestChunkBoundaries cuts a text with every special sequence at every place.
func TestChunkBoundaries(t *testing.T) {
	inputs := map[string]string{
		"":                             "a\\\tb\tc\\\nd\r\n\\N\t\\x41\\101\r\ne\tf\\\\\r\n\\.\r\njunk\r\n",
		"format csv":                   "\"a\r\nb\",\"c\"\"d\"\r\n\\.x,y\r\n\\.\r\njunk",
		"format csv, escape '\\'":      "\"a\\\"b\",\"c\\\\\"\r\\.\r",
		"format csv, null 'N', header": "h,\"h\nh\"\n\"N\",N\n",
	}
	for opts, input := range inputs {
		c := goldenCase{Options: opts, Cols: "a text, b text"}
		whole := runCase(t, c, input, 1<<20)
		if len(whole.Rows) == 0 {
			t.Errorf("%q: %+v", opts, whole)
		}
		for size := 1; size < len(input); size++ {
			if cut := runCase(t, c, input, size); !reflect.DeepEqual(whole, cut) {
				t.Errorf("%q: whole %+v, in chunks of %d %+v", opts, whole, size, cut)
			}
		}
	}
}
