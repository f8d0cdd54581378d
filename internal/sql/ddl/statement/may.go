package statement

import (
	"context"

	"github.com/lichendb/lichen/internal/sql/access"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/privilege"
	"github.com/lichendb/lichen/internal/sql/types"
)

// May returns 42501 unless the user may do something with a relation: what is asked before it is locked, so
// that who may not disturbs nobody.
type May func(*catalog.Table) error

// Owns is the May of what only owners do.
func (e *Env) Owns(t *catalog.Table) error { return access.MustOwnRelation(e.Coll, t) }

// Drops returns the May of DROP: besides an object's owner, the owner of its schema may drop it.
func (e *Env) Drops(ctx context.Context) May {
	return func(t *catalog.Table) error {
		if d, err := e.Coll.Peek(ctx, t.Schema); err == nil && d != nil && e.Coll.Me().Has(d.Ident().Owner) {
			return nil
		}
		return e.Owns(t)
	}
}

// Has returns a May that accepts users with any of the given privileges on the relation.
func (e *Env) Has(any privilege.Bits) May {
	return func(t *catalog.Table) error {
		if has, _ := access.OnTable(e.Coll.Me(), t, any); has == 0 {
			return access.DeniedRelation(t)
		}
		return nil
	}
}

// HasAny is a May that accepts users with any privilege on the relation or on one of its columns.
func (e *Env) HasAny(t *catalog.Table) error {
	a := e.Coll.Me()
	if access.OnAnyColumn(a, t, access.Kind(t).All()|privilege.Column.All()) == 0 && !a.Has(t.Owner.Role()) {
		return access.DeniedRelation(t)
	}
	return nil
}

// OwnsSchema returns 42501 unless the user owns a schema.
func (e *Env) OwnsSchema(s *catalog.Schema) error {
	return access.MustOwn(e.Coll, s.Owner, "schema", s.Name)
}

// OwnsDatabase returns 42501 unless the user owns a database.
func (e *Env) OwnsDatabase(d *catalog.Database) error {
	return access.MustOwn(e.Coll, d.Owner, "database", d.Name)
}

// NewOwner returns 42501 unless the user may make a role the owner of an object in a schema. The schema is nil for
// objects outside of schemas.
func (e *Env) NewOwner(ctx context.Context, to catalog.Owner, in catalog.ID) error {
	me := e.Coll.Me()
	if me.Super {
		return nil
	}
	if !me.MemberOf(to.Role()) {
		return pgerr.New(pgerr.InsufficientPrivilege, "must be member of role \"%s\"", e.Coll.RoleByOid(to.Role()).Name)
	}
	if in == 0 {
		return nil
	}
	s, err := e.Coll.SchemaByID(ctx, in)
	if err != nil {
		return err
	}
	if has, _ := access.OnSchema(e.Coll, e.Coll.Authority(to.Role()), s, privilege.Create); has == 0 {
		return access.Denied("schema", s.Name)
	}
	return nil
}

// MayCreateIn returns 42501 unless the user may make something in a schema.
func (e *Env) MayCreateIn(s *catalog.Schema) error {
	return access.MustUseSchema(e.Coll, s, privilege.Create)
}

// AsOwner calls f while statements and functions have the privileges of who owns a relation.
func (e *Env) AsOwner(t *catalog.Table, f func() error) error {
	if e.As == nil {
		return f()
	}
	return e.As(t.Owner, f)
}

// MayUseType returns 42501 unless the user may make something of a type. The types of the rows of relations are everybody's.
func (e *Env) MayUseType(t *types.T) error {
	oid := t.Oid
	if t.Elem != nil && !t.IsDomain() {
		oid = t.Elem.Oid
	}
	if oid < catalog.FirstUserOid {
		return e.mayUseBuiltIn(oid)
	}
	d, ok := e.Coll.PeekOwner(oid).(*catalog.Table)
	if !ok || d.Kind != catalog.KindType {
		return nil
	}
	if has, _ := access.OnTable(e.Coll.Me(), d, privilege.Usage); has == 0 {
		return access.DeniedRelation(d)
	}
	return nil
}

// DefaultACL returns the access control list of a new object of the user's.
func (e *Env) DefaultACL(db, schema catalog.ID, kind privilege.Kind) privilege.ACL {
	if r := e.Coll.RoleByOid(e.User.Role()); r != nil {
		return r.DefaultACL(db, schema, kind)
	}
	return nil
}

// at sets an error's position to that of the name it concerns.
func at(err error, pos int) error {
	if err == nil {
		return nil
	}
	return pgerr.From(err).At(pos)
}
