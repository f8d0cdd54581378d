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

// CompareFunc orders two values, neither NULL. It counts the steps of large ones; what it returns
// once they fail means nothing, and no Program hands out what came of it.
type CompareFunc func(a, b types.Datum) int

// Simple reports whether values of t are ordered without a call: as integers, floats or bytes.
func Simple(t *types.T) bool {
	switch t.Family {
	case types.IntFamily, types.BoolFamily, types.DateFamily, types.TimeFamily, types.TimestampFamily,
		types.TimestampTZFamily, types.FloatFamily, types.BytesFamily, types.UUIDFamily:
		return true
	case types.StringFamily:
		return t.Oid == types.Bpchar.Oid || t.Oid == types.Text.Oid || t.Oid == types.Varchar.Oid || t.Oid == types.Name.Oid
	}
	return false
}

// CompareOf returns the btree order of a type.
func (r *State) CompareOf(t *types.T) CompareFunc {
	switch {
	case !Simple(t):
		return func(a, b types.Datum) int { return types.CompareTyped(t, a, b, r.Format()) }
	case t.Family == types.FloatFamily:
		return compareFloats
	case t.Oid == types.Bpchar.Oid:
		return func(a, b types.Datum) int { return types.ComparePadded(a.Str(), b.Str(), r.Format()) }
	case t.Family == types.StringFamily, t.Family == types.BytesFamily, t.Family == types.UUIDFamily:
		return r.compareStrings
	}
	return compareInts
}

// CompareOf returns the btree order of a type.
func (c *Compiler) CompareOf(t *types.T) CompareFunc { return c.state.CompareOf(t) }

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

func (r *State) compareStrings(a, b types.Datum) int {
	x, y := a.Str(), b.Str()
	if len(x) <= types.StepBytes || len(y) <= types.StepBytes {
		return strings.Compare(x, y)
	}
	return types.CompareStrings(x, y, r.Format())
}
