package access

import (
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/privilege"
)

// Denied says that a privilege on an object is missing.
func Denied(kind, name string) *pgerr.Error {
	return pgerr.New(pgerr.InsufficientPrivilege, "permission denied for %s %s", kind, name)
}

// DeniedRelation is Denied for a relation or type.
func DeniedRelation(t *catalog.Table) *pgerr.Error {
	e := Denied(Noun(t), t.Name)
	e.Denied = uint64(t.ID)
	return e
}

// Noun is what messages call a relation, type or collation.
func Noun(t *catalog.Table) string {
	switch {
	case t.Materialized():
		return "materialized view"
	case t.Kind == catalog.KindView, t.BuiltInView:
		return "view"
	case t.Kind == catalog.KindSequence:
		return "sequence"
	case t.Kind == catalog.KindType:
		return "type"
	case t.Kind == catalog.KindCollation:
		return "collation"
	case t.OwnOperator():
		return "operator"
	case t.Kind == catalog.KindRoutine && t.Routine.Procedure:
		return "procedure"
	case t.Kind == catalog.KindRoutine && t.Routine.Aggregate != nil:
		return "aggregate"
	case t.Kind == catalog.KindRoutine:
		return "function"
	}
	return "table"
}

// MustOwn returns 42501 unless the session's user may do what owners do.
func MustOwn(c *catalog.Collection, owner catalog.Owner, kind, name string) error {
	if c.Me().Has(owner.Role()) {
		return nil
	}
	return pgerr.New(pgerr.InsufficientPrivilege, "must be owner of %s %s", kind, name)
}

// MustOwnRelation is MustOwn for a relation, type, collation or routine.
func MustOwnRelation(c *catalog.Collection, t *catalog.Table) error {
	if c.Me().Has(t.Owner.Role()) {
		return nil
	}
	e := pgerr.New(pgerr.InsufficientPrivilege, "must be owner of %s %s", Noun(t), t.Name)
	e.Denied = uint64(t.ID)
	return e
}

// MustUseSchema returns 42501 unless the session's user has privileges on a schema.
func MustUseSchema(c *catalog.Collection, s *catalog.Schema, need privilege.Bits) error {
	if has, _ := OnSchema(c, c.Me(), s, need); has != need {
		return Denied("schema", s.Name)
	}
	return nil
}

// MayUseSchema reports whether the session's user may look up names in a schema.
func MayUseSchema(c *catalog.Collection, s *catalog.Schema) bool {
	has, _ := OnSchema(c, c.Me(), s, privilege.Usage)
	return has != 0
}

// MustUseDatabase returns 42501 unless the session's user has privileges on a database.
func MustUseDatabase(c *catalog.Collection, d *catalog.Database, need privilege.Bits) error {
	if has, _ := OnDatabase(c.Me(), d, need); has != need {
		return Denied("database", d.Name)
	}
	return nil
}
