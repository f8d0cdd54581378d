package textsearch

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzVector(f *testing.F) {
	for _, s := range []string{"a b:1,2A", "'x y':3*", `a\:b:16384`, "", "'it''s'"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, err := ParseVector(s, nil)
		if err != nil {
			return
		}
		back, err := ParseVector(v.String(), nil)
		if err != nil || back.String() != v.String() {
			t.Fatalf("%q prints as %q, read back as %v, %v", s, v, back, err)
		}
	})
}

func FuzzQuery(f *testing.F) {
	for _, s := range []string{"a & !b | (c <-> d:*AB)", "'x y' <3> z", "!!a", "", "a <-> (b <-> c)"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		q, err := ParseQuery(s)
		if err != nil {
			return
		}
		back, err := ParseQuery(q.String())
		if err != nil || back.String() != q.String() {
			t.Fatalf("%q prints as %q, read back as %v, %v", s, q, back, err)
		}
		Match(Vector{{Word: "a", Positions: []Position{{Pos: 1}}}}, q)
	})
}

func FuzzDecode(f *testing.F) {
	v, _ := ParseVector("a:1 b:2A", nil)
	q, _ := ParseQuery("a & !b <2> c:*")
	f.Add(string(v.AppendBinary(nil)))
	f.Add(string(q.AppendBinary(nil)))
	f.Fuzz(func(t *testing.T, s string) {
		if v, err := DecodeVector(s); err == nil {
			if back, err := DecodeVector(string(v.AppendBinary(nil))); err != nil || back.String() != v.String() {
				t.Fatalf("%x: %v, read back as %v, %v", s, v, back, err)
			}
		}
		if q, err := DecodeQuery(s); err == nil {
			if back, err := DecodeQuery(string(q.AppendBinary(nil))); err != nil || back.String() != q.String() {
				t.Fatalf("%x: %v, read back as %v, %v", s, q, back, err)
			}
		}
	})
}

func FuzzText(f *testing.F) {
	f.Add("The quick-brown foxes <b>jumped</b> at http://a.com/x?y=1 on 1.5e3 user@host.org /usr/lib 8.3.1 &amp; ünï")
	f.Fuzz(func(t *testing.T, s string) {
		for _, c := range []Config{Simple, English} {
			c.ToVector(s, 0, nil)
			q, _ := c.WebToQuery(s, nil)
			c.Headline(s, q, DefaultHeadline, nil)
			c.PhraseToQuery(s, nil)
		}
	})
}

func TestStem(t *testing.T) {
	for _, c := range []struct {
		cfg      Config
		in, want string
	}{
		{English, "running", "run"}, {English, "nationalization", "nation"}, {English, "skies", "sky"}, {English, "by", "by"},
		{French, "continuellement", "continuel"}, {German, "häuser", "haus"}, {Spanish, "corriendo", "corr"},
		{Russian, "шрёдингер", "шредингер"}, {Russian, "книгами", "книг"}, {Turkish, "kitaplar", "kitap"},
		{English, strings.Repeat("s", maxStemmed+1), strings.Repeat("s", maxStemmed+1)},
	} {
		if got := c.cfg.stem(c.in); got != c.want {
			t.Errorf("%s: %s: %s, want %s", c.cfg, c.in, got, c.want)
		}
	}
}

// FuzzStem gives every stemmer any word.
func FuzzStem(f *testing.F) {
	for _, w := range []string{"", "a", "'s", "ï", "ёё", "யயய", "ية", "ığ", strings.Repeat("ation", 200)} {
		f.Add(w)
	}
	f.Fuzz(func(t *testing.T, w string) {
		if !utf8.ValidString(w) {
			t.Skip()
		}
		for c := range Configs() {
			if s := c.Lexize(w); len(s) == 1 && !utf8.ValidString(s[0]) {
				t.Errorf("%s: %q becomes %q", c, w, s[0])
			}
		}
	})
}
