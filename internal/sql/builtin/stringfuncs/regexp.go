package stringfuncs

import (
	"unicode/utf8"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/pgregexp"
	"github.com/lichendb/lichen/internal/sql/types"
)

// regexpOperator declares one of ~ ~* !~ !~*.
func regexpOperator(sig string, negate, fold bool) *call.Overload {
	flags := pgregexp.Flags{Fold: fold}
	return call.OpBind(sig, func(b call.Binding) (call.EvalFunc, error) {
		if p, ok := b.Const(1); ok {
			re, err := pgregexp.Compile(p.Str(), flags)
			if err != nil {
				return nil, err
			}
			return func(c *call.Context, a []types.Datum) (types.Datum, error) {
				ok, err := re.Match(c, a[0].Str())
				return types.NewBool(ok != negate), err
			}, nil
		}
		return func(c *call.Context, a []types.Datum) (types.Datum, error) {
			re, err := c.Regexp(a[1].Str(), flags)
			if err != nil {
				return types.Null, err
			}
			ok, err := re.Match(c, a[0].Str())
			return types.NewBool(ok != negate), err
		}, nil
	})
}

// submatches returns the captured groups as text, the whole match if the
// expression has none.
func submatches(s string, m []int) []types.Datum {
	if len(m) > 2 {
		m = m[2:]
	}
	ds := make([]types.Datum, len(m)/2)
	for i := range ds {
		if m[2*i] >= 0 {
			ds[i] = types.NewString(s[m[2*i]:m[2*i+1]])
		}
	}
	return ds
}

// regexpArgs compiles args[1] with the flags of args[flagArg], if there is one.
// A function that takes the first match only refuses the g flag.
func regexpArgs(c *call.Context, a []types.Datum, flagArg int, name, instead string) (*pgregexp.Regexp, pgregexp.Flags, error) {
	var flags pgregexp.Flags
	var err error
	if flagArg < len(a) {
		if flags, err = pgregexp.ParseFlags(a[flagArg].Str(), flags); err != nil {
			return nil, flags, err
		}
	}
	if flags.Global && name != "" {
		e := pgerr.New(pgerr.InvalidParameterValue, "%s does not support the \"global\" option", name)
		if instead != "" {
			e = e.WithHint("Use the %s function instead.", instead)
		}
		return nil, flags, e
	}
	re, err := c.Regexp(a[1].Str(), flags)
	return re, flags, err
}

func regexpFunctions() []*call.Overload {
	return []*call.Overload{
		call.Fn("similar_to_escape(text) text", similarToEscape), call.Fn("similar_to_escape(text,text) text", similarToEscape),
		call.Fn("similar_escape(text,text) text", similarEscape).NonStrict(),
		call.Fn("like_escape(text,text) text", likeEscape(false)), call.Fn("like_escape(bytea,bytea) bytea", likeEscape(true)),
		call.Fn("regexp_match(text,text) _text", regexpMatch), call.Fn("regexp_match(text,text,text) _text", regexpMatch),
		call.SRF("regexp_matches(text,text) setof _text", regexpMatches), call.SRF("regexp_matches(text,text,text) setof _text", regexpMatches),
		call.Fn("regexp_replace(text,text,text) text", regexpReplaceFlags), call.Fn("regexp_replace(text,text,text,text) text", regexpReplaceFlags),
		call.Fn("regexp_replace(text,text,text,int4) text", regexpReplaceNth), call.Fn("regexp_replace(text,text,text,int4,int4) text", regexpReplaceNth),
		call.Fn("regexp_replace(text,text,text,int4,int4,text) text", regexpReplaceNth),
		call.Fn("regexp_split_to_array(text,text) _text", regexpSplitArray), call.Fn("regexp_split_to_array(text,text,text) _text", regexpSplitArray),
		call.SRF("regexp_split_to_table(text,text) setof text", regexpSplitTable), call.SRF("regexp_split_to_table(text,text,text) setof text", regexpSplitTable),
		call.Fn("regexp_like(text,text) bool", regexpLike), call.Fn("regexp_like(text,text,text) bool", regexpLike),
		call.Fn("regexp_count(text,text) int4", regexpCount), call.Fn("regexp_count(text,text,int4) int4", regexpCount), call.Fn("regexp_count(text,text,int4,text) int4", regexpCount),
		call.Fn("regexp_instr(text,text) int4", regexpInstr), call.Fn("regexp_instr(text,text,int4) int4", regexpInstr), call.Fn("regexp_instr(text,text,int4,int4) int4", regexpInstr),
		call.Fn("regexp_instr(text,text,int4,int4,int4) int4", regexpInstr), call.Fn("regexp_instr(text,text,int4,int4,int4,text) int4", regexpInstr),
		call.Fn("regexp_instr(text,text,int4,int4,int4,text,int4) int4", regexpInstr),
		call.Fn("regexp_substr(text,text) text", regexpSubstr), call.Fn("regexp_substr(text,text,int4) text", regexpSubstr), call.Fn("regexp_substr(text,text,int4,int4) text", regexpSubstr),
		call.Fn("regexp_substr(text,text,int4,int4,text) text", regexpSubstr), call.Fn("regexp_substr(text,text,int4,int4,text,int4) text", regexpSubstr),
		call.Fn("substring(text,text) text", substringRegexp), call.Fn("substring(text,text,text) text", substringSimilar),
	}
}

