package rowcodec

import (
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/casts"
)

// ReferenceCast returns how values of a foreign key of type from are compared with those of type to
// that it refers to: as values of type as, which cast makes of them. A nil cast means that equal
// values of both types have the same keys. ok is false where no cast does so.
func ReferenceCast(from, to *types.T) (cast types.CastFunc, as *types.T, ok bool) {
	as = comparedAs(to)
	if SameKeys(from, as) {
		return nil, as, true
	}
	if from.Elem != nil || as.Elem != nil || from.Def != nil || as.Def != nil {
		return nil, nil, false
	}
	c, found := casts.Find(from, as)
	if !found || c.Context != types.CastImplicit {
		return nil, nil, false
	}
	return c.Fn, as, true
}

// SameKeys reports whether equal values of two types have the same form in keys.
func SameKeys(a, b *types.T) bool {
	return comparedAs(a).Is(comparedAs(b)) || a.IsInteger() && b.IsInteger() || isText(a) && isText(b)
}

func isText(t *types.T) bool { return comparedAs(t).Is(types.Text) || t.Is(types.Name) }

// comparedAs is the type whose operators compare values of t.
func comparedAs(t *types.T) *types.T {
	switch {
	case t.Is(types.Varchar):
		return types.Text
	case t.Is(types.CIDR):
		return types.Inet
	case t.IsReg():
		return types.Oid
	}
	return t
}
