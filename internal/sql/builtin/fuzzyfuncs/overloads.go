package fuzzyfuncs

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

const extension = "fuzzystrmatch"

// Overloads declares the functions.
func Overloads() []*call.Overload {
	all := []*call.Overload{
		call.Fn("soundex(text) text", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			s, err := soundex(c, a[0].Str())
			return types.NewString(s), err
		}),
		call.Fn("text_soundex(text) text", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			s, err := soundex(c, a[0].Str())
			return types.NewString(s), err
		}),
		call.Fn("difference(text,text) int4", difference),
		call.Fn("levenshtein(text,text) int4", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			return distance(c, a, costs{1, 1, 1})
		}),
		call.Fn("levenshtein(text,text,int4,int4,int4) int4", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			return distance(c, a, costsOf(a))
		}),
		call.Fn("levenshtein_less_equal(text,text,int4) int4", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			return bounded(c, a, costs{1, 1, 1}, a[2].Int())
		}),
		call.Fn("levenshtein_less_equal(text,text,int4,int4,int4,int4) int4", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			return bounded(c, a, costsOf(a), a[5].Int())
		}),
		call.Fn("metaphone(text,int4) text", unsupported("metaphone")),
		call.Fn("dmetaphone(text) text", unsupported("dmetaphone")),
		call.Fn("dmetaphone_alt(text) text", unsupported("dmetaphone_alt")),
	}
	for _, o := range all {
		o.Extension = extension
	}
	return all
}

// unsupported is a function of the extension that there is not.
func unsupported(name string) call.EvalFunc {
	return func(*call.Context, []types.Datum) (types.Datum, error) {
		return types.Null, pgerr.Unsupported("function %s is not supported", name)
	}
}
