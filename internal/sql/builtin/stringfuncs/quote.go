package stringfuncs

import (
	"strings"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/builtin/numfuncs"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// quotedKeywords are the key words that cannot be an identifier everywhere and
// so need quotes: all but the unreserved.
var quotedKeywords = func() map[string]bool {
	m := map[string]bool{}
	for _, k := range keywords() {
		if k.category != 'U' {
			m[k.word] = true
		}
	}
	return m
}()

// QuoteIdent quotes an identifier if it needs it.
func QuoteIdent(s string) string {
	if beginsPlain(s) && isPlain(s) {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}

// beginsPlain reports whether an identifier is no key word and begins as one without quotes may.
func beginsPlain(s string) bool {
	return s != "" && !quotedKeywords[s] && (s[0] == '_' || s[0] >= 'a' && s[0] <= 'z')
}

// isPlain reports whether s holds just what an identifier without quotes may hold.
func isPlain(s string) bool {
	for i := range len(s) {
		if !IsWordByte(s[i]) || s[i] >= 'A' && s[i] <= 'Z' {
			return false
		}
	}
	return true
}

// quoteIdent is QuoteIdent that looks at a big identifier in pieces.
func quoteIdent(c *call.Context, s string) (string, error) {
	if len(s) <= call.PieceBytes {
		return QuoteIdent(s), nil
	}
	plain := beginsPlain(s)
	err := call.EachPiece(c, s, func(piece string) { plain = plain && isPlain(piece) })
	if plain || err != nil {
		return s, err
	}
	b := types.NewPieces(c.Format)
	b.AppendByte('"')
	err = call.EachPiece(c, s, func(piece string) { b.Append(strings.ReplaceAll(piece, `"`, `""`)) })
	b.AppendByte('"')
	return b.String(), err
}

// QuoteLiteral makes a string literal.
func QuoteLiteral(s string) string {
	q := "'" + strings.ReplaceAll(s, "'", "''") + "'"
	if strings.IndexByte(s, '\\') >= 0 {
		q = "E" + strings.ReplaceAll(q, `\`, `\\`)
	}
	return q
}

// quoteLiteral is QuoteLiteral that makes a big literal in pieces.
func quoteLiteral(c *call.Context, s string) (string, error) {
	if len(s) <= call.PieceBytes {
		return QuoteLiteral(s), nil
	}
	b := types.NewPieces(c.Format)
	double := []string{"'", "''"}
	if strings.IndexByte(s, '\\') >= 0 {
		b.AppendByte('E')
		double = append(double, `\`, `\\`)
	}
	replacer := strings.NewReplacer(double...)
	b.AppendByte('\'')
	err := call.EachPiece(c, s, func(piece string) { b.Append(replacer.Replace(piece)) })
	b.AppendByte('\'')
	return b.String(), err
}

func quoteFunctions() []*call.Overload {
	nullable := func(f call.EvalFunc) call.EvalFunc {
		return func(c *call.Context, a []types.Datum) (types.Datum, error) {
			if a[0].IsNull() {
				return call.Text("NULL")
			}
			return f(c, a)
		}
	}
	quote := func(c *call.Context, s string) (types.Datum, error) {
		q, err := quoteLiteral(c, s)
		return types.NewString(q), err
	}
	literal := func(c *call.Context, a []types.Datum) (types.Datum, error) { return quote(c, a[0].Str()) }
	literalAny := func(b call.Binding) (call.EvalFunc, error) {
		t := b.Types[0]
		return func(c *call.Context, a []types.Datum) (types.Datum, error) {
			return quote(c, string(AppendAsText(nil, t, a[0], c)))
		}, nil
	}
	return []*call.Overload{
		call.Fn("quote_ident(text) text", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			q, err := quoteIdent(c, a[0].Str())
			if err != nil {
				return types.Null, err
			}
			return call.Text(q)
		}),
		call.Fn("quote_literal(text) text", literal), call.FnBind("quote_literal(anyelement) text", literalAny).Stable(),
		call.Fn("quote_nullable(text) text", nullable(literal)).NonStrict(),
		call.FnBind("quote_nullable(anyelement) text", func(b call.Binding) (call.EvalFunc, error) {
			f, err := literalAny(b)
			return nullable(f), err
		}).NonStrict().Stable(),
		call.Fn("parse_ident(text,bool) _text", parseIdent).WithDefaults(types.True),
		call.FnBind("format(text) text", bindFormat).NonStrict().Stable(),
		call.FnBind("format(text,any...) text", bindFormat).NonStrict().Stable().EmptyForNullList(),
	}
}

// bindFormat is format(): %s, %I and %L with positions and widths.
func bindFormat(b call.Binding) (call.EvalFunc, error) {
	ts := b.Types
	return func(c *call.Context, a []types.Datum) (types.Datum, error) {
		if a[0].IsNull() {
			return types.Null, nil
		}
		f := formatter{c: c, ts: ts[1:], args: a[1:], in: a[0].Str(), out: types.NewPieces(c.Format)}
		if err := f.run(); err != nil {
			return types.Null, err
		}
		return call.Text(f.out.String())
	}, nil
}

type formatter struct {
	c    *call.Context
	ts   []*types.T
	args []types.Datum
	in   string
	out  types.Pieces
	next int // argument that the next specifier without a position takes
}

// formatSpec is one %[position][flags][width]type.
type formatSpec struct {
	position  int // 0: the next
	left      bool
	width     int
	widthFrom int // -1: none; 0: the next argument; else its position
}

var errFormatEnd = pgerr.New(pgerr.InvalidParameterValue, "unterminated format() type specifier").
	WithHint("For a single \"%%\" use \"%%%%\".")

func (f *formatter) run() error {
	for i := 0; i < len(f.in); {
		plain, _, _ := strings.Cut(f.in[i:min(len(f.in), i+call.PieceBytes)], "%")
		if err := f.c.Step(1 + len(plain)); err != nil {
			return err
		}
		if plain != "" {
			f.out.Append(plain)
			i += len(plain)
			continue
		}
		i++
		if i < len(f.in) && f.in[i] == '%' {
			f.out.AppendByte('%')
			i++
			continue
		}
		spec, n, err := f.parseSpec(f.in[i:])
		if err != nil {
			return err
		}
		i += n
		if i >= len(f.in) {
			return call.Fail(errFormatEnd)
		}
		if err := f.apply(spec, f.in[i:i+CharLen(f.in[i:], false)]); err != nil {
			return err
		}
		i++
		if f.out.Len() > call.MaxStringLen {
			return call.Fail(call.ErrTooLong)
		}
	}
	return nil
}

// formatNumber reads digits; n is their count.
func formatNumber(s string) (v, n int, err error) {
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		v = 10*v + int(s[n]-'0')
		if v > 1<<31-1 {
			return 0, 0, pgerr.New(pgerr.NumericValueOutOfRange, "number is out of range")
		}
		n++
	}
	return v, n, nil
}

// formatPosition reads a number that must end in $ to be a position.
func formatPosition(s string) (v, n int, err error) {
	v, n, err = formatNumber(s)
	if err != nil || n == 0 || n >= len(s) || s[n] != '$' {
		return v, 0, err
	}
	if v == 0 {
		return 0, 0, pgerr.New(pgerr.InvalidParameterValue, "format specifies argument 0, but arguments are numbered from 1")
	}
	return v, n + 1, nil
}

func (f *formatter) parseSpec(s string) (spec formatSpec, n int, err error) {
	spec.widthFrom = -1
	if spec.position, n, err = formatPosition(s); err != nil {
		return spec, 0, err
	}
	if n == 0 {
		spec.position = 0
	}
	for n < len(s) && s[n] == '-' {
		spec.left = true
		n++
	}
	if n < len(s) && s[n] == '*' {
		n++
		v, m, err := formatPosition(s[n:])
		if err != nil {
			return spec, 0, err
		}
		if m == 0 {
			if _, digits, _ := formatNumber(s[n:]); digits > 0 {
				return spec, 0, pgerr.New(pgerr.InvalidParameterValue, "width argument position must be ended by \"$\"")
			}
			v = 0
		}
		spec.widthFrom = v
		return spec, n + m, nil
	}
	v, m, err := formatNumber(s[n:])
	spec.width = v
	return spec, n + m, err
}

// arg returns the argument at a position, or the next one for 0.
func (f *formatter) arg(position int) (types.Datum, *types.T, error) {
	if position > 0 {
		f.next = position - 1
	}
	i := f.next
	f.next++
	if i >= len(f.args) {
		return types.Null, nil, pgerr.New(pgerr.InvalidParameterValue, "too few arguments for format()")
	}
	return f.args[i], f.ts[i], nil
}

func (f *formatter) apply(spec formatSpec, verb string) error {
	if verb != "s" && verb != "I" && verb != "L" {
		return pgerr.New(pgerr.InvalidParameterValue, "unrecognized format() type specifier \"%s\"", verb).
			WithHint("For a single \"%%\" use \"%%%%\".")
	}
	width := spec.width
	if spec.widthFrom >= 0 {
		d, t, err := f.arg(spec.widthFrom)
		if err != nil {
			return err
		}
		if width, err = f.widthOf(d, t); err != nil {
			return err
		}
	}
	if width < 0 {
		spec.left, width = true, -width
	}
	if width > call.MaxStringLen {
		return call.Fail(call.ErrTooLong)
	}
	d, t, err := f.arg(spec.position)
	if err != nil {
		return err
	}
	s, err := f.value(verb, d, t)
	if err != nil {
		return err
	}
	missing := 0
	if width > 0 {
		missing = max(0, width-runeCount(f.c, s))
	}
	if spec.left {
		f.out.Append(s)
		return f.pad(missing)
	}
	if err := f.pad(missing); err != nil {
		return err
	}
	f.out.Append(s)
	return nil
}

// blanks are what pad adds at once.
var blanks = strings.Repeat(" ", 1<<10)

// pad adds n blanks.
func (f *formatter) pad(n int) error {
	if err := f.c.Reserve(call.Scratch * n); err != nil {
		return err
	}
	for ; n > 0; n -= len(blanks) {
		if err := f.c.Step(len(blanks)); err != nil {
			return err
		}
		f.out.Append(blanks[:min(n, len(blanks))])
	}
	return nil
}

func (f *formatter) widthOf(d types.Datum, t *types.T) (int, error) {
	if d.IsNull() {
		return 0, nil
	}
	if t.Family != types.IntFamily {
		var err error
		if d, err = typeio.ParseText(types.Int4, string(AppendAsText(nil, t, d, f.c)), nil); err != nil {
			return 0, err
		}
	}
	n, err := numfuncs.CheckInt4(d.Int())
	return int(n), err
}

func (f *formatter) value(verb string, d types.Datum, t *types.T) (string, error) {
	if d.IsNull() {
		switch verb {
		case "I":
			return "", pgerr.New(pgerr.NullValueNotAllowed, "null values cannot be formatted as an SQL identifier")
		case "L":
			return "NULL", nil
		}
		return "", nil
	}
	s := d.Str()
	if t.Family != types.StringFamily {
		s = string(AppendAsText(nil, t, d, f.c))
	}
	switch verb {
	case "I":
		return quoteIdent(f.c, s)
	case "L":
		return quoteLiteral(f.c, s)
	}
	return s, nil
}

// parseIdent splits a qualified name into its parts.
func parseIdent(c *call.Context, a []types.Datum) (types.Datum, error) {
	whole, strict := a[0].Str(), a[1].Bool()
	bad := func(detail string) (types.Datum, error) {
		e := pgerr.New(pgerr.InvalidParameterValue, "string is not a valid identifier: \"%s\"", whole)
		if detail != "" {
			e = e.WithDetail("%s", detail)
		}
		return types.Null, e
	}
	var parts []types.Datum
	s := strings.TrimLeft(whole, " \t\r\n")
	for {
		part, rest, problem := identPart(s)
		if problem != "" {
			if problem == "." && len(parts) > 0 {
				problem = "No valid identifier after \".\"."
			} else if problem == "." {
				problem = ""
				if strings.HasPrefix(s, ".") {
					problem = "No valid identifier before \".\"."
				}
			}
			return bad(problem)
		}
		parts = append(parts, types.NewString(part))
		if err := c.Step(1 + len(s) - len(rest)); err != nil {
			return types.Null, err
		}
		s = strings.TrimLeft(rest, " \t\r\n")
		if !strings.HasPrefix(s, ".") {
			break
		}
		s = strings.TrimLeft(s[1:], " \t\r\n")
	}
	if s != "" && strict {
		return bad("")
	}
	return types.NewArray(parts), nil
}

// identPart reads one identifier; problem is "." where there is none.
func identPart(s string) (part, rest, problem string) {
	if strings.HasPrefix(s, `"`) {
		var b strings.Builder
		for i := 1; i < len(s); i++ {
			if s[i] != '"' {
				b.WriteByte(s[i])
				continue
			}
			if i+1 < len(s) && s[i+1] == '"' {
				b.WriteByte('"')
				i++
				continue
			}
			if b.Len() == 0 {
				return "", "", "Quoted identifier must not be empty."
			}
			return b.String(), s[i+1:], ""
		}
		return "", "", "String has unclosed double quotes."
	}
	n := 0
	for n < len(s) && (IsWordByte(s[n]) || s[n] >= 0x80 || n > 0 && s[n] == '$') {
		n++
	}
	if n == 0 || s[0] >= '0' && s[0] <= '9' {
		return "", "", "."
	}
	return strings.ToLower(s[:n]), s[n:], ""
}
