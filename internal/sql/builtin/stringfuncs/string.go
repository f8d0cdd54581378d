package stringfuncs

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/builtin/numfuncs"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/pgregexp"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

func stringOperators() []*call.Overload {
	return []*call.Overload{
		call.Op("text || text text", concatText),
		call.OpBind("text || anynonarray text", bindConcatAny).Stable(),
		call.OpBind("anynonarray || text text", bindConcatAny).Stable(),
		call.Op("bytea || bytea bytea", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			s, err := concatenated(c, a)
			return types.NewBytes(s), err
		}),
		call.Op("text ^@ text bool", startsWith),
		call.Op("text ~<~ text bool", byteOrder(func(r int) bool { return r < 0 })),
		call.Op("text ~<=~ text bool", byteOrder(func(r int) bool { return r <= 0 })),
		call.Op("text ~>~ text bool", byteOrder(func(r int) bool { return r > 0 })),
		call.Op("text ~>=~ text bool", byteOrder(func(r int) bool { return r >= 0 })),
	}
}

func byteOrder(holds func(int) bool) call.EvalFunc {
	return func(_ *call.Context, a []types.Datum) (types.Datum, error) {
		return types.NewBool(holds(strings.Compare(a[0].Str(), a[1].Str()))), nil
	}
}

func concatText(c *call.Context, a []types.Datum) (types.Datum, error) {
	s, err := concatenated(c, a)
	return types.NewString(s), err
}

func concatenated(c *call.Context, a []types.Datum) (string, error) {
	l, r := a[0].Str(), a[1].Str()
	switch n := len(l) + len(r); {
	case n > call.MaxStringLen:
		return "", call.Fail(call.ErrTooLong)
	case n <= call.PieceBytes:
		return l + r, nil
	}
	return call.Concat(c, l, r)
}

// bindConcatAny is || between text and a value of another type, which stands
// for its text form.
func bindConcatAny(b call.Binding) (call.EvalFunc, error) {
	l, r := b.Types[0], b.Types[1]
	return func(c *call.Context, a []types.Datum) (types.Datum, error) {
		buf := appendCast(nil, l, a[0], c)
		return call.Text(string(appendCast(buf, r, a[1], c)))
	}, nil
}

// appendCast appends what the cast to text makes of a value: of a boolean it is not the
// Text form.
func appendCast(dst []byte, t *types.T, d types.Datum, c *call.Context) []byte {
	if t.Family == types.BoolFamily {
		return strconv.AppendBool(dst, d.Bool())
	}
	return AppendAsText(dst, t, d, c)
}

// AppendAsText appends the text form of a value that is not NULL.
func AppendAsText(dst []byte, t *types.T, d types.Datum, c *call.Context) []byte {
	if t.Family == types.StringFamily {
		return append(dst, d.Str()...)
	}
	return typeio.AppendText(dst, t, d, c.Format)
}

// runesFunc makes a function from text to text of one that looks at each character by itself: a
// big text is given to it in pieces.
func runesFunc(f func(string) string) call.EvalFunc {
	return func(c *call.Context, a []types.Datum) (types.Datum, error) { return inPieces(c, a[0].Str(), f) }
}

// lower is strings.ToLower, which ends early once the statement is cancelled.
func lower(c *call.Context, s string) string {
	if len(s) <= pgregexp.BigText {
		return strings.ToLower(s)
	}
	d, _ := inPieces(c, s, strings.ToLower)
	return d.Str()
}

func inPieces(c *call.Context, s string, f func(string) string) (types.Datum, error) {
	if len(s) <= pgregexp.BigText {
		return call.Text(f(s))
	}
	var out strings.Builder
	out.Grow(len(s))
	if err := call.EachTextPiece(c, s, func(piece string) { out.WriteString(f(piece)) }); err != nil {
		return types.Null, err
	}
	return call.Text(out.String())
}

// intFunc makes a function from a string to an integer.
func intFunc(f func(string) int) call.EvalFunc {
	return func(_ *call.Context, a []types.Datum) (types.Datum, error) {
		return types.NewInt(int64(f(a[0].Str()))), nil
	}
}

