package casts

import (
	"strings"

	"github.com/lichendb/lichen/internal/sql/hstore"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// addExtensionCasts adds the casts from and to the types of extensions. Those between them and jsonb or arrays that are
// functions in SQL go through the text of the value here.
func addExtensionCasts(add castAdder) {
	const i, a, e = types.CastImplicit, types.CastAssignment, types.CastExplicit
	add(types.Citext, i, 'b', castCitextText, types.Text, types.Varchar)
	add(types.Citext, a, 'b', castCitextText, types.Bpchar)
	add(types.Text, a, 'b', castCitext, types.Citext)
	add(types.Varchar, a, 'b', castCitext, types.Citext)
	add(types.Bpchar, a, 'f', castBpcharCitext, types.Citext)
	add(types.Bool, a, 'f', asCitext(castBoolText), types.Citext)
	add(types.Inet, a, 'f', asCitext(castInetText(types.Inet)), types.Citext)
	add(types.TextArray, e, 'f', castArrayHstore, types.Hstore)
	add(types.Hstore, e, 'f', castHstoreJSON, types.JSON, types.JSONB)
}

func castCitextText(_ *types.FormatContext, d types.Datum, _ *types.T) (types.Datum, error) {
	return types.NewString(d.Str()), nil
}

func castCitext(_ *types.FormatContext, d types.Datum, _ *types.T) (types.Datum, error) {
	return types.NewCitext(d.Str()), nil
}

func castBpcharCitext(_ *types.FormatContext, d types.Datum, _ *types.T) (types.Datum, error) {
	return types.NewCitext(strings.TrimRight(d.Str(), " ")), nil
}

// asCitext makes a citext of the text that a cast yields.
func asCitext(cast types.CastFunc) types.CastFunc {
	return func(fc *types.FormatContext, d types.Datum, _ *types.T) (types.Datum, error) {
		text, err := cast(fc, d, types.Text)
		return types.NewCitext(text.Str()), err
	}
}

// castHstoreJSON makes an object whose values are strings or null.
func castHstoreJSON(fc *types.FormatContext, d types.Datum, to *types.T) (types.Datum, error) {
	text := types.Owned(AppendHstoreJSON(nil, d, fc))
	if err := fc.CountSteps(0); err != nil {
		return types.Null, err
	}
	return typeio.ParseText(to, text, fc)
}

// AppendHstoreJSON appends an hstore as a JSON object whose values are strings or null. It is cut short as fc.Step says.
func AppendHstoreJSON(dst []byte, d types.Datum, fc *types.FormatContext) []byte {
	sep := "{"
	for p := range hstore.All(d.Str()) {
		if fc.Stopped(1) {
			return dst
		}
		dst = append(types.AppendJSONString(append(dst, sep...), p.Key, fc), ": "...)
		if p.Null {
			dst = append(dst, "null"...)
		} else {
			dst = types.AppendJSONString(dst, p.Value, fc)
		}
		sep = ", "
	}
	if sep == "{" {
		dst = append(dst, '{')
	}
	return append(dst, '}')
}

// castArrayHstore makes an hstore of keys and values in turn, or of an array of pairs.
func castArrayHstore(fc *types.FormatContext, d types.Datum, _ *types.T) (types.Datum, error) {
	dims := d.ArrayDims()
	fail := func(text string) (types.Datum, error) {
		return types.Null, pgerr.New(pgerr.ArraySubscriptError, "%s", text)
	}
	switch {
	case len(dims) > 2:
		return fail("wrong number of array subscripts")
	case len(dims) == 2 && dims[1].Len != 2:
		return fail("array must have two columns")
	case len(dims) == 1 && dims[0].Len%2 != 0:
		return fail("array must have even number of elements")
	}
	var pairs []hstore.Pair
	for i, e := range d.ArrayElems() {
		if err := fc.CountSteps(1); err != nil {
			return types.Null, err
		}
		switch {
		case i%2 == 1:
			p := &pairs[len(pairs)-1]
			p.Value, p.Null = e.Str(), e.IsNull()
		case e.IsNull():
			return types.Null, pgerr.New(pgerr.NullValueNotAllowed, "null value not allowed for hstore key")
		default:
			pairs = append(pairs, hstore.Pair{Key: e.Str()})
		}
	}
	s, err := hstore.Build(pairs)
	return types.NewHstore(s), err
}
