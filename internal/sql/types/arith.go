package types

// FloorDiv returns the quotient rounded down: FloorDiv(-1, 7) is -1.
func FloorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// FloorMod returns the remainder of FloorDiv, which is not negative if b is positive.
func FloorMod(a, b int64) int64 {
	m := a % b
	if m < 0 {
		m += b
	}
	return m
}

// AddInt64 returns a + b, false if it overflows.
func AddInt64(a, b int64) (int64, bool) {
	c := a + b
	return c, (c > a) == (b > 0)
}

// SubInt64 returns a - b, false if it overflows.
func SubInt64(a, b int64) (int64, bool) {
	c := a - b
	return c, (c < a) == (b > 0)
}

// MulInt64 returns a × b, false if it overflows.
func MulInt64(a, b int64) (int64, bool) {
	if a == 0 || b == 0 {
		return 0, true
	}
	c := a * b
	return c, c/b == a && (a != -1 || b != -1<<63) && (b != -1 || a != -1<<63)
}

// AbsInt64 returns the absolute value of n; that of the smallest integer is itself.
func AbsInt64(n int64) int64 {
	if n < 0 {
		return -n
	}
	return n
}