func stringFunctions() []*call.Overload {
	length := func(c *call.Context, s string) (types.Datum, error) {
		n, err := call.CountRunes(c, s)
		return types.NewInt(int64(n)), err
	}
	runes := func(c *call.Context, a []types.Datum) (types.Datum, error) { return length(c, a[0].Str()) }
	bpcharLen := func(c *call.Context, a []types.Datum) (types.Datum, error) {
		s, err := call.TrimRight(c, a[0].Str(), " ")
		if err != nil {
			return types.Null, err
		}
		return length(c, s)
	}
	bytes := intFunc(func(s string) int { return len(s) })
	trim := func(sig string, f func(c *call.Context, s, set string) (string, error)) *call.Overload {
		return call.Fn(sig, func(c *call.Context, a []types.Datum) (types.Datum, error) {
			set := " "
			if len(a) > 1 {
				set = a[1].Str()
			}
			s, err := f(c, a[0].Str(), set)
			return types.NewString(s), err
		})
	}
	return []*call.Overload{
		call.Fn("length(text) int4", runes).ReadsInPlace(), call.Fn("char_length(text) int4", runes).ReadsInPlace(), call.Fn("character_length(text) int4", runes).ReadsInPlace(),
		call.Fn("length(bpchar) int4", bpcharLen).ReadsInPlace(), call.Fn("char_length(bpchar) int4", bpcharLen).ReadsInPlace(), call.Fn("character_length(bpchar) int4", bpcharLen).ReadsInPlace(),
		call.Fn("octet_length(text) int4", bytes).ReadsInPlace(), call.Fn("octet_length(bpchar) int4", bytes).ReadsInPlace(),
		call.Fn("bit_length(text) int4", intFunc(func(s string) int { return 8 * len(s) })).ReadsInPlace(),
		call.Fn("upper(text) text", runesFunc(strings.ToUpper)), call.Fn("lower(text) text", runesFunc(strings.ToLower)),
		call.Fn("initcap(text) text", initcap),
		call.Fn("substr(text,int4) text", substrText), call.Fn("substr(text,int4,int4) text", substrText),
		call.Fn("substring(text,int4) text", substrText), call.Fn("substring(text,int4,int4) text", substrText),
		call.Fn("left(text,int4) text", leftText), call.Fn("right(text,int4) text", rightText),
		call.Fn("lpad(text,int4) text", pad(true)), call.Fn("lpad(text,int4,text) text", pad(true)),
		call.Fn("rpad(text,int4) text", pad(false)), call.Fn("rpad(text,int4,text) text", pad(false)),
		trim("ltrim(text) text", call.TrimLeft), trim("ltrim(text,text) text", call.TrimLeft),
		trim("rtrim(text) text", call.TrimRight), trim("rtrim(text,text) text", call.TrimRight),
		trim("btrim(text) text", trimBoth), trim("btrim(text,text) text", trimBoth),
		call.Fn("replace(text,text,text) text", replaceText), call.Fn("translate(text,text,text) text", translate),
		call.Fn("strpos(text,text) int4", strpos), call.Fn("position(text,text) int4", strpos),
		call.Fn("repeat(text,int4) text", repeatText), call.Fn("reverse(text) text", reverse),
		call.Fn("split_part(text,text,int4) text", splitPart),
		call.FnBind("concat(any...) text", bindConcat).NonStrict().Stable(),
		call.FnBind("concat_ws(text,any...) text", bindConcatWS).NonStrict().Stable(),
		call.Fn("starts_with(text,text) bool", startsWith),
		call.Fn("overlay(text,text,int4) text", overlay), call.Fn("overlay(text,text,int4,int4) text", overlay),
		call.Fn("ascii(text) int4", intFunc(asciiCode)), call.Fn("chr(int4) text", chr),
		call.Fn("to_hex(int4) text", toHex(32)), call.Fn("to_hex(int8) text", toHex(64)),
		call.Fn("string_to_array(text,text) _text", stringToArray).NonStrict(),
		call.Fn("string_to_array(text,text,text) _text", stringToArray).NonStrict(),
		call.SRF("string_to_table(text,text) setof text", stringToTable).NonStrict(),
		call.SRF("string_to_table(text,text,text) setof text", stringToTable).NonStrict(),
		call.Fn("nameconcatoid(name,oid) name", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			suffix := "_" + strconv.FormatUint(uint64(a[1].Int()), 10)
			s := a[0].Str()
			return types.NewString(s[:min(len(s), types.MaxNameLength-len(suffix))] + suffix), nil
		}),
		call.Fn("unistr(text) text", unistr),
		call.Fn("normalize(text,text) text", normalize).WithDefaults(types.NewString("NFC")),
		call.Fn("is_normalized(text,text) bool", isNormalized).WithDefaults(types.NewString("NFC")),
	}
}

func trimBoth(c *call.Context, s, set string) (string, error) {
	s, err := call.TrimLeft(c, s, set)
	if err != nil {
		return "", err
	}
	return call.TrimRight(c, s, set)
}

func initcap(c *call.Context, a []types.Datum) (types.Datum, error) {
	inWord := false
	return inPieces(c, a[0].Str(), func(s string) string {
		return strings.Map(func(r rune) rune {
			was := inWord
			inWord = unicode.IsLetter(r) || unicode.IsDigit(r)
			if inWord && !was {
				return unicode.ToUpper(r)
			}
			return unicode.ToLower(r)
		}, s)
	})
}

// byteOffset returns the byte offset of character n (from 0), or len(s); once the statement is
// cancelled, any offset.
func byteOffset(c *call.Context, s string, n int) int {
	if n >= len(s) {
		return len(s)
	}
	at := 0
	for n >= call.PieceBytes && at < len(s) {
		if c.Step(call.PieceBytes) != nil {
			return at
		}
		next := min(at+call.PieceBytes, len(s))
		for next < len(s) && !utf8.RuneStart(s[next]) {
			next++
		}
		n -= utf8.RuneCountInString(s[at:next])
		at = next
	}
	for i := range s[at:] {
		if n <= 0 {
			return at + i
		}
		n--
	}
	return len(s)
}

// substring returns the part of s that begins at character start (from 1) and
// holds length characters; a start below 1 eats into the length.
func substring(c *call.Context, s string, start, length int64) string {
	end := start + length
	if length >= 1<<32 {
		end = 1 << 33
	}
	start = max(start, 1)
	if end <= start {
		return ""
	}
	s = s[byteOffset(c, s, int(start-1)):]
	return s[:byteOffset(c, s, int(min(end-start, int64(len(s)))))]
}

var errNegativeLength = pgerr.New(pgerr.SubstringError, "negative substring length not allowed")

func substrText(c *call.Context, a []types.Datum) (types.Datum, error) {
	length := int64(1 << 32)
	if len(a) == 3 {
		if length = a[2].Int(); length < 0 {
			return types.Null, call.Fail(errNegativeLength)
		}
	}
	return call.Text(substring(c, a[0].Str(), a[1].Int(), length))
}

func leftText(c *call.Context, a []types.Datum) (types.Datum, error) {
	s, n := a[0].Str(), a[1].Int()
	if n < 0 {
		n = max(0, int64(runeCount(c, s))+n)
	}
	return call.Text(s[:byteOffset(c, s, int(n))])
}

func rightText(c *call.Context, a []types.Datum) (types.Datum, error) {
	s, n := a[0].Str(), a[1].Int()
	skip := -n
	if n >= 0 {
		skip = int64(runeCount(c, s)) - n
	}
	return call.Text(s[byteOffset(c, s, int(skip)):])
}

// pad is lpad or rpad, which also cut the string to the length.
func pad(left bool) call.EvalFunc {
	return func(c *call.Context, a []types.Datum) (types.Datum, error) {
		s, n, fill := a[0].Str(), int(a[1].Int()), " "
		if len(a) == 3 {
			fill = a[2].Str()
		}
		have := runeCount(c, s)
		if n <= have || fill == "" {
			return call.Text(s[:byteOffset(c, s, n)])
		}
		if n > call.MaxStringLen/utf8.UTFMax {
			return types.Null, call.Fail(call.ErrTooLong)
		}
		missing, fillLen := n-have, runeCount(c, fill)
		if err := c.Reserve(2 * (len(s) + (missing/fillLen+1)*len(fill))); err != nil {
			return types.Null, err
		}
		p, err := call.Repeat(c, fill, missing/fillLen)
		if err != nil {
			return types.Null, err
		}
		rest := fill[:byteOffset(c, fill, missing%fillLen)]
		if left {
			s, err = call.Concat(c, p, rest, s)
		} else {
			s, err = call.Concat(c, s, p, rest)
		}
		return types.NewString(s), err
	}
}

func replaceText(c *call.Context, a []types.Datum) (types.Datum, error) {
	s, from, to := a[0].Str(), a[1].Str(), a[2].Str()
	if from == "" {
		return a[0], nil
	}
	if grow := len(to) - len(from); grow > 0 {
		n := strings.Count(s, from)*grow + len(s)
		if n > call.MaxStringLen {
			return types.Null, call.Fail(call.ErrTooLong)
		}
		if err := c.Reserve(n); err != nil {
			return types.Null, err
		}
	}
	if len(s) <= call.PieceBytes {
		return call.Text(strings.ReplaceAll(s, from, to))
	}
	out := types.NewPieces(c.Format)
	for {
		i, err := call.Index(c, s, from)
		if err != nil {
			return types.Null, err
		}
		if i < 0 {
			break
		}
		out.Append(s[:i])
		out.Append(to)
		s = s[i+len(from):]
	}
	out.Append(s)
	return call.Text(out.String())
}

func translate(c *call.Context, a []types.Datum) (types.Datum, error) {
	table := map[rune]rune{}
	to := a[2].Str()
	for _, f := range a[1].Str() {
		if err := c.Step(1); err != nil {
			return types.Null, err
		}
		t, n := rune(-1), 0 // removed
		if to != "" {
			t, n = utf8.DecodeRuneInString(to)
		}
		to = to[n:]
		if _, ok := table[f]; !ok {
			table[f] = t
		}
	}
	change := func(r rune) rune {
		if t, ok := table[r]; ok {
			return t
		}
		return r
	}
	return inPieces(c, a[0].Str(), func(s string) string { return strings.Map(change, s) })
}

func strpos(c *call.Context, a []types.Datum) (types.Datum, error) {
	i, err := call.Index(c, a[0].Str(), a[1].Str())
	if i > 0 && err == nil {
		i, err = call.CountRunes(c, a[0].Str()[:i])
	}
	return types.NewInt(int64(i + 1)), err
}

func repeatText(c *call.Context, a []types.Datum) (types.Datum, error) {
	s, n := a[0].Str(), a[1].Int()
	if n <= 0 || s == "" {
		return call.Text("")
	}
	if int64(len(s))*n > call.MaxStringLen {
		return types.Null, call.Fail(call.ErrTooLong)
	}
	if err := c.Reserve(len(s) * int(n)); err != nil {
		return types.Null, err
	}
	s, err := call.Repeat(c, s, int(n))
	return types.NewString(s), err
}

func reverse(c *call.Context, a []types.Datum) (types.Datum, error) {
	s := a[0].Str()
	b := make([]byte, len(s))
	at := len(b)
	err := call.EachTextPiece(c, s, func(s string) {
		for i := 0; i < len(s); {
			_, n := utf8.DecodeRuneInString(s[i:])
			at -= n
			copy(b[at:], s[i:i+n])
			i += n
		}
	})
	return types.NewString(types.Owned(b)), err
}

func splitPart(c *call.Context, a []types.Datum) (types.Datum, error) {
	s, sep, n := a[0].Str(), a[1].Str(), a[2].Int()
	switch {
	case n == 0:
		return types.Null, pgerr.New(pgerr.InvalidParameterValue, "field position must not be zero")
	case s == "":
		return call.Text("")
	case sep == "":
		if n == 1 || n == -1 {
			return a[0], nil
		}
		return call.Text("")
	}
	if n < 0 {
		n += int64(strings.Count(s, sep)) + 2
		if n <= 0 {
			return call.Text("")
		}
	}
	for ; n > 1; n-- {
		i, err := call.Index(c, s, sep)
		if i < 0 || err != nil {
			return types.NewString(""), err
		}
		s = s[i+len(sep):]
	}
	i, err := call.Index(c, s, sep)
	if i >= 0 && err == nil {
		s = s[:i]
	}
	return types.NewString(s), err
}

func bindConcat(b call.Binding) (call.EvalFunc, error) {
	ts := b.Types
	return func(c *call.Context, a []types.Datum) (types.Datum, error) {
		return joined(c, ts, "", a)
	}, nil
}

func bindConcatWS(b call.Binding) (call.EvalFunc, error) {
	ts := b.Types[1:]
	return func(c *call.Context, a []types.Datum) (types.Datum, error) {
		if a[0].IsNull() {
			return types.Null, nil
		}
		return joined(c, ts, a[0].Str(), a[1:])
	}, nil
}

// joined is the text of the values that are not NULL, with a separator between them. Each counts the steps
// of its pieces: together they may be much larger than one value is.
func joined(c *call.Context, ts []*types.T, sep string, a []types.Datum) (types.Datum, error) {
	if err := c.Reserve(len(sep) * len(a)); err != nil { // the rest is what the arguments are taken to need
		return types.Null, err
	}
	size := 0
	for i := range a {
		size += len(sep) + len(a[i].Str())
	}
	var buf strings.Builder
	buf.Grow(size)
	write := func(piece string) { buf.WriteString(piece) }
	var text []byte
	for i, first := 0, true; i < len(a); i++ {
		if a[i].IsNull() {
			continue
		}
		if !first {
			buf.WriteString(sep)
		}
		first = false
		if ts[i].Family != types.StringFamily {
			text = AppendAsText(text[:0], ts[i], a[i], c)
			buf.Write(text)
		} else if err := call.EachPiece(c, a[i].Str(), write); err != nil {
			return types.Null, err
		}
	}
	return call.Text(buf.String())
}

