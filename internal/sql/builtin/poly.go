package builtin

import (
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// plain strips a modifier: results of functions carry none.
func plain(t *types.T) *types.T { return t.WithTypmod(-1) }

// polyKind sorts the polymorphic pseudo-types into the two families that are
// resolved independently, each as element or array.
func polyKind(t *types.T) (family int, array bool) {
	switch t.Oid {
	case types.AnyElement.Oid, anyNonArray.Oid, anyEnum.Oid, anyRange.Oid, anyMultirange.Oid:
		return 1, false
	case types.AnyArray.Oid:
		return 1, true
	case anyCompatible.Oid, types.AnyCompatibleNonArray.Oid, types.AnyCompatibleRange.Oid, types.AnyCompatibleMultirange.Oid:
		return 2, false
	case anyCompatibleArray.Oid:
		return 2, true
	}
	return 0, false
}

// IsPolymorphic reports whether a type stands for those of a call's arguments.
func IsPolymorphic(t *types.T) bool {
	family, _ := polyKind(t)
	return family != 0
}

// StandsFor reports whether a cast to the pseudo-type decl leaves values of type t as they are.
func StandsFor(decl, t *types.T) bool {
	if decl.Is(types.Any) {
		return true
	}
	family, array := polyKind(decl)
	switch {
	case family == 0:
		return false
	case isUnknown(t):
		return !array && !decl.Is(anyEnum) && !isAnyRange(decl) && !isAnyMultirange(decl)
	}
	return elementOf(decl, t, array) != nil
}

func isAnyRange(t *types.T) bool { return t.Is(anyRange) || t.Is(types.AnyCompatibleRange) }

func isAnyMultirange(t *types.T) bool {
	return t.Is(anyMultirange) || t.Is(types.AnyCompatibleMultirange)
}

// elementOf returns the type that an argument of type t gives the type
// variable of a polymorphic family, nil when it does not fit.
func elementOf(decl, t *types.T, array bool) *types.T {
	switch {
	case array:
		return t.Elem
	case decl.Oid == anyEnum.Oid && !t.IsEnum(),
		isAnyRange(decl) && t.Family != types.RangeFamily,
		isAnyMultirange(decl) && t.Family != types.MultirangeFamily,
		(decl.Is(anyNonArray) || decl.Is(types.AnyCompatibleNonArray)) && t.Elem != nil:
		return nil
	case isAnyRange(decl):
		return t.Sub
	case isAnyMultirange(decl):
		return t.Sub.Sub
	}
	return t
}

// rangeOf returns the range type that an argument of type t gives to the other
// ranges and multiranges of a call, nil if it is neither.
func rangeOf(decl, t *types.T) *types.T {
	switch decl.Oid {
	case anyRange.Oid:
		return t
	case anyMultirange.Oid:
		return t.Sub
	}
	return nil
}

// bindPoly finds the element types that the two polymorphic families stand for
// in a call. ok is false when the arguments do not fit together; an element
// type stays nil when every argument of the family is an unknown literal. elem[0]
// is the range type, if there is one.
func (o *Overload) bindPoly(argTypes []*types.T) (elem [3]*types.T, ok bool) {
	var compatible []*types.T
	for i, t := range argTypes {
		decl := o.argType(i)
		family, array := polyKind(decl)
		if family == 0 || isUnknown(t) {
			continue
		}
		e := elementOf(decl, t, array)
		if e == nil {
			return elem, false
		}
		if family == 2 {
			compatible = append(compatible, e)
			continue
		}
		if r := rangeOf(decl, t); r != nil {
			if elem[0] != nil && !elem[0].Is(r) {
				return elem, false
			}
			elem[0] = r
		}
		if elem[1] != nil && !elem[1].Is(e) {
			return elem, false
		}
		elem[1] = e
	}
	if len(compatible) > 0 {
		t, err := CommonType(compatible, "")
		if err != nil {
			return elem, false
		}
		for _, e := range compatible {
			if !canCoerce(e, t) {
				return elem, false
			}
		}
		elem[2] = t
	}
	return elem, true
}

// polyUsed reports which polymorphic families occur in o.
func (o *Overload) polyUsed() (used [3]bool) {
	for _, a := range o.Args {
		f, _ := polyKind(a)
		used[f] = true
	}
	return used
}

// Signature returns the concrete types that the arguments of a call must be
// coerced to, and the type of its result. argTypes are the types as written
// (unknown literals as types.Unknown) and must have been accepted by one of
// the Resolve functions.
func (o *Overload) Signature(argTypes []*types.T) (params []*types.T, ret *types.T, err error) {
	elem, ok := o.bindPoly(argTypes)
	if !ok {
		return nil, nil, noMatch(o.Name, o.Operator, argTypes)
	}
	used := o.polyUsed()
	if elem[2] == nil {
		elem[2] = types.Text
	}
	if used[1] && elem[1] == nil {
		return nil, nil, pgerr.New(pgerr.DatatypeMismatch,
			"could not determine polymorphic type because input has type unknown")
	}
	params = make([]*types.T, len(argTypes))
	for i, t := range argTypes {
		if params[i], err = concrete(o.argType(i), t, elem); err != nil {
			return nil, nil, err
		}
	}
	if o.RetType != nil {
		return params, o.RetType(params), nil
	}
	ret, err = concrete(o.Ret, o.Ret, elem)
	return params, ret, err
}

// rangeTypeOf returns the range or multirange type over a subtype, which is that
// of another argument if one tells.
func rangeTypeOf(decl, given, sub, known *types.T) (*types.T, error) {
	if known != nil {
		if decl.Oid == anyRange.Oid {
			return known, nil
		}
		if m, ok := types.MultirangeOf(known); ok {
			return m, nil
		}
	}
	if given.Sub != nil && (given.Family == types.RangeFamily) == (decl.Oid == anyRange.Oid) {
		return given, nil
	}
	for _, r := range []*types.T{types.Int4Range, types.Int8Range, types.NumRange, types.TSRange, types.TSTZRange, types.DateRange} {
		if sub != nil && r.Sub.Is(sub) {
			if decl.Oid == anyRange.Oid {
				return r, nil
			}
			m, _ := types.MultirangeOf(r)
			return m, nil
		}
	}
	return nil, pgerr.New(pgerr.UndefinedObject, "could not find range type for the given element type")
}

// concrete replaces a pseudo-type of a signature. given is the argument's own
// type, used where the signature takes any.
func concrete(decl, given *types.T, elem [3]*types.T) (*types.T, error) {
	family, array := polyKind(decl)
	switch {
	case family != 0 && array:
		t, ok := types.ArrayOf(plain(elem[family]))
		if !ok {
			return nil, pgerr.New(pgerr.UndefinedObject,
				"could not find array type for data type %s", elem[family].SQLName)
		}
		return t, nil
	case decl.Oid == anyRange.Oid, decl.Oid == anyMultirange.Oid:
		return rangeTypeOf(decl, given, elem[family], elem[0])
	case family != 0:
		return plain(elem[family]), nil
	case decl.Oid == types.Any.Oid && isUnknown(given):
		return types.Text, nil
	case decl.Oid == types.Any.Oid:
		return given, nil
	}
	return decl, nil
}
