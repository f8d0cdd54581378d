package ascii

import "math"

// TrimSpace cuts C's white space off both ends.
func TrimSpace(s string) string {
	for s != "" && IsSpace(s[0]) {
		s = s[1:]
	}
	for s != "" && IsSpace(s[len(s)-1]) {
		s = s[:len(s)-1]
	}
	return s
}

// HexDigit returns the value of a hexadecimal digit, false if c is none.
func HexDigit(c byte) (byte, bool) {
	switch {
	case IsDigit(c):
		return c - '0', true
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10, true
	}
	return 0, false
}

// ScanUint reads a number as C's strtoul does: white space, a sign (a minus wraps), digits. In
// base 0, 0x and 0 begin other bases. It stops at what is no digit, and at the largest number.
func ScanUint(s string, base int) (u uint64, rest string) {
	rest = s
	for s != "" && IsSpace(s[0]) {
		s = s[1:]
	}
	neg := s != "" && s[0] == '-'
	if neg || s != "" && s[0] == '+' {
		s = s[1:]
	}
	hex := len(s) > 2 && s[0] == '0' && s[1]|' ' == 'x' && digitValue(s[2]) < 16
	switch {
	case base == 0 && hex:
		base, s = 16, s[2:]
	case base == 0 && s != "" && s[0] == '0':
		base = 8
	case base == 0:
		base = 10
	}
	over := false
	for ; s != "" && digitValue(s[0]) < base; s = s[1:] {
		d := uint64(digitValue(s[0]))
		over = over || u > (math.MaxUint64-d)/uint64(base)
		u, rest = u*uint64(base)+d, s[1:]
	}
	switch {
	case over:
		return math.MaxUint64, rest
	case neg:
		return -u, rest
	}
	return u, rest
}

// digitValue is the value of a digit of base 16, 16 for anything else.
func digitValue(c byte) int {
	switch {
	case IsDigit(c):
		return int(c - '0')
	case c|' ' >= 'a' && c|' ' <= 'f':
		return int(c|' '-'a') + 10
	}
	return 16
}

// IsLetter reports whether c is a letter.
func IsLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// IsDigit reports whether c is a decimal digit.
func IsDigit(c byte) bool { return c >= '0' && c <= '9' }

// IsSpace reports whether c is white space in C: a blank, a tab, or an end of line or page.
func IsSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }
