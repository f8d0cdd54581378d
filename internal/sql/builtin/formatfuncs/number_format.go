package formatfuncs

import (
	"strings"
	"unsafe"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/builtin/stringfuncs"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// numberToken is a piece of a number format.
type numberToken struct {
	pattern string // upper case; "" for literal text
	lower   bool
	literal string
}

// numberPatterns lists the patterns; where one begins another it comes first.
var numberPatterns = []string{"EEEE", "PR", "PL", "MI", "SG", "RN", "TH", "FM", "9", "0", ".", ",", "D", "G", "L", "SP", "S", "V", "B", "C"}

// numberFormat is a parsed format of to_char and to_number for numbers.
type numberFormat struct {
	tokens        []numberToken
	pre, post     int // digit positions before and after the point
	multi         int // digits after V
	zero          bool
	zeroStart     int // the first position before the point that 0 fills
	zeroEnd       int // the number of the last position that is a 0
	decimal, fill bool
	sign          bool // S
	signPost      bool // S after the digits
	signAt        int  // positions before S
	plus, minus   bool
	bracket       bool // PR
	roman, eeee   bool
	hasMulti      bool
}

func errNumberFormat(format string, args ...any) error {
	return pgerr.New(pgerr.SyntaxError, format, args...)
}

// tokenizeNumberFormat splits a format: 53200 if its tokens take more memory than there is.
func tokenizeNumberFormat(c *call.Context, s string) ([]numberToken, error) {
	if err := c.Reserve(len(s) * int(unsafe.Sizeof(numberToken{}))); err != nil {
		return nil, err
	}
	var tokens []numberToken
	for s != "" {
		if err := c.Step(tokenSteps); err != nil {
			return nil, err
		}
		if s[0] == '"' {
			var lits []dateToken
			lits, s = literalTokens(c, s)
			for _, l := range lits {
				tokens = append(tokens, numberToken{literal: l.literal})
			}
			continue
		}
		p, lower := matchNumberPattern(s)
		if p == "" {
			if strings.HasPrefix(s, `\"`) {
				s = s[1:]
			}
			n := stringfuncs.CharLen(s, false)
			tokens = append(tokens, numberToken{literal: s[:n]})
			s = s[n:]
			continue
		}
		tokens = append(tokens, numberToken{pattern: p, lower: lower})
		s = s[len(p):]
	}
	return tokens, nil
}

func matchNumberPattern(s string) (pattern string, lower bool) {
	for _, p := range numberPatterns {
		switch {
		case strings.HasPrefix(s, p):
			return p, false
		case strings.HasPrefix(s, strings.ToLower(p)):
			return p, true
		}
	}
	return "", false
}

// parseNumberFormat reads a format and refuses contradictory ones.
func parseNumberFormat(c *call.Context, s string) (*numberFormat, error) {
	tokens, err := tokenizeNumberFormat(c, s)
	if err != nil {
		return nil, err
	}
	f := &numberFormat{tokens: tokens}
	for _, t := range f.tokens {
		if t.pattern == "" {
			continue
		}
		if f.eeee {
			return nil, errNumberFormat("\"EEEE\" must be the last pattern used")
		}
		if err := f.note(t.pattern); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// note takes account of one pattern.
func (f *numberFormat) note(p string) error {
	switch p {
	case "9", "0":
		return f.noteDigit(p)
	case ".", "D":
		switch {
		case f.decimal:
			return errNumberFormat("multiple decimal points")
		case f.hasMulti:
			return errNumberFormat("cannot use \"V\" and decimal point together")
		}
		f.decimal = true
	case "FM":
		f.fill = true
	case "S", "MI", "PL", "SG", "PR":
		return f.noteSign(p)
	case "RN":
		f.roman = true
	case "V":
		if f.decimal {
			return errNumberFormat("cannot use \"V\" and decimal point together")
		}
		f.hasMulti = true
	case "EEEE":
		if f.fill || f.sign || f.plus || f.minus || f.bracket || f.roman || f.hasMulti {
			return pgerr.New(pgerr.SyntaxError, "\"EEEE\" is incompatible with other formats").WithDetail(
				"\"EEEE\" may only be used together with digit and decimal point patterns.")
		}
		f.eeee = true
	}
	return nil
}

func (f *numberFormat) noteDigit(p string) error {
	if f.bracket {
		return errNumberFormat("\"%s\" must be ahead of \"PR\"", p)
	}
	if p == "9" && f.hasMulti {
		f.multi++
		return nil
	}
	if p == "0" && !f.zero && !f.decimal {
		f.zero, f.zeroStart = true, f.pre
	}
	if f.decimal {
		f.post++
	} else {
		f.pre++
	}
	if p == "0" {
		f.zeroEnd = f.pre + f.post
	}
	return nil
}

func (f *numberFormat) noteSign(p string) error {
	conflict := errNumberFormat("cannot use \"S\" and \"PL\"/\"MI\"/\"SG\"/\"PR\" together")
	if p == "S" {
		switch {
		case f.sign:
			return errNumberFormat("cannot use \"S\" twice")
		case f.plus || f.minus || f.bracket:
			return conflict
		}
		f.sign, f.signPost, f.signAt = true, f.decimal, f.pre
		return nil
	}
	if p == "PR" {
		if f.sign || f.plus || f.minus {
			return errNumberFormat("cannot use \"PR\" and \"S\"/\"PL\"/\"MI\"/\"SG\" together")
		}
		f.bracket = true
		return nil
	}
	if f.sign {
		return errNumberFormat("cannot use \"S\" and \"%s\" together", p)
	}
	f.plus = f.plus || p == "PL" || p == "SG"
	f.minus = f.minus || p == "MI" || p == "SG"
	return nil
}
