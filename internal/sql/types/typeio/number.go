package typeio

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ascii"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// IntBounds returns the range of an integer type.
func IntBounds(t *types.T) (lo, hi int64) {
	switch t.Oid {
	case types.Int2.Oid:
		return math.MinInt16, math.MaxInt16
	case types.Int4.Oid:
		return math.MinInt32, math.MaxInt32
	case types.Int8.Oid, types.Money.Oid, types.Xid8.Oid, types.PgLSN.Oid:
		return math.MinInt64, math.MaxInt64
	case types.TID.Oid:
		return 0, 1<<48 - 1
	}
	return 0, math.MaxUint32 // oid and its kin
}

// safeIntDigits is how many digits cannot overflow an int64.
const safeIntDigits = 18

func parseInt(t *types.T, s string) (types.Datum, error) {
	u := ascii.TrimSpace(s)
	neg := false
	if u != "" && (u[0] == '-' || u[0] == '+') {
		neg = u[0] == '-'
		u = u[1:]
	}
	if u == "" || !ascii.IsDigit(u[0]) {
		return types.Null, types.InvalidText(t, s)
	}
	lo, hi := IntBounds(t)
	var n int64 // kept negative: the range is larger on that side
	for i := 0; i < len(u); i++ {
		if !ascii.IsDigit(u[i]) {
			return types.Null, types.InvalidText(t, s)
		}
		c := int64(u[i] - '0')
		if i >= safeIntDigits && n < (math.MinInt64+c)/10 {
			return types.Null, types.ValueOutOfRange(t, s)
		}
		if n = n*10 - c; n < lo {
			return types.Null, types.ValueOutOfRange(t, s)
		}
	}
	if neg {
		return types.NewInt(n), nil
	}
	if n < -hi {
		return types.Null, types.ValueOutOfRange(t, s)
	}
	return types.NewInt(-n), nil
}

// parseOid reads an oid as strtoul does: a minus sign wraps, and values of
// the signed 32-bit range are taken too.
func parseOid(t *types.T, s string) (types.Datum, error) {
	u := ascii.TrimSpace(s)
	neg := false
	if u != "" && (u[0] == '-' || u[0] == '+') {
		neg = u[0] == '-'
		u = u[1:]
	}
	n, err := strconv.ParseUint(strings.ReplaceAll(u, "_", "?"), 10, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return types.Null, types.ValueOutOfRange(t, s)
	case err != nil:
		return types.Null, types.InvalidText(t, s)
	case n > math.MaxUint32 || neg && n > 1<<31:
		return types.Null, types.ValueOutOfRange(t, s)
	}
	if neg {
		n = -n
	}
	return types.NewInt(int64(uint32(n))), nil
}

// ParseFloat reads a float4 or float8.
func ParseFloat(t *types.T, s string) (types.Datum, error) {
	bits := 64
	if t.Oid == types.Float4.Oid {
		bits = 32
	}
	u := ascii.TrimSpace(s)
	f, err := parseFloatBits(u, bits)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return types.Null, pgerr.New(pgerr.NumericValueOutOfRange, "\"%s\" is out of range for type %s", u, t.SQLName)
	case err != nil:
		return types.Null, types.InvalidText(t, s)
	case f == 0 && hasNonZeroDigit(u):
		return types.Null, pgerr.New(pgerr.NumericValueOutOfRange, "\"%s\" is out of range for type %s", u, t.SQLName)
	}
	return types.NewFloat(f), nil
}

// parseFloatBits is strtod on a whole string.
func parseFloatBits(u string, bits int) (float64, error) {
	v := u
	if v != "" && (v[0] == '-' || v[0] == '+') {
		v = v[1:]
	}
	if strings.EqualFold(v, "nan") {
		return types.NaN(), nil
	}
	if strings.IndexByte(v, '_') >= 0 {
		return 0, strconv.ErrSyntax
	}
	if len(v) > 2 && v[0] == '0' && v[1]|0x20 == 'x' && !strings.ContainsAny(v, "pP") {
		u += "p0"
	}
	return strconv.ParseFloat(u, bits)
}

// hasNonZeroDigit reports whether a number that reads as zero was not written
// as zero, that is, underflowed.
func hasNonZeroDigit(s string) bool {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c|0x20 == 'e' || c|0x20 == 'p':
			return false
		case c >= '1' && c <= '9':
			return true
		}
	}
	return false
}
