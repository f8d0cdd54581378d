package collation

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
)

// syllables are ordered as one by some locale, have marks, or are what surrounds those.
var syllables = []string{
	"a", "A", "b", "c", "cs", "ccs", "d", "dz", "dzs", "ddzs", "ch", "Ch", "ll", "l·l", "nj", "lj", "dž", "aa", "AA", "ae", "å", "ä", "é", "e\u0301", "x\u0323\u0307",
	"g", "gb", "ng", "rh", "sh", "ß", "ij", "IJ", "1", "12", "007", " ", "-", ", ", "\u00ad", "\t", "\u0001", "и", "и\u0306", "ї", "א", "ب", "เ", "ก", "แม", "中", "か", "が", "ー", "한", "\u1112\u1161\u11ab", "क", "क्ष", "😀",
}

func longText(rng *rand.Rand, of []string) string {
	var b strings.Builder
	for b.Len() < 3*LongText/2 {
		b.WriteString(of[rng.IntN(len(of))])
	}
	return b.String()
}

// Texts are cut only where their key is that of the pieces, put together.
func TestLongKeys(t *testing.T) {
	for _, locale := range []string{
		"und", "C", "en", "hu", "cs", "hr", "da", "cy", "es-u-co-trad", "sq", "fr-CA", "th", "ja", "zh", "ko", "hi", "mt", "yo", "ca",
		"sv-u-ks-level1", "sv-u-ks-level2", "de-u-ks-level1-kc", "de-u-ks-level2-kc", "de-u-ks-level4", "de-u-ks-identic", "de-u-kn-true", "de-u-kb-ks-level2", "de-u-ka-shifted-ks-level4",
	} {
		r, rng := mustOf(t, locale), rand.New(rand.NewPCG(1, 2))
		for i, s := range []string{longText(rng, syllables), longText(rng, syllables[:20]), longText(rng, []string{"x"}), longText(rng, []string{"9"})} {
			pieces, ties := 0, i%2 == 0
			key, err := r.LongKey(s, ties, func(int) error { pieces++; return nil })
			if err != nil || !bytes.Equal(key, r.Key(nil, s, ties)) {
				t.Errorf("%s: the key of %.20q… differs; %v", locale, s, err)
			}
			if whole := r == ascii || r.whole || s[0] == '9' && strings.Contains(locale, "kn"); (pieces == 1) != whole {
				t.Errorf("%s: %.20q… is cut into %d pieces", locale, s, pieces)
			}
		}
	}
}

func TestLongKeyStops(t *testing.T) {
	stop := errors.New("stop")
	if _, err := mustOf(t, "en").LongKey(strings.Repeat("x", LongText), true, func(int) error { return stop }); !errors.Is(err, stop) {
		t.Error(err)
	}
}

func BenchmarkLongKey(b *testing.B) {
	r, err := Of("en")
	if err != nil {
		b.Fatal(err)
	}
	s := strings.Repeat("Hello wörld 12 ", 10_000)
	none := func(int) error { return nil }
	b.SetBytes(int64(len(s)))
	for b.Loop() {
		_, _ = r.LongKey(s, true, none)
	}
}