func regexpMatch(c *call.Context, a []types.Datum) (types.Datum, error) {
	re, _, err := regexpArgs(c, a, 2, "regexp_match()", "regexp_matches")
	if err != nil {
		return types.Null, err
	}
	m, err := re.Find(c, a[0].Str())
	if m == nil {
		return types.Null, err
	}
	return types.NewArray(submatches(a[0].Str(), m)), nil
}

func regexpMatches(c *call.Context, a []types.Datum) (call.RowIterator, error) {
	re, flags, err := regexpArgs(c, a, 2, "", "")
	if err != nil {
		return nil, err
	}
	var rows []types.Datum
	err = re.Each(c, a[0].Str(), 0, func(m []int) bool {
		rows = append(rows, types.NewArray(submatches(a[0].Str(), m)))
		return flags.Global
	})
	return call.NewColumn(rows), err
}

// appendReplacement expands \1..\9, \& and \\ in a replacement text.
func appendReplacement(dst []byte, repl, s string, m []int) []byte {
	for i := 0; i < len(repl); i++ {
		if repl[i] != '\\' || i+1 == len(repl) {
			dst = append(dst, repl[i])
			continue
		}
		i++
		group := -1
		switch c := repl[i]; {
		case c == '&':
			group = 0
		case c >= '1' && c <= '9':
			group = int(c - '0')
		case c == '\\':
			dst = append(dst, '\\')
			continue
		default:
			dst = append(dst, '\\', c)
			continue
		}
		if 2*group+1 < len(m) && m[2*group] >= 0 {
			dst = append(dst, s[m[2*group]:m[2*group+1]]...)
		}
	}
	return dst
}

// replaceMatches replaces the nth match from start on, or all for n = 0.
func replaceMatches(c *call.Context, re *pgregexp.Regexp, s, repl string, start, n int) (types.Datum, error) {
	var out []byte
	at, seen := 0, 0
	reserved := 2 * len(s) // by the caller, if that is much
	var reserveErr error
	err := re.Each(c, s, start, func(m []int) bool {
		seen++
		if n != 0 && seen != n {
			return true
		}
		out = append(out, s[at:m[0]]...)
		out = appendReplacement(out, repl, s, m)
		at = m[1]
		if len(out) > reserved {
			reserveErr = c.Reserve(len(out))
			reserved += len(out)
		}
		return reserveErr == nil && n == 0 && len(out) <= call.MaxStringLen
	})
	if err == nil {
		err = reserveErr
	}
	if err != nil {
		return types.Null, err
	}
	if len(out)+len(s)-at > call.MaxStringLen {
		return types.Null, call.Fail(call.ErrTooLong)
	}
	return call.Text(string(append(out, s[at:]...)))
}

func regexpReplaceFlags(c *call.Context, a []types.Datum) (types.Datum, error) {
	if len(a) == 4 && a[3].Str() != "" && a[3].Str()[0] >= '0' && a[3].Str()[0] <= '9' {
		return types.Null, pgerr.New(pgerr.InvalidParameterValue, "invalid regular expression option: \"%s\"", a[3].Str()[:1]).
			WithHint("If you meant to use regexp_replace() with a start parameter, cast the fourth argument to integer explicitly.")
	}
	re, flags, err := regexpArgs(c, a, 3, "", "")
	if err != nil {
		return types.Null, err
	}
	n := 1
	if flags.Global {
		n = 0
	}
	return replaceMatches(c, re, a[0].Str(), a[2].Str(), 0, n)
}

// positive checks a start or count parameter, least being 0 or 1.
func positive(name string, v, least int64) error {
	if v < least {
		return pgerr.New(pgerr.InvalidParameterValue, "invalid value for parameter \"%s\": %d", name, v)
	}
	return nil
}

// startOffset turns argument i, a start position in characters, into a byte
// offset; ok is false when it lies behind the end.
func startOffset(c *call.Context, a []types.Datum, i int) (offset int, ok bool, err error) {
	if i >= len(a) {
		return 0, true, nil
	}
	n := a[i].Int()
	if err := positive("start", n, 1); err != nil {
		return 0, false, err
	}
	s := a[0].Str()
	if n > int64(runeCount(c, s))+1 {
		return len(s), false, nil
	}
	return byteOffset(c, s, int(n-1)), true, nil
}

func regexpReplaceNth(c *call.Context, a []types.Datum) (types.Datum, error) {
	start, ok, err := startOffset(c, a, 3)
	if err != nil {
		return types.Null, err
	}
	n := call.IntArg(a, 4, 1)
	if err := positive("n", n, 0); err != nil {
		return types.Null, err
	}
	re, flags, err := regexpArgs(c, a, 5, "", "")
	if err != nil {
		return types.Null, err
	}
	if len(a) < 5 && flags.Global {
		n = 0
	}
	if !ok {
		return a[0], nil
	}
	return replaceMatches(c, re, a[0].Str(), a[2].Str(), start, int(n))
}

