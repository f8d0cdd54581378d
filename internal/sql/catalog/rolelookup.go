package catalog

import (
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/privilege"
)

// roleName is the key of a role's name: no database has such a name.
func roleName(name string) NameKey { return NameKey{Name: "\x00role\x00" + name} }

// Roles are those of one moment.
type Roles interface {
	// RoleByName returns a role, nil if there is none of the name.
	RoleByName(name string) *Role
	// RoleByOid returns a role, nil if there is none with the oid.
	RoleByOid(oid privilege.Role) *Role
}

var (
	_ Roles = (*Store)(nil)
	_ Roles = (*Collection)(nil)
)

// RoleByName implements Roles with what is committed.
func (s *Store) RoleByName(name string) *Role {
	if e, ok := s.name(roleName(name)); ok {
		if o := s.object(e.ID); o != nil {
			r, _ := o.cur.Load().desc.(*Role)
			return r
		}
	}
	return s.builtIn(builtInByName(name))
}

// RoleByOid implements Roles with what is committed.
func (s *Store) RoleByOid(oid privilege.Role) *Role {
	s.mu.RLock()
	id, ok := s.byOid[uint32(oid)]
	s.mu.RUnlock()
	if o := s.object(id); ok && o != nil {
		r, _ := o.cur.Load().desc.(*Role)
		return r
	}
	return builtInByOid(oid)
}

// builtIn returns a built-in role unless a stored one stands for it, which then has another name.
func (s *Store) builtIn(r *Role) *Role {
	if r == nil || s.RoleByOid(r.Oid) != r {
		return nil
	}
	return r
}

// RoleByName implements Roles with what the transaction sees; who reads the past has the roles of
// the present.
func (c *Collection) RoleByName(name string) *Role {
	if c.changes == nil {
		return c.store.RoleByName(name)
	}
	for r := range c.changes.roles() {
		if r.Name == name {
			return r
		}
	}
	if r := c.store.RoleByName(name); r != nil && c.RoleByOid(r.Oid) == r {
		return r
	}
	return nil
}

// RoleByOid implements Roles.
func (c *Collection) RoleByOid(oid privilege.Role) *Role {
	if c.changes != nil {
		for r := range c.changes.roles() {
			if r.Oid == oid {
				return r
			}
		}
	}
	r := c.store.RoleByOid(oid)
	if r == nil || c.changes == nil {
		return r
	}
	if d, ok := c.changes.descs[r.ID]; ok && d == nil {
		return nil // dropped
	}
	return r
}

// roles yields the roles that the transaction has changed, not those that it dropped.
func (ch *changes) roles() func(func(*Role) bool) {
	return func(yield func(*Role) bool) {
		for _, d := range ch.descs {
			if r, ok := d.(*Role); ok && !yield(r) {
				return
			}
		}
	}
}

// AllRoles returns the roles that the transaction sees, in the order of their oids.
func (c *Collection) AllRoles(ctx context.Context) ([]*Role, error) {
	all, err := c.Descriptors(ctx)
	if err != nil {
		return nil, err
	}
	var out []*Role
	for _, d := range all {
		if r, ok := d.(*Role); ok {
			out = append(out, r)
		}
	}
	for i := range builtInRoles {
		if !slices.ContainsFunc(out, func(r *Role) bool { return r.Oid == builtInRoles[i].Oid }) {
			out = append(out, &builtInRoles[i])
		}
	}
	slices.SortFunc(out, func(a, b *Role) int { return int(int64(a.Oid) - int64(b.Oid)) })
	return out, nil
}

// UndefinedRole says that there is no role of a name.
func UndefinedRole(name string) *pgerr.Error {
	return pgerr.New(pgerr.UndefinedObject, "role \"%s\" does not exist", name)
}

// LockRole returns a copy of a role, which nobody else changes while the transaction lasts; nil if
// there is none of the name. Those who use it are not waited for.
func (c *Collection) LockRole(ctx context.Context, name string) (*Role, error) {
	for {
		r := c.RoleByName(name)
		if r == nil {
			return nil, nil
		}
		if r.ID == 0 {
			return c.storeBuiltIn(ctx, r)
		}
		if err := c.LockExclusive(ctx, r.ID); err != nil {
			return nil, err
		}
		if again := c.RoleByName(name); again != nil && again.ID == r.ID {
			return again.clone(), nil
		}
	}
}

func (r *Role) clone() *Role {
	c := *r
	c.MemberOf, c.Defaults = slices.Clone(r.MemberOf), slices.Clone(r.Defaults)
	return &c
}

// storeBuiltIn returns a copy of a built-in role that is stored by the Put that must follow.
func (c *Collection) storeBuiltIn(ctx context.Context, r *Role) (*Role, error) {
	n := r.clone()
	var err error
	if n.ID, err = c.NewID(ctx); err != nil {
		return nil, err
	}
	taken, err := c.AddName(ctx, roleName(r.Name), NameEntry{ID: n.ID})
	if err == nil && taken {
		return c.LockRole(ctx, r.Name) // another transaction was first
	}
	return n, err
}

// CreateRole stores a new role; 42710 if there is one of the name.
func (c *Collection) CreateRole(ctx context.Context, r *Role) error {
	exists := pgerr.New(pgerr.DuplicateObject, "role \"%s\" already exists", r.Name)
	if c.RoleByName(r.Name) != nil {
		return exists
	}
	var err error
	if r.ID, err = c.NewID(ctx); err != nil {
		return err
	}
	oid, err := c.NewOid(ctx)
	if err != nil {
		return err
	}
	r.Oid = privilege.Role(oid)
	taken, err := c.AddName(ctx, roleName(r.Name), NameEntry{ID: r.ID})
	switch {
	case err != nil:
		return err
	case taken:
		return exists
	}
	return c.Put(ctx, r)
}

// RenameRole gives a role that is locked another name, and stores it.
func (c *Collection) RenameRole(ctx context.Context, r *Role, name string) error {
	if err := c.RemoveName(ctx, roleName(r.Name)); err != nil {
		return err
	}
	taken, err := c.AddName(ctx, roleName(name), NameEntry{ID: r.ID})
	switch {
	case err != nil:
		return err
	case taken:
		return pgerr.New(pgerr.DuplicateObject, "role \"%s\" already exists", name)
	}
	r.Name = name
	return c.Put(ctx, r)
}

// DropRole removes a role that is locked.
func (c *Collection) DropRole(ctx context.Context, r *Role) error {
	if err := c.RemoveName(ctx, roleName(r.Name)); err != nil {
		return err
	}
	return c.Remove(ctx, r.ID)
}

// keepOwner has a role that is about to own something, which old is before, stay until the transaction ends, after which DROP ROLE finds
// what it owns. The session's own may have been dropped.
func (c *Collection) keepOwner(ctx context.Context, old Descriptor, owner privilege.Role) error {
	r := c.RoleByOid(owner)
	if old != nil && old.Ident().Owner == owner || owner == 0 || r != nil && r.ID == 0 {
		return nil // roles have no owner; a built-in one that nobody has changed stays
	}
	if r != nil {
		if d, err := c.get(ctx, r.ID); err != nil || d != nil {
			return err
		}
	}
	return pgerr.New(pgerr.UndefinedObject, "role %d was concurrently dropped", owner)
}
