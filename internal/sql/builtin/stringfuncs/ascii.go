package stringfuncs

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/charset"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// asciiFunctions declares to_ascii.
func asciiFunctions() []*call.Overload {
	return []*call.Overload{
		call.Fn("to_ascii(text) text", func(_ *call.Context, a []types.Datum) (types.Datum, error) { return toASCII(a[0], "UTF8") }),
		call.Fn("to_ascii(text,name) text", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			e := charset.Find(a[1].Str())
			if e == nil {
				return types.Null, pgerr.New(pgerr.UndefinedObject, "%s is not a valid encoding name", a[1].Str())
			}
			return toASCII(a[0], e.Name)
		}),
		call.Fn("to_ascii(text,int4) text", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			e := charset.ByID(int(a[1].Int()))
			if e == nil {
				return types.Null, pgerr.New(pgerr.UndefinedObject, "%d is not a valid encoding code", a[1].Int())
			}
			return toASCII(a[0], e.Name)
		}),
	}
}

// asciiSources are the encodings that to_ascii converts from.
var asciiSources = []string{"LATIN1", "LATIN2", "LATIN9", "WIN1250"}

// toASCII takes the accents off a text in an encoding of one byte. Texts are UTF8 here, so that
// there is nothing to convert but what is ASCII already.
func toASCII(d types.Datum, encoding string) (types.Datum, error) {
	if !slices.Contains(asciiSources, encoding) {
		return types.Null, pgerr.New(pgerr.FeatureNotSupported, "encoding conversion from %s to ASCII not supported", encoding)
	}
	for i := range len(d.Str()) {
		if d.Str()[i] >= 0x80 {
			return types.Null, pgerr.New(pgerr.FeatureNotSupported, "encoding conversion from UTF8 to ASCII not supported")
		}
	}
	return d, nil
}
