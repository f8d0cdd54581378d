package coerce

import (
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// plain strips a modifier: results of functions carry none.
func plain(t *types.T) *types.T { return t.WithTypmod(-1) }

// PolyKind sorts the polymorphic pseudo-types into the two families that are
// resolved independently, each as element or array.
func PolyKind(t *types.T) (family int, array bool) {
	switch t.Oid {
	case types.AnyElement.Oid, types.AnyNonArray.Oid, types.AnyEnum.Oid, types.AnyRange.Oid, types.AnyMultirange.Oid:
		return 1, false
	case types.AnyArray.Oid:
		return 1, true
	case types.AnyCompatible.Oid, types.AnyCompatibleNonArray.Oid, types.AnyCompatibleRange.Oid, types.AnyCompatibleMultirange.Oid:
		return 2, false
	case types.AnyCompatibleArray.Oid:
		return 2, true
	}
	return 0, false
}

// IsPolymorphic reports whether a type stands for those of a call's arguments.
func IsPolymorphic(t *types.T) bool {
	family, _ := PolyKind(t)
	return family != 0
}

// StandsFor reports whether a cast to the pseudo-type decl leaves values of type t as they are.
func StandsFor(decl, t *types.T) bool {
	if decl.Is(types.Any) {
		return true
	}
	family, array := PolyKind(decl)
	switch {
	case family == 0:
		return false
	case IsUnknown(t):
		return !array && !decl.Is(types.AnyEnum) && !isAnyRange(decl) && !isAnyMultirange(decl)
	}
	return ElementOf(decl, t, array) != nil
}

func isAnyRange(t *types.T) bool { return t.Is(types.AnyRange) || t.Is(types.AnyCompatibleRange) }

func isAnyMultirange(t *types.T) bool {
	return t.Is(types.AnyMultirange) || t.Is(types.AnyCompatibleMultirange)
}

// ElementOf returns the type that an argument of type t gives the type
// variable of a polymorphic family, nil when it does not fit. A domain over an enum is no enum.
func ElementOf(decl, t *types.T, array bool) *types.T {
	switch {
	case array:
		return t.Elem
	case decl.Oid == types.AnyEnum.Oid && (!t.IsEnum() || t.Domain() != nil),
		isAnyRange(decl) && t.Family != types.RangeFamily,
		isAnyMultirange(decl) && t.Family != types.MultirangeFamily,
		(decl.Is(types.AnyNonArray) || decl.Is(types.AnyCompatibleNonArray)) && t.Elem != nil:
		return nil
	case isAnyRange(decl):
		return t.Sub
	case isAnyMultirange(decl):
		return t.Sub.Sub
	}
	return t
}

// RangeOf returns the range type that an argument of type t gives to the other
// Ranges and multiranges of a call, nil if it is neither.
func RangeOf(decl, t *types.T) *types.T {
	switch decl.Oid {
	case types.AnyRange.Oid:
		return t
	case types.AnyMultirange.Oid:
		return t.Sub
	}
	return nil
}

// rangeTypeOf returns the range or multirange type over a subtype, which is that
// of another argument if one tells.
func rangeTypeOf(decl, given, sub, known *types.T) (*types.T, error) {
	if known != nil {
		if decl.Oid == types.AnyRange.Oid {
			return known, nil
		}
		if m, ok := types.MultirangeOf(known); ok {
			return m, nil
		}
	}
	if given.Sub != nil && (given.Family == types.RangeFamily) == (decl.Oid == types.AnyRange.Oid) {
		return given, nil
	}
	for _, r := range []*types.T{types.Int4Range, types.Int8Range, types.NumRange, types.TSRange, types.TSTZRange, types.DateRange} {
		if sub != nil && r.Sub.Is(sub) {
			if decl.Oid == types.AnyRange.Oid {
				return r, nil
			}
			m, _ := types.MultirangeOf(r)
			return m, nil
		}
	}
	return nil, pgerr.New(pgerr.UndefinedObject, "could not find range type for the given element type")
}

// Concrete replaces a pseudo-type of a signature. given is the argument's own
// type, used where the signature takes any.
func Concrete(decl, given *types.T, elem [3]*types.T) (*types.T, error) {
	family, array := PolyKind(decl)
	switch {
	case family != 0 && array:
		t, ok := types.ArrayOf(plain(elem[family]))
		if !ok {
			return nil, pgerr.New(pgerr.UndefinedObject,
				"could not find array type for data type %s", elem[family].SQLName)
		}
		return t, nil
	case decl.Oid == types.AnyRange.Oid, decl.Oid == types.AnyMultirange.Oid:
		return rangeTypeOf(decl, given, elem[family], elem[0])
	case family != 0:
		return plain(elem[family]), nil
	case decl.Oid == types.Any.Oid && IsUnknown(given):
		return types.Text, nil
	case decl.Oid == types.Any.Oid:
		return given, nil
	}
	return decl, nil
}

// CanCoerce reports whether a value of type from may be passed implicitly
// where type to is declared.
func CanCoerce(from, to *types.T) bool {
	if from.Oid == to.Oid || to.Oid == types.Any.Oid {
		return true
	}
	if IsUnknown(from) {
		return !IsPseudo(to)
	}
	if IsPseudo(to) {
		return true // checked by bindPoly
	}
	return implicitCast(from, to)
}
