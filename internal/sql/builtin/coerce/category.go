package coerce

import (
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/casts"
)

// Category returns pg_type.typcategory and typispreferred.
func Category(t *types.T) (category byte, preferred bool) {
	switch {
	case IsUnknown(t):
		return 'X', false
	case IsPseudo(t):
		return 'P', false
	}
	return t.Category(), t.Preferred()
}

// IsUnknown reports whether t is the type of a literal that has none yet.
func IsUnknown(t *types.T) bool { return t.Oid == types.Unknown.Oid }

// IsPreferredIn reports whether t is the preferred type of a category.
func IsPreferredIn(t *types.T, category byte) bool {
	c, p := Category(t)
	return c == category && p
}

// IsPseudo reports whether t occurs in signatures only.
func IsPseudo(t *types.T) bool { return t.Family == types.AnyFamily }

// implicitCast reports whether values of type from may stand where to is
// declared.
func implicitCast(from, to *types.T) bool {
	cast, ok := casts.Find(from, to)
	return ok && cast.Context == types.CastImplicit
}