func startsWith(_ *call.Context, a []types.Datum) (types.Datum, error) {
	return types.NewBool(strings.HasPrefix(a[0].Str(), a[1].Str())), nil
}

func overlay(c *call.Context, a []types.Datum) (types.Datum, error) {
	s, by, start := a[0].Str(), a[1].Str(), a[2].Int()
	n := int64(runeCount(c, by))
	if len(a) == 4 {
		n = a[3].Int()
	}
	if start <= 0 {
		return types.Null, call.Fail(errNegativeLength)
	}
	if _, err := numfuncs.CheckInt4(start + n); err != nil {
		return types.Null, err
	}
	s, err := call.Concat(c, substring(c, s, 1, start-1), by, substring(c, s, start+n, 1<<32))
	return types.NewString(s), err
}

func asciiCode(s string) int {
	if s == "" {
		return 0
	}
	r, _ := utf8.DecodeRuneInString(s)
	return int(r)
}

func chr(_ *call.Context, a []types.Datum) (types.Datum, error) {
	n := a[0].Int()
	switch {
	case n == 0:
		return types.Null, pgerr.New(pgerr.ProgramLimitExceeded, "null character not permitted")
	case n < 0:
		return types.Null, pgerr.New(pgerr.InvalidParameterValue, "character number must be positive")
	case n > unicode.MaxRune:
		return types.Null, pgerr.New(pgerr.ProgramLimitExceeded, "requested character too large for encoding: %d", n)
	case !utf8.ValidRune(rune(n)):
		return types.Null, pgerr.New(pgerr.ProgramLimitExceeded, "requested character not valid for encoding: %d", n)
	}
	return call.Text(string(rune(n)))
}

func toHex(width int) call.EvalFunc {
	return func(_ *call.Context, a []types.Datum) (types.Datum, error) {
		n := uint64(a[0].Int())
		if width == 32 {
			n = uint64(uint32(n))
		}
		return call.Text(strconv.FormatUint(n, 16))
	}
}

// fields are what string_to_array and string_to_table split a text into: a NULL separator splits
// into characters, an empty one does not split; fields equal to the null string become NULL.
type fields struct {
	c         *call.Context
	rest      string
	more      bool
	sep, null types.Datum
	row       [1]types.Datum
}

func fieldsOf(c *call.Context, a []types.Datum) *fields {
	f := &fields{c: c, rest: a[0].Str(), more: a[0].Str() != "", sep: a[1]}
	if len(a) == 3 {
		f.null = a[2]
	}
	return f
}

// Next implements call.RowIterator.
func (f *fields) Next() ([]types.Datum, bool, error) {
	if !f.more {
		return nil, false, nil
	}
	var field string
	field, f.rest, f.more = nextField(f.rest, f.sep)
	f.row[0] = types.NewString(field)
	if !f.null.IsNull() && f.null.Str() == field {
		f.row[0] = types.Null
	}
	return f.row[:], true, f.c.Step(1 + len(field)/bytesPerStep)
}

// bytesPerStep is how many bytes are searched in one step.
const bytesPerStep = 8

// nextField cuts the first field off s, which is not empty; more says that others follow.
func nextField(s string, sep types.Datum) (field, rest string, more bool) {
	switch {
	case sep.IsNull():
		_, n := utf8.DecodeRuneInString(s)
		return s[:n], s[n:], n < len(s)
	case sep.Str() == "":
		return s, "", false
	}
	return strings.Cut(s, sep.Str())
}

// count returns how many fields there are at most, 0 if they are too few to reserve memory for.
func (f *fields) count() int {
	switch {
	case len(f.rest) < pgregexp.BigText:
		return 0
	case f.sep.IsNull():
		return len(f.rest)
	case f.sep.Str() == "":
		return 1
	}
	return 1 + strings.Count(f.rest, f.sep.Str())
}

func stringToArray(c *call.Context, a []types.Datum) (types.Datum, error) {
	if a[0].IsNull() {
		return types.Null, nil
	}
	f := fieldsOf(c, a)
	// Beside its value, each takes its family and length, once where they are collected and once
	// in the array.
	const each = 2 * 8
	if err := c.Reserve(each * f.count()); err != nil {
		return types.Null, err
	}
	out := types.NewArrayBuilder(c.Format)
	for f.more {
		row, _, err := f.Next()
		if err != nil {
			return types.Null, err
		}
		out.Add(row[0])
	}
	return out.Array(), nil
}

func stringToTable(c *call.Context, a []types.Datum) (call.RowIterator, error) {
	if a[0].IsNull() {
		return call.NewColumn(nil), nil
	}
	return fieldsOf(c, a), nil
}
