package formatfuncs

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/builtin/decimal"
	"github.com/lichendb/lichen/internal/sql/builtin/numfuncs"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// numberInput is a number to be formatted: a decimal, or a float with the
// significant digits of its type.
type numberInput struct {
	value  types.Datum
	float  float64
	digits int // 0: value counts
	width  int // bytes of an integer type, whose range V must not leave
}

// numberToChar is to_char for numbers.
func numberToChar(c *call.Context, in numberInput, format string) (types.Datum, error) {
	f, err := parseNumberFormat(c, format)
	if err != nil {
		return types.Null, err
	}
	switch {
	case f.roman:
		d := in.decimal()
		if in.digits > 0 && !decimal.IsSpecial(d) {
			d = types.DecimalFromFloat(math.RoundToEven(in.float), false)
		}
		if decimal.IsSpecial(d) && in.digits == 0 {
			return types.Null, pgerr.New(pgerr.FeatureNotSupported, "cannot convert %s to integer", pick(d.IsNaN(), "NaN", "infinity"))
		}
		if n, ok := types.DecimalToInt(d); in.digits == 0 && (!ok || n != int64(int32(n))) {
			return types.Null, call.Fail(numfuncs.ErrInt4Range)
		}
		return f.print(c, numberText{roman: romanNumber(d)})
	case f.eeee:
		return call.Text(in.scientific(f))
	}
	if in.width > 0 && f.multi > 0 {
		n, ok := types.DecimalToInt(shiftDecimal(in.value, f.multi))
		if !ok || in.width == 4 && n != int64(int32(n)) {
			return types.Null, numfuncs.OutOfRange(in.width)
		}
	}
	return f.print(c, f.layout(in))
}

const noRoman = "###############"

// romanNumber writes 1 to 3999 in Roman digits.
func romanNumber(d types.Datum) string {
	n, ok := types.DecimalToInt(d)
	if !ok || n < 1 || n > 3999 {
		return noRoman
	}
	var b strings.Builder
	for _, r := range []struct {
		n int64
		s string
	}{{1000, "M"}, {900, "CM"}, {500, "D"}, {400, "CD"}, {100, "C"}, {90, "XC"}, {50, "L"}, {40, "XL"},
		{10, "X"}, {9, "IX"}, {5, "V"}, {4, "IV"}, {1, "I"}} {
		for n >= r.n {
			b.WriteString(r.s)
			n -= r.n
		}
	}
	return b.String()
}

// decimal returns the number as a decimal.
func (in numberInput) decimal() types.Datum {
	if in.digits == 0 {
		return in.value
	}
	return types.DecimalFromFloat(in.float, in.digits < 10)
}

// scientific is the EEEE format: a sign or blank, one digit, the fraction, an
// exponent of at least two digits. Where rounding carries into another digit numbers of
// any precision get that digit, as in PostgreSQL: 99.9 is 10e+01.
func (in numberInput) scientific(f *numberFormat) string {
	d := in.decimal()
	if decimal.IsSpecial(d) {
		return " " + strings.Repeat("#", f.pre) + "." + strings.Repeat("#", f.post+4)
	}
	if in.digits > 0 || in.width == 4 { // an int4 is written as a float
		return pick(math.Signbit(in.float), "-", " ") + strconv.FormatFloat(math.Abs(in.float), 'e', f.post, 64)
	}
	sign := " "
	if d.DecimalSign() < 0 {
		sign, d = "-", decimal.Neg(d)
	}
	exp := 0
	if d.DecimalSign() != 0 {
		exp = decimalExponent(d)
	}
	mantissa := types.RoundDecimal(shiftDecimal(d, -exp), int32(f.post))
	return fmt.Sprintf("%s%se%c%02d", sign, typeio.FormatDatum(types.Numeric, mantissa, nil), pickSign(exp), absOf(exp))
}

// decimalExponent is the power of ten of the first digit.
func decimalExponent(d types.Datum) int {
	digits, _ := decimal.LeadingDigits(d)
	return digits - int(d.DecimalScale()) - 1
}

// shiftDecimal multiplies by a power of ten.
func shiftDecimal(d types.Datum, n int) types.Datum {
	var r types.Datum
	var err error
	if n >= 0 {
		r, err = decimal.Of(decimal.AlignedCoeff(d, d.DecimalScale()+int32(n)), d.DecimalScale())
	} else {
		r, err = decimal.Of(decimal.SignedCoeff(d), d.DecimalScale()+int32(-n))
	}
	if err != nil {
		return types.DecimalNaN
	}
	return r
}

func pickSign(n int) byte {
	if n < 0 {
		return '-'
	}
	return '+'
}

func absOf(n int) int {
	if n < 0 {
		return -n
	}
	return n
}

// numberText is a number made ready for the positions of a format.
type numberText struct {
	negative bool
	digits   string // what the positions show: whole digits, point, fraction
	whole    int    // how many of them are before the point
	overflow bool   // digits are # signs
	roman    string
}

// layout rounds the number to the positions of the format.
func (f *numberFormat) layout(in numberInput) numberText {
	var s string
	f.pre += f.multi
	if in.digits > 0 {
		s = f.floatText(in)
	} else {
		d := in.value
		if !decimal.IsSpecial(d) {
			d = types.RoundDecimal(shiftDecimal(d, f.multi), int32(f.post))
		}
		s = typeio.FormatDatum(types.Numeric, d, nil)
	}
	n := numberText{negative: strings.HasPrefix(s, "-"), digits: strings.TrimPrefix(s, "-")}
	if n.whole = strings.IndexByte(n.digits, '.'); n.whole < 0 {
		n.whole = len(n.digits)
	}
	if n.whole > f.pre {
		n.overflow, n.whole = true, f.pre
		n.digits = strings.Repeat("#", f.pre) + "." + strings.Repeat("#", f.post)
	}
	return n
}

// floatText prints a float; the digits of its type limit the fraction.
func (f *numberFormat) floatText(in numberInput) string {
	x := in.float * math.Pow10(f.multi)
	s := strconv.FormatFloat(math.Abs(x), 'f', 0, 64)
	switch {
	case math.IsNaN(x):
		s = "NaN"
	case math.IsInf(x, 0):
		s = "Infinity"
	}
	whole := len(s)
	if whole >= in.digits {
		f.post = 0
	} else if whole+f.post > in.digits {
		f.post = in.digits - whole
	}
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return pick(x < 0, "-", "") + s
	}
	return strconv.FormatFloat(x, 'f', f.post, 64)
}

// numberPrinter writes a number position by position; the point is one, too.
type numberPrinter struct {
	*numberFormat
	n        numberText
	b        strings.Builder
	at       int  // positions written
	next     int  // what of n.digits comes next
	lead     int  // positions before the first digit
	last     int  // the last of n.digits that FM leaves, -1: all
	inNumber bool // the previous position wrote a digit
	signDone bool
	cut      bool // the digits ran out: nothing more is written
}

func (f *numberFormat) print(c *call.Context, n numberText) (types.Datum, error) {
	p := numberPrinter{numberFormat: f, n: n}
	p.prepare()
	for _, t := range f.tokens {
		if err := c.Step(1); err != nil {
			return types.Null, err
		}
		if t.pattern == "TH" && n.roman == "" && !n.overflow && !n.negative && !f.decimal {
			if last := n.digits[n.whole-1]; last < '0' || last > '9' {
				return types.Null, pgerr.New(pgerr.InvalidTextRepresentation, "\"%s\" is not a number", n.digits)
			}
		}
		if p.token(t); p.cut {
			break
		}
		if p.b.Len() > call.MaxStringLen {
			return types.Null, call.Fail(call.ErrTooLong)
		}
	}
	return call.Text(p.b.String())
}

func (p *numberPrinter) prepare() {
	p.lead = max(0, p.pre-p.n.whole)
	p.last = -1
	if p.fill && p.decimal && p.n.whole < len(p.n.digits) {
		p.last = max(p.n.whole, len(strings.TrimRight(p.n.digits, "0"))-1)
		if p.zeroEnd > p.lead {
			p.last = max(p.last, min(len(p.n.digits)-1, p.zeroEnd-p.lead))
		}
	}
	if p.sign && !p.signPost && p.signAt == p.pre {
		p.signPost = true
	}
	switch {
	case p.minus:
		p.signDone = true // MI and SG write it themselves
	case p.plus:
	case p.fill && !p.n.negative && !p.sign:
		p.signDone = true
		p.bracket = false
	}
}

