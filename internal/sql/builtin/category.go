package builtin

import (
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/casts"
)

// typeCategory returns pg_type.typcategory and typispreferred.
func typeCategory(t *types.T) (category byte, preferred bool) {
	switch {
	case isUnknown(t):
		return 'X', false
	case isPseudo(t):
		return 'P', false
	}
	return t.Category(), t.Preferred()
}

func isUnknown(t *types.T) bool { return t.Oid == types.Unknown.Oid }

func isPreferredIn(t *types.T, category byte) bool {
	c, p := typeCategory(t)
	return c == category && p
}

// isPseudo reports whether t occurs in signatures only.
func isPseudo(t *types.T) bool { return t.Family == types.AnyFamily }

// implicitCast reports whether values of type from may stand where to is
// declared.
func implicitCast(from, to *types.T) bool {
	cast, ok := casts.Find(from, to)
	return ok && cast.Context == types.CastImplicit
}
