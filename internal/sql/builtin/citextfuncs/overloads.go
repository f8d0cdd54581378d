package citextfuncs

import (
	"strings"

	"github.com/lichendb/lichen/internal/must"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/builtin/comparefuncs"
	"github.com/lichendb/lichen/internal/sql/builtin/stringfuncs"
	"github.com/lichendb/lichen/internal/sql/types"
)

const extension = "citext"

// texts are functions of texts by their keys.
type texts map[string]*call.Overload

// get returns a function, which there must be.
func (t texts) get(key string) *call.Overload {
	must.True(t[key] != nil, "citextfuncs: there is no %s", key)
	return t[key]
}

// Overloads declares the operators and functions.
func Overloads() []*call.Overload {
	of := texts{}
	for _, o := range stringfuncs.Overloads() {
		of[o.Key()] = o
	}
	all := comparefuncs.SixOperators("citext", "citext", comparefuncs.CompareDatums)
	all = append(all, bytewise()...)
	all = append(all, of.patterns()...)
	all = append(all, of.regexps()...)
	all = append(all, of.strings()...)
	all = append(all, conversions()...)
	for _, o := range all {
		o.Extension = extension
	}
	return all
}

// bytewise are the operators that order texts by their bytes in lower case, which is what the others do here too.
func bytewise() []*call.Overload {
	var all []*call.Overload
	for _, o := range comparefuncs.SixOperators("citext", "citext", comparefuncs.CompareDatums) {
		if o.Name != "=" && o.Name != "<>" {
			o.Name = "~" + o.Name + "~"
			all = append(all, o)
		}
	}
	compare := func(c *call.Context, a []types.Datum) (types.Datum, error) {
		return types.NewInt(int64(comparefuncs.CompareDatums(c, a[0], a[1]))), nil
	}
	extreme := func(sign int) call.EvalFunc {
		return func(c *call.Context, a []types.Datum) (types.Datum, error) {
			if comparefuncs.CompareDatums(c, a[0], a[1])*sign > 0 {
				return a[0], nil
			}
			return a[1], nil
		}
	}
	return append(all,
		call.Fn("citext_cmp(citext,citext) int4", compare), call.Fn("citext_pattern_cmp(citext,citext) int4", compare),
		call.Fn("citext_larger(citext,citext) citext", extreme(1)), call.Fn("citext_smaller(citext,citext) citext", extreme(-1)))
}

// patterns are LIKE and the operators of regular expressions: those of texts without regard to case.
func (t texts) patterns() []*call.Overload {
	var all []*call.Overload
	for name, as := range map[string]string{
		"~~": "~~*", "~~*": "~~*", "!~~": "!~~*", "!~~*": "!~~*", "~": "~*", "~*": "~*", "!~": "!~*", "!~*": "!~*",
	} {
		of := t.get(as + "(text,text)")
		for _, right := range []string{"citext", "text"} {
			o := call.Op("citext "+name+" "+right+" bool", of.Eval)
			o.Bind, o.Test, o.Volatility = of.Bind, of.Test, of.Volatility
			all = append(all, o)
		}
	}
	return all
}

// foldingFlags are the flags of a regular expression that ignores case unless they say otherwise.
func foldingFlags(flags string) types.Datum {
	if !strings.Contains(flags, "c") {
		flags += "i"
	}
	return types.NewString(flags)
}

// regexps are the functions of regular expressions, with and without flags.
func (t texts) regexps() []*call.Overload {
	var all []*call.Overload
	for _, f := range []struct{ name, more, ret string }{
		{"regexp_match", "", "_text"}, {"regexp_matches", "", "_text"}, {"regexp_replace", ",text", "text"},
		{"regexp_split_to_array", "", "_text"}, {"regexp_split_to_table", "", "text"},
	} {
		of := t.get(f.name + "(text,text" + f.more + ",text)")
		flagsAt := len(of.Args) - 1
		args := func(a []types.Datum) []types.Datum {
			flags := ""
			if len(a) > flagsAt {
				flags = a[flagsAt].Str()
			}
			return append(a[:flagsAt:flagsAt], foldingFlags(flags))
		}
		for _, given := range []string{"", ",text"} {
			sig := f.name + "(citext,citext" + f.more + given + ") " + f.ret
			if of.IsSRF() {
				all = append(all, call.SRF(sig, func(c *call.Context, a []types.Datum) (call.RowIterator, error) { return of.SRF(c, args(a)) }))
				continue
			}
			all = append(all, call.Fn(sig, func(c *call.Context, a []types.Datum) (types.Datum, error) { return of.Eval(c, args(a)) }))
		}
	}
	return all
}

// quoted is a text as a regular expression, by which PostgreSQL's functions of citext search for it.
func quoted(s string) types.Datum {
	var b strings.Builder
	for _, r := range s {
		if r < 0x80 && strings.ContainsRune(`.*+?|[](){}^$\-`, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return types.NewString(b.String())
}

// strings are the other functions of texts that search.
func (t texts) strings() []*call.Overload {
	replace, split := t.get("regexp_replace(text,text,text,text)"), t.get("regexp_split_to_array(text,text,text)")
	position, translate := t.get("strpos(text,text)"), t.get("translate(text,text,text)")
	fold := func(d types.Datum) types.Datum { return types.NewString(types.FoldCitext(d.Str())) }
	return []*call.Overload{
		call.Fn("replace(citext,citext,citext) text", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			return replace.Eval(c, []types.Datum{a[0], quoted(a[1].Str()), a[2], types.NewString("gi")})
		}),
		call.Fn("split_part(citext,citext,int4) text", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			parts, err := split.Eval(c, []types.Datum{a[0], quoted(a[1].Str()), types.NewString("i")})
			if err != nil {
				return types.Null, err
			}
			if elems, n := parts.Array().Elems, a[2].Int(); n >= 1 && n <= int64(len(elems)) {
				return elems[n-1], nil
			}
			return types.Null, nil
		}),
		call.Fn("strpos(citext,citext) int4", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			return position.Eval(c, []types.Datum{fold(a[0]), fold(a[1])})
		}),
		call.Fn("translate(citext,citext,text) text", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			once, err := translate.Eval(c, []types.Datum{a[0], fold(a[1]), a[2]})
			if err != nil {
				return types.Null, err
			}
			return translate.Eval(c, []types.Datum{once, types.NewString(strings.ToUpper(a[1].Str())), a[2]})
		}),
	}
}

// conversions are the functions of casts.
func conversions() []*call.Overload {
	return []*call.Overload{
		call.Fn("citext(bpchar) citext", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			return types.NewCitext(strings.TrimRight(a[0].Str(), " ")), nil
		}),
		call.Fn("citext(bool) citext", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			if a[0].Bool() {
				return types.NewCitext("true"), nil
			}
			return types.NewCitext("false"), nil
		}),
		call.FnBind("citext(inet) citext", func(call.Binding) (call.EvalFunc, error) { return inetText, nil }),
	}
}
