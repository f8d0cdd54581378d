package encoding

import (
	"math"

	"github.com/cockroachdb/apd/v3"
)

// Ordered decimals begin with the class of the value. A finite value other than
// zero is 0.d1d2d3… × 10^e with d1 ≠ 0 and no trailing zero; after the class
// come e as an ordered integer, the digits in pairs (each pair plus one, so
// that no byte is 0) and a 0. For a negative value all of that is inverted.
// Trailing zeros are thus not kept: 1.0 and 1.00 have the same bytes.
const (
	decimalNegInf byte = 0x01 + iota
	decimalNegative
	decimalZero
	decimalPositive
	decimalPosInf
	decimalNaN
)

const digitsEnd = 0x00

// AppendDecimal appends d so that the order of encodings is PostgreSQL's order
// of numerics: -Infinity first, then the numbers, Infinity, NaN.
func AppendDecimal(dst []byte, d *apd.Decimal) []byte {
	switch {
	case d.Form == apd.NaN || d.Form == apd.NaNSignaling:
		return append(dst, decimalNaN)
	case d.Form == apd.Infinite && d.Negative:
		return append(dst, decimalNegInf)
	case d.Form == apd.Infinite:
		return append(dst, decimalPosInf)
	case d.Coeff.Sign() == 0:
		return append(dst, decimalZero)
	}
	class := decimalPositive
	if d.Negative {
		class = decimalNegative
	}
	dst = append(dst, class)
	start := len(dst)
	dst = appendMagnitude(dst, d)
	if d.Negative {
		invertFrom(dst, start)
	}
	return dst
}

// AppendDecimalDesc is AppendDecimal with the order reversed.
func AppendDecimalDesc(dst []byte, d *apd.Decimal) []byte {
	return invertFrom(AppendDecimal(dst, d), len(dst))
}

func appendMagnitude(dst []byte, d *apd.Decimal) []byte {
	var scratch [64]byte
	digits := d.Coeff.Append(scratch[:0], 10)
	dst = AppendVarintOrdered(dst, int64(d.Exponent)+int64(len(digits)))
	for len(digits) > 0 && digits[len(digits)-1] == '0' {
		digits = digits[:len(digits)-1]
	}
	for len(digits) > 0 {
		pair := (digits[0] - '0') * 10
		if len(digits) == 1 {
			dst = append(dst, pair+1)
			break
		}
		dst = append(dst, pair+digits[1]-'0'+1)
		digits = digits[2:]
	}
	return append(dst, digitsEnd)
}

// DecodeDecimal reads what AppendDecimal wrote into d, with no trailing zeros
// in the coefficient and the exponent to match.
func DecodeDecimal(b []byte, d *apd.Decimal) (rest []byte, err error) {
	return decodeDecimal(b, d, 0)
}

// DecodeDecimalDesc reads what AppendDecimalDesc wrote.
func DecodeDecimalDesc(b []byte, d *apd.Decimal) (rest []byte, err error) {
	return decodeDecimal(b, d, 0xff)
}

func decodeDecimal(b []byte, d *apd.Decimal, mask byte) ([]byte, error) {
	if len(b) == 0 {
		return nil, ErrTruncated
	}
	class, rest := b[0]^mask, b[1:]
	*d = apd.Decimal{}
	switch class {
	case decimalNegInf, decimalPosInf:
		d.Form, d.Negative = apd.Infinite, class == decimalNegInf
		return rest, nil
	case decimalNaN:
		d.Form = apd.NaN
		return rest, nil
	case decimalZero:
		return rest, nil
	case decimalNegative:
		d.Negative = true
		return decodeMagnitude(rest, d, ^mask)
	case decimalPositive:
		return decodeMagnitude(rest, d, mask)
	default:
		return nil, ErrMalformed
	}
}

func decodeMagnitude(b []byte, d *apd.Decimal, mask byte) ([]byte, error) {
	exp, b, err := decodeVarint(b, mask)
	if err != nil {
		return nil, err
	}
	var scratch [64]byte
	digits := scratch[:0]
	for i, c := range b {
		c ^= mask
		if c == digitsEnd {
			return b[i+1:], setDigits(d, digits, exp)
		}
		if c > 100 {
			return nil, ErrMalformed
		}
		digits = append(digits, '0'+(c-1)/10, '0'+(c-1)%10)
	}
	return nil, ErrTruncated
}

func setDigits(d *apd.Decimal, digits []byte, exp int64) error {
	if len(digits) == 0 || digits[0] == '0' {
		return ErrMalformed
	}
	if digits[len(digits)-1] == '0' {
		digits = digits[:len(digits)-1]
		if digits[len(digits)-1] == '0' {
			return ErrMalformed // a pair of zeros at the end is never written
		}
	}
	e := exp - int64(len(digits))
	if exp > math.MaxInt32+int64(len(digits)) || e < math.MinInt32 || e > math.MaxInt32 {
		return ErrMalformed
	}
	d.Exponent = int32(e)
	if len(digits) <= 18 {
		var u uint64
		for _, c := range digits {
			u = u*10 + uint64(c-'0')
		}
		d.Coeff.SetUint64(u)
		return nil
	}
	if _, ok := d.Coeff.SetString(string(digits), 10); !ok {
		return ErrMalformed
	}
	return nil
}

// SkipDecimal returns what follows a value of AppendDecimal.
func SkipDecimal(b []byte) (rest []byte, err error) {
	var d apd.Decimal
	return decodeDecimal(b, &d, 0)
}
