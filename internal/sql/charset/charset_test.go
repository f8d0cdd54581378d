package charset

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// converted calls f for all encodings that have a table.
func converted(f func(e *Encoding)) {
	for id := 0; ByID(id) != nil; id++ {
		if e := ByID(id); e.Supported() && !e.Plain() {
			f(e)
		}
	}
}

// TestDecodeIsUTF8 checks C1 for all texts of two bytes.
func TestDecodeIsUTF8(t *testing.T) {
	converted(func(e *Encoding) {
		for i := range 1 << 16 {
			text := []byte{byte(i >> 8), byte(i)}
			u, err := e.Decode(nil, text, nil)
			switch code := pgerr.CodeOf(err); {
			case err == nil && (!utf8.Valid(u) || len(u) < 1):
				t.Fatalf("%s: % x is %q", e.Name, text, u)
			case err != nil && code != pgerr.CharacterNotInRepertoire && code != pgerr.UntranslatableCharacter:
				t.Fatalf("%s: % x: %v", e.Name, text, err)
			}
		}
	})
}

// TestRoundTrip checks C2 for all characters of the first plane.
func TestRoundTrip(t *testing.T) {
	converted(func(e *Encoding) {
		n := 0
		for r := rune(1); r < 0x10000; r++ {
			if !utf8.ValidRune(r) {
				continue
			}
			text := []byte(string(r))
			b, err := e.Encode(nil, text, nil)
			if err != nil {
				if pgerr.CodeOf(err) != pgerr.UntranslatableCharacter || string(e.EncodeLossy(nil, text)) != "?" {
					t.Fatalf("%s: %U: %v", e.Name, r, err)
				}
				continue
			}
			n++
			if u, err := e.Decode(nil, b, nil); err != nil || string(u) != string(r) {
				t.Fatalf("%s: %U is % x, which is %q, %v", e.Name, r, b, u, err)
			}
			if len(b) > e.Longest() || e.Whole(append(b, "aaaa"...)) < len(b) || len(b) > 1 && e.Whole(b[:1]) != 0 {
				t.Fatalf("%s: % x is not one character", e.Name, b)
			}
		}
		if n < 170 {
			t.Errorf("%s has %d characters", e.Name, n)
		}
	})
}

func TestNames(t *testing.T) {
	for name, want := range map[string]string{
		"latin1": "LATIN1", "ISO-8859-1": "LATIN1", "Shift_JIS": "SJIS", "windows-1252": "WIN1252", "koi8": "KOI8R", "Unicode": "UTF8",
	} {
		if e := Find(name); e == nil || e.Name != want || ByID(e.ID) != e {
			t.Errorf("%s: %+v", name, e)
		}
	}
	if Find("") != nil || Find("latin11") != nil || ByID(-1) != nil || ByID(42) != nil {
		t.Error("there are encodings that there are not")
	}
	if e := Find("johab"); e.Supported() {
		t.Error("JOHAB has no table")
	} else if _, err := e.DecodeString("a", nil); pgerr.CodeOf(err) != pgerr.FeatureNotSupported {
		t.Error(err)
	}
}

// TestPieces checks that texts are converted in pieces as they are whole, and that a cancelled
// statement ends the conversion.
func TestPieces(t *testing.T) {
	converted(func(e *Encoding) {
		char := "é"
		if _, err := e.EncodeString(char, nil); err != nil {
			char = "я"
		}
		one, err := e.EncodeString("a"+char, nil)
		if err != nil {
			return
		}
		const n = types.StepBytes
		u := strings.Repeat("a"+char, n) + "a"
		b, err := e.EncodeString(u, nil)
		if err != nil || b != strings.Repeat(one, n)+"a" {
			t.Fatalf("%s: %d bytes, %v", e.Name, len(b), err)
		}
		if back, err := e.DecodeString(b, nil); err != nil || back != u {
			t.Fatalf("%s: %d bytes, %v", e.Name, len(back), err)
		}
		stopped := errors.New("stopped")
		fc := &types.FormatContext{Step: func(int) error { return stopped }}
		if _, err := e.EncodeString(u, fc); !errors.Is(err, stopped) {
			t.Errorf("%s: %v", e.Name, err)
		}
		if _, err := e.DecodeString(b, fc); !errors.Is(err, stopped) {
			t.Errorf("%s: %v", e.Name, err)
		}
	})
}
