package builtin

import (
	"fmt"
	"math"
	"strings"

	"github.com/lichendb/lichen/internal/sql/types"
)

// numberInput is a number to be formatted.
type numberInput struct {
	value       types.Datum // a decimal
	integer     bool        // of an integer type
	floatDigits int         // significant digits of a float type, else 0
}

// numberToChar is to_char for numbers.
func numberToChar(in numberInput, format string) (types.Datum, error) {
	f, err := parseNumberFormat(format)
	if err != nil {
		return types.Null, err
	}
	switch {
	case f.roman:
		return f.print(numberText{roman: romanNumber(in.value)})
	case f.eeee:
		return text(scientific(in.value, f.post))
	}
	n, err := f.layout(in)
	if err != nil {
		return types.Null, err
	}
	return f.print(n)
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

// scientific is the EEEE format: a sign or blank, one digit, the fraction, an
// exponent of at least two digits.
func scientific(d types.Datum, fraction int) string {
	if special(d) {
		s := " #"
		if fraction > 0 || true {
			s += "." + strings.Repeat("#", fraction) + "####"
		}
		return s
	}
	sign := " "
	if d.DecimalSign() < 0 {
		sign, d = "-", NegDecimal(d)
	}
	exp := 0
	if d.DecimalSign() != 0 {
		digits, _ := leadingDigits(d)
		exp = digits - int(d.DecimalScale()) - 1
		// Rounding may carry into another digit.
		r := types.RoundDecimal(d, int32(fraction-exp))
		if digits, _ = leadingDigits(r); digits-int(r.DecimalScale())-1 > exp {
			exp++
		}
	}
	mantissa := types.RoundDecimal(shiftDecimal(d, -exp), int32(fraction))
	return fmt.Sprintf("%s%se%c%02d", sign, types.FormatDatum(types.Numeric, mantissa, nil), pickSign(exp), absInt(exp))
}

// shiftDecimal multiplies by a power of ten.
func shiftDecimal(d types.Datum, n int) types.Datum {
	var r types.Datum
	var err error
	if n >= 0 {
		r, err = decimalOf(alignedCoeff(d, d.DecimalScale()+int32(n)), d.DecimalScale())
	} else {
		r, err = decimalOf(signedCoeff(d), d.DecimalScale()+int32(-n))
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

func absInt(n int) int {
	if n < 0 {
		return -n
	}
	return n
}

// numberText is a number made ready for the positions of a format.
type numberText struct {
	negative bool
	whole    string // digits before the point, at most as many as positions
	fraction string // digits after the point, one per position
	overflow bool   // whole and fraction are # signs
	roman    string
}

// layout rounds the number to the positions and splits its digits.
func (f *numberFormat) layout(in numberInput) (numberText, error) {
	d := in.value
	pre := f.pre
	if f.hasMulti {
		d = shiftDecimal(d, f.multi)
		pre += f.multi
		f.pre = pre
	}
	var n numberText
	if special(d) {
		if !in.value.IsNaN() {
			n.negative = in.value.DecimalSign() < 0
		}
		return f.overflowed(n), nil
	}
	n.negative = d.DecimalSign() < 0
	if in.floatDigits > 0 {
		d = in.limitDigits(d, f)
	}
	d = types.RoundDecimal(absDecimal(d), int32(f.post))
	if d.DecimalSign() == 0 && !in.integer {
		n.negative = n.negative && false
	}
	s := types.FormatDatum(types.Numeric, d, nil)
	n.whole, n.fraction, _ = strings.Cut(s, ".")
	if len(n.whole) > pre && !(n.whole == "0" && pre == 0) {
		return f.overflowed(n), nil
	}
	return n, nil
}

// limitDigits rounds a float to the digits its type has, which leaves fewer
// for the fraction.
func (in numberInput) limitDigits(d types.Datum, f *numberFormat) types.Datum {
	whole := types.FormatDatum(types.Numeric, types.TruncDecimal(absDecimal(d), 0), nil)
	digits := len(whole)
	if digits >= in.floatDigits {
		f.setPost(0)
	} else if digits+f.post > in.floatDigits {
		f.setPost(in.floatDigits - digits)
	}
	return d
}

// setPost lowers the digits after the point that are computed.
func (f *numberFormat) setPost(n int) { f.post = n }

func (f *numberFormat) overflowed(n numberText) numberText {
	n.overflow = true
	n.whole, n.fraction = strings.Repeat("#", f.pre), strings.Repeat("#", f.post)
	return n
}

// numberPrinter writes a number position by position.
type numberPrinter struct {
	*numberFormat
	n        numberText
	b        strings.Builder
	at       int  // positions written
	lead     int  // positions before the first digit of whole
	last     int  // positions that FM leaves: the rest are zeros at the end
	digits   bool // the previous position wrote a digit
	signDone bool
	hideZero bool // the 0 before the point is not shown
}

func (f *numberFormat) print(n numberText) (types.Datum, error) {
	p := numberPrinter{numberFormat: f, n: n}
	p.prepare()
	for _, t := range f.tokens {
		p.token(t)
		if p.b.Len() > MaxStringLen {
			return types.Null, fail(errTooLong)
		}
	}
	return text(p.b.String())
}

// positions is how many positions the format has.
func (p *numberPrinter) positions() int { return p.pre + p.post }

func (p *numberPrinter) prepare() {
	p.lead = max(0, p.pre-len(p.n.whole))
	p.hideZero = !p.zero && p.n.whole == "0" && p.post > 0
	p.last = math.MaxInt
	if p.fill && p.decimal && p.n.roman == "" {
		kept := len(strings.TrimRight(p.n.fraction, "0"))
		p.last = max(p.pre+kept, min(p.zeroEnd, p.positions()))
	}
	if p.sign && !p.signPost && p.signAt == p.pre {
		p.signPost = true
	}
	switch {
	case p.plus || p.minus:
		p.signDone = p.minus // MI and SG write it themselves
	case p.fill && !p.n.negative && !p.sign:
		p.signDone = true
		p.bracket = false
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
		if p.digits {
			p.b.WriteByte(',')
		} else if !p.fill {
			p.b.WriteByte(' ')
		}
	case "L":
		p.b.WriteByte(' ')
	case "RN":
		s := pick(t.lower, strings.ToLower(p.n.roman), p.n.roman)
		fmt.Fprintf(&p.b, "%*s", pickInt(p.fill, 0, 15), s)
	case "TH":
		if p.n.roman == "" && !p.n.overflow && !p.n.negative && !p.decimal {
			p.b.WriteString(ordinalSuffix(p.n.whole, !t.lower))
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
