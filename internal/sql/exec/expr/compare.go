package expr

import (
	"strings"

	"github.com/lichendb/lichen/internal/sql/types"
)

// Comparison is one of the six comparison operators.
type Comparison uint8

// The comparison operators.
const (
	EQ Comparison = iota
	NE
	LT
	LE
	GT
	GE
)

var comparisons = map[string]Comparison{
	"=": EQ, "<>": NE, "<": LT, "<=": LE, ">": GT, ">=": GE,
}

// Holds applies the operator to the outcome of a three-way comparison.
func (op Comparison) Holds(r int) bool {
	switch op {
	case EQ:
		return r == 0
	case NE:
		return r != 0
	case LT:
		return r < 0
	case LE:
		return r <= 0
	case GT:
		return r > 0
	}
	return r >= 0
}

// CompareFunc orders two values, neither NULL.
type CompareFunc func(a, b types.Datum) int

// FastCompare returns the order of the common types, nil for the others.
func FastCompare(t *types.T) CompareFunc {
	switch t.Family {
	case types.IntFamily, types.BoolFamily, types.DateFamily, types.TimeFamily,
		types.TimestampFamily, types.TimestampTZFamily:
		return compareInts
	case types.FloatFamily:
		return compareFloats
	case types.StringFamily:
		switch t.Oid {
		case types.Bpchar.Oid:
			return comparePadded
		case types.Text.Oid, types.Varchar.Oid, types.Name.Oid:
			return compareStrings
		}
	case types.BytesFamily, types.UUIDFamily:
		return compareStrings
	}
	return nil
}

func compareInts(a, b types.Datum) int {
	switch x, y := a.Int(), b.Int(); {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

// compareFloats puts NaN above everything and equal to itself.
func compareFloats(a, b types.Datum) int {
	switch x, y := a.Float(), b.Float(); {
	case x < y:
		return -1
	case x > y:
		return 1
	case x == y:
		return 0
	case x != x && y != y:
		return 0
	case x != x:
		return 1
	}
	return -1
}

func compareStrings(a, b types.Datum) int { return strings.Compare(a.Str(), b.Str()) }

// comparePadded ignores trailing blanks.
func comparePadded(a, b types.Datum) int {
	return strings.Compare(strings.TrimRight(a.Str(), " "), strings.TrimRight(b.Str(), " "))
}

// CompareOf returns the btree order of a type.
func CompareOf(t *types.T) CompareFunc {
	if f := FastCompare(t); f != nil {
		return f
	}
	return func(a, b types.Datum) int { return types.CompareTyped(t, a, b, nil) }
}
