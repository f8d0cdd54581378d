package types

import (
	"strings"
	"unicode/utf8"
)

// NewCitext returns a citext: a text that is compared without regard to case.
func NewCitext(s string) Datum { return Datum{fam: CitextFamily, s: s} }

// FoldCitext returns what stands for a citext where it is compared: the text in lower case.
func FoldCitext(s string) string { return strings.ToLower(s) }

// compareCitext orders by the bytes of the texts in lower case.
func compareCitext(a, b string, fc *FormatContext) int {
	n := min(len(a), len(b))
	for i := range n {
		x, y := a[i], b[i]
		if x >= utf8.RuneSelf || y >= utf8.RuneSelf || i == StepBytes {
			return CompareStrings(FoldCitext(a[i:]), FoldCitext(b[i:]), fc)
		}
		if x != y {
			if x, y = lowerASCII(x), lowerASCII(y); x != y {
				return int(x) - int(y)
			}
		}
	}
	return len(a) - len(b)
}

func lowerASCII(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// NewLabels returns a path of labels: a text that package ltree has checked.
func NewLabels(s string) Datum { return Datum{fam: LabelFamily, s: s} }

// NewHstore returns a value of package hstore.
func NewHstore(s string) Datum { return Datum{fam: HstoreFamily, s: s} }
