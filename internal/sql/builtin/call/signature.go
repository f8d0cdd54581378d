package call

import (
	"strings"

	"github.com/lichendb/lichen/internal/sql/builtin/coerce"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// ArgType returns the declared type of argument i.
func (o *Overload) ArgType(i int) *types.T {
	if o.Variadic && i >= len(o.Args)-1 {
		return o.Args[len(o.Args)-1]
	}
	return o.Args[i]
}

// AcceptsCount reports whether o can be called with n arguments.
func (o *Overload) AcceptsCount(n int) bool {
	if o.Variadic {
		return n >= len(o.Args)
	}
	return n <= len(o.Args) && n >= len(o.Args)-o.Defaults
}

// bindPoly finds the element types that the two polymorphic families stand for
// in a call. In the first family a domain is not its base type. ok is false when the arguments do not fit together; an element
// type stays nil when every argument of the family is an unknown literal. elem[0]
// is the range type, if there is one.
func (o *Overload) bindPoly(argTypes []*types.T) (elem [3]*types.T, ok bool) {
	var compatible []*types.T
	for i, t := range argTypes {
		decl := o.ArgType(i)
		family, array := coerce.PolyKind(decl)
		if family == 0 || coerce.IsUnknown(t) {
			continue
		}
		e := coerce.ElementOf(decl, t, array)
		if e == nil {
			return elem, false
		}
		if family == 2 {
			compatible = append(compatible, e)
			continue
		}
		if r := coerce.RangeOf(decl, t); r != nil {
			if elem[0] != nil && !elem[0].Is(r) {
				return elem, false
			}
			elem[0] = r
		}
		if elem[1] != nil && !elem[1].ShownAs(e) {
			return elem, false
		}
		elem[1] = e
	}
	if len(compatible) > 0 {
		t, err := coerce.CommonType(compatible, "")
		if err != nil {
			return elem, false
		}
		for _, e := range compatible {
			if !coerce.CanCoerce(e, t) {
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
		f, _ := coerce.PolyKind(a)
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
		return nil, nil, NoMatch(o.Name, o.Operator, argTypes)
	}
	used := o.polyUsed()
	if elem[2] == nil {
		elem[2] = types.Text
	}
	if used[1] && elem[1] == nil {
		return nil, nil, UnknownPolymorphic()
	}
	params = make([]*types.T, len(argTypes))
	for i, t := range argTypes {
		if params[i], err = coerce.Concrete(o.ArgType(i), t, elem); err != nil {
			return nil, nil, err
		}
	}
	if o.RetType != nil {
		return params, o.RetType(params), nil
	}
	ret, err = coerce.Concrete(o.Ret, o.Ret, elem)
	return params, ret, err
}

// UnknownPolymorphic says that all arguments of one polymorphic type are literals without a type.
func UnknownPolymorphic() *pgerr.Error {
	return pgerr.New(pgerr.DatatypeMismatch, "could not determine polymorphic type because input has type unknown")
}

// CallableWith reports whether every argument can be coerced implicitly.
func (o *Overload) CallableWith(argTypes []*types.T) bool {
	poly := false
	for i, t := range argTypes {
		decl := o.ArgType(i)
		if family, _ := coerce.PolyKind(decl); family != 0 {
			poly = true
			continue
		}
		if !coerce.CanCoerce(t, decl) {
			return false
		}
	}
	if !poly {
		return true
	}
	_, ok := o.bindPoly(argTypes)
	return ok
}

// CallText renders a call for messages: "integer + text", "foo(integer, text)".
func CallText(name string, operator bool, argTypes []*types.T) string {
	names := make([]string, len(argTypes))
	for i, t := range argTypes {
		names[i] = t.Shown().SQLName
	}
	switch {
	case operator && len(names) == 1:
		return name + " " + names[0]
	case operator && len(names) == 2:
		return names[0] + " " + name + " " + names[1]
	}
	return name + "(" + strings.Join(names, ", ") + ")"
}

// NoMatch is 42883 in PostgreSQL's words.
func NoMatch(name string, operator bool, argTypes []*types.T) *pgerr.Error {
	hint := "No function matches the given name and argument types. You might need to add explicit type casts."
	if operator {
		hint = "No operator matches the given name and argument types. You might need to add explicit type casts."
		if len(argTypes) == 1 {
			hint = "No operator matches the given name and argument type. You might need to add an explicit type cast."
		}
	}
	if operator {
		return pgerr.New(pgerr.UndefinedFunction, "operator does not exist: %s",
			CallText(name, true, argTypes)).WithHint("%s", hint)
	}
	return pgerr.New(pgerr.UndefinedFunction, "function %s does not exist",
		CallText(name, false, argTypes)).WithHint("%s", hint)
}
