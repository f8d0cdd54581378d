package typeio

import (
	"math"
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ascii"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Money is an integer of cents. Its text is that of lc_monetary C, the only one there is: dollars
// with a point, commas between thousands, a minus in front.

// MoneyDigits is how many fractional digits an amount has, centsPerUnit what they make.
const (
	MoneyDigits  = 2
	centsPerUnit = 100
)

// parseMoney reads an amount. Sign and currency may stand before it in either order, or behind it;
// parentheses make it negative; further fractional digits round.
func parseMoney(s string) (types.Datum, error) {
	skip := func(p *string, set string) (found byte) {
		for *p != "" && ascii.IsSpace((*p)[0]) {
			*p = (*p)[1:]
		}
		if *p != "" && strings.IndexByte(set, (*p)[0]) >= 0 {
			found, *p = (*p)[0], (*p)[1:]
		}
		return found
	}
	u := s
	skip(&u, "$")
	sign := skip(&u, "-(+")
	neg := sign == '-' || sign == '('
	skip(&u, "$")
	skip(&u, "")
	cents, u, ok := scanCents(u)
	if !ok {
		return types.Null, types.ValueOutOfRange(types.Money, s)
	}
	for u != "" {
		switch c := u[0]; {
		case c == '-':
			neg = true
		case !ascii.IsSpace(c) && c != ')' && c != '+' && c != '$':
			return types.Null, types.InvalidText(types.Money, s)
		}
		u = u[1:]
	}
	if neg {
		return types.NewInt(cents), nil
	}
	if cents == math.MinInt64 {
		return types.Null, types.ValueOutOfRange(types.Money, s)
	}
	return types.NewInt(-cents), nil
}

// scanCents reads the digits of an amount as a negative number of cents, which has the larger
// range; ok is false if it has no place there.
func scanCents(u string) (cents int64, rest string, ok bool) {
	push := func(digit int64) {
		if cents < (math.MinInt64+digit)/10 {
			ok = false
		}
		cents = cents*10 - digit
	}
	ok = true
	point, digits := false, 0
	for ; u != ""; u = u[1:] {
		switch c := u[0]; {
		case ascii.IsDigit(c) && digits < MoneyDigits:
			push(int64(c - '0'))
			if point {
				digits++
			}
			continue
		case c == '.' && !point:
			point = true
			continue
		case c == ',':
			continue
		}
		break
	}
	for ; digits < MoneyDigits; digits++ {
		push(0)
	}
	if u != "" && ascii.IsDigit(u[0]) && u[0] >= '5' {
		ok = ok && cents > math.MinInt64
		cents--
	}
	for u != "" && ascii.IsDigit(u[0]) {
		u = u[1:]
	}
	return cents, u, ok
}

func appendMoney(dst []byte, cents int64) []byte {
	if cents < 0 {
		dst = append(dst, '-')
	}
	u := types.AbsUint64(cents)
	units := strconv.FormatUint(u/centsPerUnit, 10)
	dst = append(dst, '$')
	for i := range len(units) {
		if i > 0 && (len(units)-i)%3 == 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, units[i])
	}
	return append(dst, '.', '0'+byte(u/10%10), '0'+byte(u%10))
}
