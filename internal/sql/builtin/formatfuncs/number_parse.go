package formatfuncs

import (
	"strings"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/builtin/decimal"
	"github.com/lichendb/lichen/internal/sql/builtin/stringfuncs"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// toNumber is to_number(text, format).
func toNumber(c *call.Context, a []types.Datum) (types.Datum, error) {
	if a[1].Str() == "" {
		return types.Null, nil
	}
	f, err := parseNumberFormat(c, a[1].Str())
	if err != nil {
		return types.Null, err
	}
	switch {
	case f.roman:
		return types.Null, pgerr.New(pgerr.FeatureNotSupported, "\"RN\" not supported for input")
	case f.eeee:
		return types.Null, pgerr.New(pgerr.FeatureNotSupported, "\"EEEE\" not supported for input")
	}
	if f.sign && !f.signPost && f.signAt == f.pre {
		f.signPost = true
	}
	r := numberReader{numberFormat: f, in: a[0].Str(), sign: ' '}
	for _, t := range f.tokens {
		if r.in == "" {
			break
		}
		if err := c.Step(1); err != nil {
			return types.Null, err
		}
		r.token(t)
	}
	return r.result()
}

// numberReader reads a number by a format, a character per position: what does
// not fit a position is skipped.
type numberReader struct {
	*numberFormat
	in        string
	sign      byte   // blank, + or -
	number    []byte // digits and point
	before    int    // digits read before the point
	after     int    // and after it
	pointRead bool
}

// result makes a number of what was read; it must fit the format's digits.
func (r *numberReader) result() (types.Datum, error) {
	s := string(r.sign) + strings.TrimSuffix(string(r.number), ".")
	d, err := typeio.ParseText(types.Numeric, s, nil)
	if err != nil {
		return types.Null, err
	}
	precision, scale := r.pre+r.multi+r.after, r.after
	if precision == 0 && d.DecimalSign() != 0 {
		return types.Null, pgerr.New(pgerr.NumericValueOutOfRange, "numeric field overflow")
	}
	if precision > 0 && precision <= types.MaxDecimalPrecision {
		mod, err := types.TypmodFor(types.Numeric, []int64{int64(precision), int64(scale)})
		if err != nil {
			return types.Null, err
		}
		if d, err = types.ApplyTypmod(d, types.Numeric.WithTypmod(mod), true, nil); err != nil {
			return types.Null, err
		}
	}
	if r.multi > 0 {
		by, err := decimal.PowInt(decimal.FromInt(10), int64(-r.multi))
		if err != nil {
			return types.Null, err
		}
		return decimal.Mul(d, by)
	}
	return d, nil
}

func (r *numberReader) skip(n int) { r.in = r.in[min(n, len(r.in)):] }

func (r *numberReader) token(t numberToken) {
	c := r.in[0]
	switch t.pattern {
	case "9", "0", ".", "D":
		r.position(t.pattern)
		if r.in != "" {
			r.skip(stringfuncs.CharLen(r.in, false))
		}
	case ",", "G":
		if !r.fill && c == ',' {
			r.skip(1)
		}
	case "MI":
		r.inlineSign(c == '-')
	case "PL":
		r.inlineSign(c == '+')
	case "SG":
		r.inlineSign(c == '-' || c == '+')
	case "TH":
		r.skipOther(2)
	case "L":
		r.skipOther(1)
	case "":
		r.skip(stringfuncs.CharLen(r.in, false))
	}
}

// inlineSign takes the sign that stands where the format has it.
func (r *numberReader) inlineSign(found bool) {
	if !found {
		r.skipOther(1)
		return
	}
	r.sign = r.in[0]
	r.skip(1)
}

// skipOther skips characters that are no part of a number.
func (r *numberReader) skipOther(n int) {
	for ; n > 0 && r.in != "" && strings.IndexByte("0123456789.,+-", r.in[0]) < 0; n-- {
		r.skip(stringfuncs.CharLen(r.in, false))
	}
}

// position reads a digit, the point or a sign next to the digits. The caller
// then skips the character it is left on.
func (r *numberReader) position(pattern string) {
	if r.in[0] == ' ' {
		r.skip(1)
	}
	digitPattern := pattern == "9" || pattern == "0"
	if r.in != "" && r.sign == ' ' && digitPattern && r.before+r.after == 0 {
		r.signBefore()
	}
	if r.in == "" {
		return
	}
	read := false
	switch c := r.in[0]; {
	case c >= '0' && c <= '9':
		if r.pointRead && r.after == r.post {
			return
		}
		r.number = append(r.number, c)
		if r.pointRead {
			r.after++
		} else {
			r.before++
		}
		read = true
	case c == '.' && r.decimal && !r.pointRead:
		r.number = append(r.number, '.')
		r.pointRead, read = true, true
	}
	if r.sign == ' ' && r.before+r.after > 0 {
		r.signBehind(read)
	}
}

func (r *numberReader) signBefore() {
	c := r.in[0]
	anchored := r.numberFormat.sign && !r.signPost
	switch {
	case c == '-' || c == '<' && r.bracket && !anchored:
		r.sign = '-'
	case c == '+':
		r.sign = '+'
	default:
		return
	}
	r.skip(1)
}

// signBehind takes a sign behind the last digit, if that was read just now for
// S, or where the next position finds it.
func (r *numberReader) signBehind(read bool) {
	switch {
	case r.numberFormat.sign:
		if read && len(r.in) > 1 && (r.in[1] == '-' || r.in[1] == '+') {
			r.skip(1)
			r.sign = r.in[0]
		}
	case !read && (r.plus || r.minus) && (r.in[0] == '-' || r.in[0] == '+'):
		r.sign = r.in[0]
	}
}
