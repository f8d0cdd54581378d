package hstore

import (
	"bytes"
	"cmp"
	"testing"

	"pgregory.net/rapid"
)

func free(int) error { return nil }

// drawPairs draws pairs of short texts, so that equal ones come up.
func drawPairs(t *rapid.T, name string) []Pair {
	text := rapid.StringOfN(rapid.RuneFrom([]rune("a\"\\=,> N\x00é")), 0, 3, -1)
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Pair {
		p := Pair{Key: text.Draw(t, "key"), Null: rapid.Bool().Draw(t, "null")}
		if !p.Null {
			p.Value = text.Draw(t, "value")
		}
		return p
	}), 0, 4).Draw(t, name)
}

func mustBuild(t *rapid.T, pairs []Pair) string {
	s, err := Build(pairs)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := mustBuild(t, drawPairs(t, "pairs"))
		if !Valid(s) {
			t.Fatalf("%q is not valid", s)
		}
		if back, err := Parse(string(AppendText(nil, s)), free); err != nil || back != s {
			t.Fatalf("text %s: got %q, %v, want %q", AppendText(nil, s), back, err, s)
		}
		if back, err := Decode(string(AppendBinary(nil, s))); err != nil || back != s {
			t.Fatalf("binary: got %q, %v, want %q", back, err, s)
		}
		for p := range All(s) {
			if q, ok := Get(s, p.Key); !ok || p != q {
				t.Fatalf("key %q: got %v, %v, want %v", p.Key, q, ok, p)
			}
		}
	})
}

func TestSortKey(t *testing.T) {
	delimited := func(dst []byte, s string) []byte {
		for i := range len(s) {
			dst = append(dst, 1, s[i])
		}
		return append(dst, 0)
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := mustBuild(t, drawPairs(t, "a")), mustBuild(t, drawPairs(t, "b"))
		x, y := AppendSortKey(nil, a, delimited), AppendSortKey(nil, b, delimited)
		if got, want := bytes.Compare(x, y), Compare(a, b); got != cmp.Compare(want, 0) || (want == 0) != (a == b) {
			t.Fatalf("%s and %s: the keys compare as %d, the values as %d", AppendText(nil, a), AppendText(nil, b), got, want)
		}
	})
}

func TestParseErrors(t *testing.T) {
	for text, want := range map[string]string{
		"a": errEnd, "a=>": errEnd, `"a=>1`: errEnd, `a=>"b`: errEnd, `a=>b\`: errEnd, `a =>b"c", d`: errEnd,
		"a=1":    `Syntax error near "1" at position 2`,
		"a=>1 b": `Syntax error near "b" at position 5`,
		"=>1":    `Syntax error near "=" at position 0`,
		"a é":    `Syntax error near "é" at position 2`,
	} {
		if got, err := Parse(text, free); err == nil || err.Error() != want {
			t.Errorf("%s: got %q, %v, want %s", text, got, err, want)
		}
	}
}

func FuzzValid(f *testing.F) {
	f.Add(Empty)
	f.Add("\x01\x01a\x02b")
	f.Add("\x01\x01a\x00")
	f.Fuzz(func(t *testing.T, s string) {
		if !Valid(s) {
			return
		}
		if back, err := Build(Pairs(s)); err != nil || back != s {
			t.Errorf("%q: got %q, %v", s, back, err)
		}
	})
}

func FuzzDecode(f *testing.F) {
	f.Add("\x00\x00\x00\x00")
	f.Add("\x00\x00\x00\x01\x00\x00\x00\x01a\xff\xff\xff\xff")
	f.Fuzz(func(t *testing.T, b string) {
		if s, err := Decode(b); err == nil && !Valid(s) {
			t.Errorf("%q: got %q", b, s)
		}
	})
}