func regexpSplit(c *call.Context, a []types.Datum, name string) ([]types.Datum, error) {
	re, _, err := regexpArgs(c, a, 2, name, "")
	if err != nil {
		return nil, err
	}
	s := a[0].Str()
	var parts []types.Datum
	at, lastEnd := 0, 0
	err = re.Each(c, s, 0, func(m []int) bool {
		// Empty matches at the ends and next to another match do not split.
		if m[0] < len(s) && m[1] > lastEnd {
			parts = append(parts, types.NewString(s[at:m[0]]))
			at = m[1]
		}
		lastEnd = m[1]
		return true
	})
	return append(parts, types.NewString(s[at:])), err
}

func regexpSplitArray(c *call.Context, a []types.Datum) (types.Datum, error) {
	parts, err := regexpSplit(c, a, "regexp_split_to_array()")
	if err != nil {
		return types.Null, err
	}
	return types.EncodeArray([]types.ArrayDim{{Len: int32(len(parts)), Lower: 1}}, parts, c.Format), nil
}

func regexpSplitTable(c *call.Context, a []types.Datum) (call.RowIterator, error) {
	parts, err := regexpSplit(c, a, "regexp_split_to_table()")
	if err != nil {
		return nil, err
	}
	return call.NewColumn(parts), nil
}

func regexpLike(c *call.Context, a []types.Datum) (types.Datum, error) {
	re, _, err := regexpArgs(c, a, 2, "regexp_like()", "")
	if err != nil {
		return types.Null, err
	}
	return call.BoolOf(re.Match(c, a[0].Str()))
}

func regexpCount(c *call.Context, a []types.Datum) (types.Datum, error) {
	start, ok, err := startOffset(c, a, 2)
	if err != nil {
		return types.Null, err
	}
	re, _, err := regexpArgs(c, a, 3, "regexp_count()", "")
	if err != nil {
		return types.Null, err
	}
	n := int64(0)
	if ok {
		err = re.Each(c, a[0].Str(), start, func([]int) bool { n++; return true })
	}
	return call.IntOf(n, err)
}

// findNth finds the match and the group that regexp_instr and regexp_substr
// ask for; from is -1 when there is none.
func findNth(c *call.Context, a []types.Datum, flagArg int, name string) (from, to int, err error) {
	start, ok, err := startOffset(c, a, 2)
	if err != nil {
		return 0, 0, err
	}
	n, group := call.IntArg(a, 3, 1), call.IntArg(a, flagArg+1, 0)
	if err := positive("n", n, 1); err != nil {
		return 0, 0, err
	}
	if flagArg == 5 {
		if end := call.IntArg(a, 4, 0); end != 0 && end != 1 {
			return 0, 0, pgerr.New(pgerr.InvalidParameterValue, "invalid value for parameter \"endoption\": %d", end)
		}
	}
	if err := positive("subexpr", group, 0); err != nil {
		return 0, 0, err
	}
	re, _, err := regexpArgs(c, a, flagArg, name, "")
	if err != nil || !ok {
		return -1, -1, err
	}
	m, err := re.Nth(c, a[0].Str(), start, int(n))
	if err != nil || 2*group+1 >= int64(len(m)) {
		return -1, -1, err
	}
	return m[2*group], m[2*group+1], nil
}

func regexpInstr(c *call.Context, a []types.Datum) (types.Datum, error) {
	from, to, err := findNth(c, a, 5, "regexp_instr()")
	if err != nil || from < 0 {
		return types.NewInt(0), err
	}
	if call.IntArg(a, 4, 0) == 1 {
		from = to
	}
	return types.NewInt(int64(utf8.RuneCountInString(a[0].Str()[:from])) + 1), nil
}

func regexpSubstr(c *call.Context, a []types.Datum) (types.Datum, error) {
	from, to, err := findNth(c, a, 4, "regexp_substr()")
	if err != nil || from < 0 {
		return types.Null, err
	}
	return call.Text(a[0].Str()[from:to])
}

// substringMatch returns the first group of the first match, or all of it.
func substringMatch(c *call.Context, re *pgregexp.Regexp, s string) (types.Datum, error) {
	m, err := re.Find(c, s)
	if m == nil {
		return types.Null, err
	}
	return submatches(s, m)[0], nil
}

func substringRegexp(c *call.Context, a []types.Datum) (types.Datum, error) {
	re, err := c.Regexp(a[1].Str(), pgregexp.Flags{})
	if err != nil {
		return types.Null, err
	}
	return substringMatch(c, re, a[0].Str())
}

// substringSimilar is SUBSTRING(s SIMILAR pattern ESCAPE esc).
func substringSimilar(c *call.Context, a []types.Datum) (types.Datum, error) {
	if err := checkEscape(a[2].Str()); err != nil {
		return types.Null, err
	}
	p, err := similarPattern(c.Format, a[1].Str(), a[2].Str())
	if err != nil {
		return types.Null, err
	}
	re, err := c.Regexp(p, pgregexp.Flags{})
	if err != nil {
		return types.Null, err
	}
	return substringMatch(c, re, a[0].Str())
}
