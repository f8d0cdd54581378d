package statement

import (
	"context"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/privilege"
)

// RoleOf returns the role that is meant, nil for everybody if public allows that.
func (e *Env) RoleOf(r *ast.RoleSpec, public bool) (*catalog.Role, error) {
	var oid privilege.Role
	switch r.Kind {
	case ast.RolePublic:
		if public {
			return nil, nil
		}
		return nil, pgerr.New(pgerr.UndefinedObject, "role \"public\" does not exist")
	case ast.RoleNamed:
		if d := e.Coll.RoleByName(r.Name); d != nil {
			return d, nil
		}
		return nil, catalog.UndefinedRole(r.Name)
	case ast.RoleSessionUser:
		oid = e.SessionUser.Role()
	default:
		oid = e.User.Role()
	}
	if d := e.Coll.RoleByOid(oid); d != nil {
		return d, nil
	}
	return nil, pgerr.New(pgerr.UndefinedObject, "role with OID %d does not exist", oid)
}

// Role returns the role that is to own something.
func (e *Env) Role(r *ast.RoleSpec) (catalog.Owner, error) {
	if r == nil {
		return e.User, nil
	}
	d, err := e.RoleOf(r, false)
	if err != nil {
		return 0, err
	}
	return catalog.Owner(d.Oid), nil
}

// LockDatabase finds a database that the user owns and locks it; nil if there is none.
func (e *Env) LockDatabase(ctx context.Context, name string) (*catalog.Database, error) {
	return e.LockDatabaseTo(ctx, name, e.OwnsDatabase)
}

// LockDatabaseTo is LockDatabase for who may do something else than owners.
func (e *Env) LockDatabaseTo(ctx context.Context, name string, may func(*catalog.Database) error) (*catalog.Database, error) {
	if catalog.TemplateByName(name) != nil {
		return nil, pgerr.Unsupported("template databases cannot be changed")
	}
	for {
		d, err := e.Coll.FindDatabase(ctx, name)
		if err != nil || d == nil {
			return nil, err
		}
		if err := may(d); err != nil {
			return nil, err
		}
		if err := e.Coll.LockExclusive(ctx, d.ID); err != nil {
			return nil, err
		}
		again, err := e.Coll.FindDatabase(ctx, name)
		if err != nil {
			return nil, err
		}
		if again != nil && again.ID == d.ID {
			return again, nil
		}
	}
}

// UndefinedDatabase says that there is no database of a name.
func UndefinedDatabase(name string) error {
	return pgerr.New(pgerr.InvalidCatalogName, "database \"%s\" does not exist", name)
}

// MoveName renames: it takes a name, or fails with taken, and frees the old one.
func (e *Env) MoveName(ctx context.Context, from, to catalog.NameKey, entry catalog.NameEntry, taken error) error {
	dup, err := e.Coll.AddName(ctx, to, entry)
	if err != nil {
		return err
	}
	if dup {
		return taken
	}
	return e.Coll.RemoveName(ctx, from)
}

// LockByID locks a table and returns a copy to change.
func (e *Env) LockByID(ctx context.Context, id catalog.ID) (*catalog.Table, error) {
	if err := e.Lock(ctx, id); err != nil {
		return nil, err
	}
	t, err := e.Coll.TableByID(ctx, id)
	if err != nil {
		return nil, err
	}
	return t.Clone(), nil
}

// LockSchema finds a schema of the current database that the user owns and locks it; nil if
// there is none.
func (e *Env) LockSchema(ctx context.Context, name string) (*catalog.Schema, error) {
	return e.LockSchemaTo(ctx, name, e.OwnsSchema)
}

// LockSchemaTo is LockSchema for who may do something else than owners.
func (e *Env) LockSchemaTo(ctx context.Context, name string, may func(*catalog.Schema) error) (*catalog.Schema, error) {
	for {
		s, err := e.Coll.FindSchema(ctx, name)
		if err != nil || s == nil {
			return nil, err
		}
		if s.ID.IsVirtual() {
			return nil, pgerr.New(pgerr.InsufficientPrivilege, "permission denied: \"%s\" is a system schema", name)
		}
		if err := may(s); err != nil {
			return nil, err
		}
		if err := e.Coll.LockExclusive(ctx, s.ID); err != nil {
			return nil, err
		}
		again, err := e.Coll.FindSchema(ctx, name)
		if err != nil {
			return nil, err
		}
		if again != nil && again.ID == s.ID {
			return again, nil
		}
	}
}

// TablesOf returns all relations of a database.
func (e *Env) TablesOf(ctx context.Context, db catalog.ID) ([]*catalog.Table, error) {
	all, err := e.Coll.Descriptors(ctx)
	if err != nil {
		return nil, err
	}
	var out []*catalog.Table
	for _, d := range all {
		if t, ok := d.(*catalog.Table); ok && t.Database == db {
			out = append(out, t)
		}
	}
	return out, nil
}
