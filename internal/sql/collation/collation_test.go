package collation

import (
	"bytes"
	"errors"
	"hash/fnv"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/lichendb/lichen/internal/sql/pgerr"
)

func mustOf(t testing.TB, locale string) *Rules {
	t.Helper()
	r, err := Of(locale)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestOrder compares with what PostgreSQL 15 with ICU 72 answers.
func TestOrder(t *testing.T) {
	for locale, want := range map[string]string{
		"und":                     "_ - 1 10 2 a A å ä Ä a-b ab æ az č ch cz d l ll lz n ñ nz o ö ø oe ss ß ü y z Z ž",
		"de":                      "_ - 1 10 2 a A å ä Ä a-b ab æ az č ch cz d l ll lz n ñ nz o ö ø oe ss ß ü y z Z ž",
		"de-u-co-phonebk":         "_ - 1 10 2 a A å a-b ab æ ä Ä az č ch cz d l ll lz n ñ nz o ø oe ö ss ß ü y z Z ž",
		"sv":                      "_ - 1 10 2 a A a-b ab az č ch cz d l ll lz n ñ nz o oe ss ß y ü z Z ž å ä Ä æ ö ø",
		"es":                      "_ - 1 10 2 a A å ä Ä a-b ab æ az č ch cz d l ll lz n nz ñ o ö ø oe ss ß ü y z Z ž",
		"cs":                      "_ - 1 10 2 a A å ä Ä a-b ab æ az cz č d ch l ll lz n ñ nz o ö ø oe ss ß ü y z Z ž",
		"und-u-kn-true":           "_ - 1 2 10 a A å ä Ä a-b ab æ az č ch cz d l ll lz n ñ nz o ö ø oe ss ß ü y z Z ž",
		"und-u-ka-shifted":        "- _ 1 10 2 a A å ä Ä a-b ab æ az č ch cz d l ll lz n ñ nz o ö ø oe ss ß ü y z Z ž",
		"und-u-ks-level2":         "_ - 1 10 2 A a å Ä ä a-b ab æ az č ch cz d l ll lz n ñ nz o ö ø oe ss ß ü y Z z ž",
		"tr":                      "a ç h ı I i İ j",
		"da":                      "y ü z æ ä ø ö å",
		"nb":                      "a z æ ø å",
		"nb-NO":                   "a z æ ø å",
		"bs":                      "c cz č ć d",
		"gl-ES":                   "n nz ñ o",
		"sr-Latn-RS":              "c cz č ć d",
		"de-AT":                   "a ä b",
		"zh":                      "北 上 中",
		"hr":                      "c č ć d dž đ e l lj m n nj o s š z ž",
		"fr-CA":                   "cote côte coté côté",
		"hu":                      "c cs d dz dzs e gy h ly m ny o ö ő p",
		"lt":                      "a ą c č i y j s š z ž",
		"und-u-kc-true-ks-level1": "a A b",
	} {
		r := mustOf(t, locale)
		words := strings.Fields(want)
		got := slices.Clone(words)
		slices.Reverse(got)
		slices.SortFunc(got, func(a, b string) int { return bytes.Compare(r.Key(nil, a, true), r.Key(nil, b, true)) })
		if !slices.Equal(got, words) {
			t.Errorf("%s:\n got %s\nwant %s", locale, strings.Join(got, " "), want)
		}
	}
}

// TestKeys checks invariant 1: keys with ties broken differ for different strings and order as
// those without do.
func TestKeys(t *testing.T) {
	locales := []string{"und", "de", "sv", "tr", "und-u-ks-level1", "und-u-ka-shifted", "ja"}
	rapid.Check(t, func(t *rapid.T) {
		r, err := Of(rapid.SampledFrom(locales).Draw(t, "locale"))
		if err != nil {
			t.Fatal(err)
		}
		letters := rapid.StringOfN(rapid.SampledFrom([]rune("aAäÄbz -_1é́ß中\u0301")), 0, 6, -1)
		a, b := letters.Draw(t, "a"), letters.Draw(t, "b")
		loose := bytes.Compare(r.Key(nil, a, false), r.Key(nil, b, false))
		want := loose
		if loose == 0 {
			want = strings.Compare(a, b)
		}
		if got := bytes.Compare(r.Key(nil, a, true), r.Key(nil, b, true)); got != want {
			t.Fatalf("%q and %q: %d, want %d", a, b, got, want)
		}
	})
}

func TestEquality(t *testing.T) {
	for _, c := range []struct {
		locale, a, b string
		same         bool
	}{
		{"und-u-ks-level2", "Ä", "ä", true}, {"und-u-ks-level2", "a", "ä", false},
		{"und-u-ks-level1", "a", "Ä", true}, {"und", "a", "A", false},
		{"und", "\u00e9", "e\u0301", true}, // one letter, and two that make it
	} {
		r := mustOf(t, c.locale)
		if same := bytes.Equal(r.Key(nil, c.a, false), r.Key(nil, c.b, false)); same != c.same {
			t.Errorf("%s: %q = %q is %v", c.locale, c.a, c.b, same)
		}
	}
}

func TestCase(t *testing.T) {
	upper, lower, title := (*Rules).Upper, (*Rules).Lower, (*Rules).Title
	for _, tc := range []struct {
		locale  string
		in      func(*Rules, string, func(int) error) (string, error)
		s, want string
	}{
		{"tr", upper, "iı", "İI"}, {"tr", lower, "Iİ", "ıi"}, {"de", upper, "straße", "STRASSE"},
		{"el", lower, "ΟΔΟΣ", "οδος"}, {"en", title, "hello WORLD", "Hello World"},
		{"C", upper, "aäz", "AäZ"}, {"C", lower, "AÄZ", "aÄz"}, {"C", title, "hello WORLD2x", "Hello World2x"},
	} {
		r, steps := mustOf(t, tc.locale), 0
		count := func(n int) error { steps += n; return nil }
		if got, err := tc.in(r, tc.s, count); got != tc.want || err != nil {
			t.Errorf("%s: %q becomes %q, %v", tc.locale, tc.s, got, err)
		}
		const times = 40000
		long := strings.Repeat("."+tc.s+" ", times)
		got, err := tc.in(r, long, count)
		if got != strings.Repeat("."+tc.want+" ", times) || err != nil || steps < len(long)-2*pieceBytes {
			t.Errorf("%s: a long text of %q differs; %v, steps %d of %d", tc.locale, tc.s, err, steps, len(long))
		}
		stop := errors.New("stop")
		left := 2
		_, err = tc.in(r, long, func(int) error {
			if left--; left == 0 {
				return stop
			}
			return nil
		})
		if !errors.Is(err, stop) || left != 0 {
			t.Errorf("%s: the second step of %q ended with %v and %d more", tc.locale, tc.s, err, -left)
		}
	}
}

// TestCaseOfWords changes texts whose words end anywhere, and such without an end of a word.
func TestCaseOfWords(t *testing.T) {
	none := func(int) error { return nil }
	const words = 3000
	for n := range 20 {
		first := strings.Repeat("x", n)
		for _, tc := range []struct{ word, want string }{{"ΟΔΟΣ ", "οδος "}, {"ΣΑΣ-", "σας-"}, {"ΣΣ'", "σσ'"}} {
			got, err := mustOf(t, "el").Lower(first+strings.Repeat(tc.word, words)+"Α", none)
			want := first + strings.Repeat(tc.want, words) + "α"
			if got != want || err != nil {
				t.Errorf("%d, %q: differs; %v", n, tc.word, err)
			}
		}
		long := strings.Repeat("é", 10000+n)
		if got, err := mustOf(t, "en").Title("a "+long+" b", none); got != "A É"+long[2:]+" B" || err != nil {
			t.Errorf("a long word: %.20q, %v", got, err)
		}
		if got, err := mustOf(t, "tr").Upper(strings.Repeat("i", 10000+n), none); got != strings.Repeat("İ", 10000+n) || err != nil {
			t.Errorf("a long word in upper case: %.20q, %v", got, err)
		}
	}
}

func TestRefused(t *testing.T) {
	for locale, code := range map[string]pgerr.Code{
		"not a locale": pgerr.InvalidParameterValue, "de-u-kf-upper": pgerr.FeatureNotSupported, "und-u-kr-grek": pgerr.FeatureNotSupported,
	} {
		if _, err := Of(locale); pgerr.CodeOf(err) != code {
			t.Errorf("%s: %v", locale, err)
		}
	}
}

func TestConcurrent(t *testing.T) {
	r := mustOf(t, "sv")
	want := r.Key(nil, "åäö", true)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				if !bytes.Equal(r.Key(nil, "åäö", true), want) {
					t.Error("another key")
				}
			}
		})
	}
	wg.Wait()
}

func BenchmarkKey(b *testing.B) {
	r := mustOf(b, "de")
	var buf []byte
	for b.Loop() {
		buf = r.Key(buf[:0], "Straßenbahnhaltestelle", true)
	}
}

// TestStableKeys notices when another version of x/text makes other keys: indexes hold them,
// so that such a change needs Version to differ and indexes to be built again.
func TestStableKeys(t *testing.T) {
	h := fnv.New64a()
	for _, locale := range []string{"und", "de", "sv", "nb", "cs", "tr", "ja", "zh", "und-u-ks-level2", "und-u-kn-true"} {
		for _, s := range []string{"", "a", "Ä", "ß", "ch", "Øl", "İ", "10", "a-b", "中", "あ", "ж", "e\u0301"} {
			h.Write(mustOf(t, locale).Key(nil, s, true))
		}
	}
	if got := h.Sum64(); got != stableKeys {
		t.Errorf("keys hash to %#x, not %#x", got, uint64(stableKeys))
	}
}

const stableKeys = 0xce87ddfc45289fe7