// hiddenZero reports whether the next digit is a 0 before the point that is
// not shown.
func (p *numberPrinter) hiddenZero() bool {
	return !p.zero && p.next == 0 && strings.HasPrefix(p.n.digits, "0") && p.post > 0
}

// bare reports whether FM leaves nothing of the fraction.
func (p *numberPrinter) bare() bool { return p.last >= 0 && p.last == p.n.whole }

// position writes one digit position or the point.
func (p *numberPrinter) position(pattern string) {
	p.inNumber = false
	filling := p.zero && p.at >= p.zeroStart
	if !p.signDone && (p.at >= p.lead || filling) && (!p.hiddenZero() || p.bare()) {
		p.leadingSign()
	}
	switch {
	case p.at < p.lead && filling:
		p.b.WriteByte('0')
		p.inNumber = true
	case p.at < p.lead:
		if !p.fill {
			p.b.WriteByte(' ')
		}
	case p.next < len(p.n.digits):
		p.digit(pattern)
		p.next++
	default:
		// PostgreSQL's text ends here, whatever the format goes on with.
		p.cut = true
		return
	}
	p.at++
	slots := p.pre + p.post
	if p.decimal {
		slots++
	}
	if p.at == slots {
		p.trailingSign()
	}
}

func (p *numberPrinter) digit(pattern string) {
	switch c := p.n.digits[p.next]; {
	case c == '.':
		p.b.WriteByte('.')
	case p.last >= 0 && p.next > p.last && pattern != "0":
	case p.hiddenZero():
		if !p.fill {
			p.b.WriteByte(' ')
		} else if p.bare() {
			p.b.WriteByte('0')
		}
	default:
		p.b.WriteByte(c)
		p.inNumber = true
	}
}

// leadingSign writes what goes before the first digit.
func (p *numberPrinter) leadingSign() {
	switch {
	case p.sign:
		if p.signPost {
			return
		}
		p.b.WriteString(pick(p.n.negative, "-", "+"))
	case p.bracket:
		p.b.WriteString(pick(p.n.negative, "<", " "))
	case p.n.negative:
		p.b.WriteByte('-')
	case !p.fill:
		p.b.WriteByte(' ')
	}
	p.signDone = true
}

// trailingSign writes what goes behind the last digit.
func (p *numberPrinter) trailingSign() {
	switch {
	case p.bracket && p.signDone:
		p.b.WriteString(pick(p.n.negative, ">", " "))
	case p.sign && p.signPost:
		p.b.WriteString(pick(p.n.negative, "-", "+"))
	}
}

func (p *numberPrinter) token(t numberToken) {
	switch t.pattern {
	case "":
		p.b.WriteString(t.literal)
	case "9", "0", ".", "D":
		if p.n.roman == "" {
			p.position(t.pattern)
		}
	case ",", "G":
		if p.inNumber {
			p.b.WriteByte(',')
		} else if !p.fill {
			p.b.WriteByte(' ')
		}
	case "L":
		p.b.WriteByte(' ')
	case "RN":
		s := pick(t.lower, strings.ToLower(p.n.roman), p.n.roman)
		fmt.Fprintf(&p.b, "%*s", pick(p.fill, 0, 15), s)
	case "TH":
		if p.n.roman == "" && !p.n.overflow && !p.n.negative && !p.decimal {
			p.b.WriteString(ordinalSuffix(p.n.digits[:p.n.whole], !t.lower))
		}
	case "MI":
		p.inlineSign('-', p.n.negative)
	case "PL":
		p.inlineSign('+', !p.n.negative)
	case "SG":
		p.b.WriteString(pick(p.n.negative, "-", "+"))
	}
}

// inlineSign writes a sign where its pattern stands, or a blank.
func (p *numberPrinter) inlineSign(c byte, shown bool) {
	if shown {
		p.b.WriteByte(c)
	} else if !p.fill {
		p.b.WriteByte(' ')
	}
}

// pick returns one of two values.
func pick[T any](b bool, yes, no T) T {
	if b {
		return yes
	}
	return no
}
