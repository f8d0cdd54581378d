package builtin

import (
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/builtin/coerce"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// ResolveFunction picks the overload of a scalar or set-returning function for
// the given argument types, unknown literals being types.Unknown. Errors:
// 42883 when none fits, 42725 when several fit equally well.
func ResolveFunction(name string, argTypes []*types.T) (*call.Overload, error) {
	if postgresOnly(name) {
		return nil, pgerr.Unsupported("function %s is not supported", call.CallText(name, false, argTypes))
	}
	return resolve(name, false, Functions(name), argTypes)
}

// ResolveVariadic is ResolveFunction for a call whose last argument is the array of a variadic one;
// argTypes has the type of its elements there.
func ResolveVariadic(name string, argTypes []*types.T) (*call.Overload, error) {
	var candidates []*call.Overload
	for _, o := range Functions(name) {
		if o.Variadic && len(o.Args) == len(argTypes) {
			candidates = append(candidates, o)
		}
	}
	return resolve(name, false, candidates, argTypes)
}

// SuggestFunction adds the function that may be meant to the error for a name that
// none has.
func SuggestFunction(name string, err error) error {
	if pgerr.CodeOf(err) != pgerr.UndefinedFunction || len(Functions(name)) > 0 || len(aggregateOverloads(name)) > 0 {
		return err
	}
	return pgerr.From(err).WithSuggestion("function", name, callable)
}

// ResolveOperator picks the operator for one (prefix) or two operands.
func ResolveOperator(name string, argTypes []*types.T) (*call.Overload, error) {
	return ResolveOperatorSeeing(name, argTypes, nil)
}

// ResolveOperatorSeeing is ResolveOperator among the operators of the extensions too for which sees holds, and of those that
// bring a type of an operand.
func ResolveOperatorSeeing(name string, argTypes []*types.T, sees func(extension string) bool) (*call.Overload, error) {
	return resolve(name, true, OperatorsSeen(name, argTypes, sees), argTypes)
}

// OperatorsSeen are the candidates of ResolveOperatorSeeing.
func OperatorsSeen(name string, argTypes []*types.T, sees func(extension string) bool) []*call.Overload {
	candidates := Operators(name, len(argTypes) == 1)
	for _, o := range ExtensionOperators(name, len(argTypes) == 1) {
		brings := func(t *types.T) bool { return t.Extension() == o.Extension }
		if slices.ContainsFunc(argTypes, brings) || sees != nil && sees(o.Extension) {
			candidates = append(slices.Clip(candidates), o)
		}
	}
	return candidates
}

// ResolveAggregate picks the overload of an aggregate.
func ResolveAggregate(name string, argTypes []*types.T) (*call.Aggregate, error) {
	candidates := aggregateOverloads(name)
	for _, o := range builtins().aggregates[extensionName(name)] {
		if slices.ContainsFunc(argTypes, func(t *types.T) bool { return t.Extension() == o.Extension }) {
			candidates = append(slices.Clip(candidates), o)
		}
	}
	if len(argTypes) == 0 {
		for _, o := range candidates {
			if len(o.Args) == 0 {
				return o.Agg, nil
			}
		}
	}
	o, err := resolve(name, false, candidates, argTypes)
	if err != nil {
		return nil, err
	}
	return o.Agg, nil
}

// Resolve picks among candidates of one name; see ResolveFunction and
// ResolveOperator, which also word the error when there is no candidate.
func Resolve(candidates []*call.Overload, argTypes []*types.T) (*call.Overload, error) {
	if len(candidates) == 0 {
		return nil, call.NoMatch("?", false, argTypes)
	}
	return resolve(candidates[0].Name, candidates[0].Operator, candidates, argTypes)
}

// resolve follows the manual's sections 10.2 (operators) and 10.3 (functions).
func resolve(name string, operator bool, candidates []*call.Overload, argTypes []*types.T) (*call.Overload, error) {
	if o := exactMatch(candidates, argTypes, operator); o != nil {
		return o, nil
	}
	var fits []*call.Overload
	for _, o := range candidates {
		if o.AcceptsCount(len(argTypes)) && o.CallableWith(argTypes) {
			fits = append(fits, o)
		}
	}
	fits = preferFewerDefaults(fits)
	if len(fits) > 1 {
		fits = preferPlain(fits, len(argTypes))
		fits = selectCandidates(fits, argTypes)
	}
	switch len(fits) {
	case 0:
		return nil, call.NoMatch(name, operator, argTypes)
	case 1:
		return fits[0], nil
	}
	return nil, ambiguous(name, operator, argTypes)
}

// exactMatch finds the overload whose declared types are the given ones. For a
// binary operator with one unknown operand, the other's type stands for both.
func exactMatch(candidates []*call.Overload, argTypes []*types.T, operator bool) *call.Overload {
	find := func(ts []*types.T) *call.Overload {
	next:
		for _, o := range candidates {
			if o.Variadic || len(o.Args) != len(ts) {
				continue
			}
			for i, t := range ts {
				if o.Args[i].Oid != t.Oid {
					continue next
				}
			}
			return o
		}
		return nil
	}
	if operator && len(argTypes) == 2 && coerce.IsUnknown(argTypes[0]) != coerce.IsUnknown(argTypes[1]) {
		known := argTypes[0]
		if coerce.IsUnknown(known) {
			known = argTypes[1]
		}
		if o := find([]*types.T{known, known}); o != nil {
			return o
		}
	}
	return find(argTypes)
}

// preferPlain drops variadic candidates where another takes the same types as they are.
func preferPlain(fits []*call.Overload, args int) []*call.Overload {
	same := func(a, b *call.Overload) bool {
		for i := range args {
			if !a.ArgType(i).Is(b.ArgType(i)) {
				return false
			}
		}
		return true
	}
	var kept []*call.Overload
	for _, o := range fits {
		plain := func(p *call.Overload) bool { return !p.Variadic && len(p.Args) == args && same(o, p) }
		if !o.Variadic || !slices.ContainsFunc(fits, plain) {
			kept = append(kept, o)
		}
	}
	return kept
}

// preferFewerDefaults drops candidates that need default arguments where
// another needs fewer for the same given types.
func preferFewerDefaults(fits []*call.Overload) []*call.Overload {
	if len(fits) < 2 {
		return fits
	}
	least := len(fits[0].Args)
	for _, o := range fits {
		least = min(least, len(o.Args))
	}
	var kept []*call.Overload
	for _, o := range fits {
		if o.Defaults == 0 || len(o.Args) == least {
			kept = append(kept, o)
		}
	}
	return kept
}

// selectCandidates applies the tie-breaking steps of 10.2 step 3 (10.3 step 4)
// one after the other until one candidate is left or no step helps.
func selectCandidates(fits []*call.Overload, argTypes []*types.T) []*call.Overload {
	var cats []byte
	unknowns := 0
	for _, t := range argTypes {
		c, _ := coerce.Category(t)
		cats = append(cats, c)
		if coerce.IsUnknown(t) {
			unknowns++
		}
	}
	fits = keepMost(fits, argTypes, func(i int, decl *types.T) bool {
		return decl.Oid == argTypes[i].Oid
	})
	if len(fits) == 1 {
		return fits
	}
	fits = keepMost(fits, argTypes, func(i int, decl *types.T) bool {
		return decl.Oid == argTypes[i].Oid || coerce.IsPreferredIn(decl, cats[i])
	})
	if len(fits) == 1 || unknowns == 0 {
		return fits
	}
	if fits = byUnknownCategory(fits, argTypes); len(fits) == 1 {
		return fits
	}
	if unknowns < len(argTypes) {
		return assumeKnownType(fits, argTypes)
	}
	return fits
}

// keepMost keeps the candidates with the most arguments, unknown ones aside,
// for which match holds.
func keepMost(fits []*call.Overload, argTypes []*types.T, match func(i int, decl *types.T) bool) []*call.Overload {
	var best []*call.Overload
	most := -1
	for _, o := range fits {
		n := 0
		for i, t := range argTypes {
			if !coerce.IsUnknown(t) && match(i, o.ArgType(i)) {
				n++
			}
		}
		if n > most {
			best, most = best[:0:0], n
		}
		if n == most {
			best = append(best, o)
		}
	}
	return best
}

// byUnknownCategory picks, for every unknown argument, the string category if
// any candidate accepts it, else the one that all candidates agree on; then
// keeps the candidates of that category, and of its preferred type if any.
func byUnknownCategory(fits []*call.Overload, argTypes []*types.T) []*call.Overload {
	cats := make([]byte, len(argTypes))
	preferred := make([]bool, len(argTypes))
	for i, t := range argTypes {
		if !coerce.IsUnknown(t) {
			continue
		}
		conflict := false
		for j, o := range fits {
			c, p := coerce.Category(o.ArgType(i))
			switch {
			case j == 0:
				cats[i], preferred[i] = c, p
			case c == cats[i]:
				preferred[i] = preferred[i] || p
			case c == 'S':
				cats[i], preferred[i] = c, p
			default:
				conflict = true
			}
		}
		if conflict && cats[i] != 'S' {
			return fits
		}
	}
	var kept []*call.Overload
next:
	for _, o := range fits {
		for i, t := range argTypes {
			if !coerce.IsUnknown(t) {
				continue
			}
			c, p := coerce.Category(o.ArgType(i))
			if c != cats[i] || preferred[i] && !p {
				continue next
			}
		}
		kept = append(kept, o)
	}
	if len(kept) == 0 {
		return fits
	}
	return kept
}

// assumeKnownType is the last resort: when all known arguments have one type,
// assume that the unknown ones have it too.
func assumeKnownType(fits []*call.Overload, argTypes []*types.T) []*call.Overload {
	var known *types.T
	for _, t := range argTypes {
		if coerce.IsUnknown(t) {
			continue
		}
		if known != nil && !known.Is(t) {
			return fits
		}
		known = t
	}
	all := make([]*types.T, len(argTypes))
	for i := range all {
		all[i] = known
	}
	var kept []*call.Overload
	for _, o := range fits {
		if o.CallableWith(all) {
			kept = append(kept, o)
		}
	}
	if len(kept) == 1 {
		return kept
	}
	return fits
}

func kindWord(operator bool) string {
	if operator {
		return "operator"
	}
	return "function"
}

// callable yields the names of functions that are not for the database itself.
func callable(yield func(string) bool) {
	for _, name := range Names() {
		if !strings.HasPrefix(name, "lichen_") && !yield(name) {
			return
		}
	}
}

// ambiguous is 42725 in PostgreSQL's words.
func ambiguous(name string, operator bool, argTypes []*types.T) *pgerr.Error {
	text := call.CallText(name, operator, argTypes)
	hint := "Could not choose a best candidate " + kindWord(operator) + ". You might need to add explicit type casts."
	if operator {
		return pgerr.New(pgerr.AmbiguousFunction, "operator is not unique: %s", text).WithHint("%s", hint)
	}
	return pgerr.New(pgerr.AmbiguousFunction, "function %s is not unique", text).WithHint("%s", hint)
}
