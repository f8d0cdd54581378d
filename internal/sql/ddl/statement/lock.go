package statement

import (
	"context"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// Role resolves the name of a role that is to own something.
func (e *Env) Role(r *ast.RoleSpec) (string, error) {
	switch {
	case r == nil:
		return e.User, nil
	case r.Kind == ast.RolePublic:
		return "", pgerr.New(pgerr.ReservedName, "role name \"public\" is reserved").At(r.Pos)
	case r.Kind != ast.RoleNamed || r.Name == e.User || r.Name == catalog.RootUser:
		return e.User, nil
	case catalog.RoleByName(r.Name) != nil:
		return r.Name, nil
	}
	return "", pgerr.New(pgerr.UndefinedObject, "role \"%s\" does not exist", r.Name)
}

// LockDatabase finds a database and locks it; nil if there is none.
func (e *Env) LockDatabase(ctx context.Context, name string) (*catalog.Database, error) {
	if catalog.TemplateByName(name) != nil {
		return nil, pgerr.Unsupported("template databases cannot be changed")
	}
	for {
		d, err := e.Coll.FindDatabase(ctx, name)
		if err != nil || d == nil {
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
	if err := e.Coll.LockExclusive(ctx, id); err != nil {
		return nil, err
	}
	t, err := e.Coll.TableByID(ctx, id)
	if err != nil {
		return nil, err
	}
	return t.Clone(), nil
}

// LockSchema finds a schema of the current database and locks it; nil if there
// is none.
func (e *Env) LockSchema(ctx context.Context, name string) (*catalog.Schema, error) {
	for {
		s, err := e.Coll.FindSchema(ctx, name)
		if err != nil || s == nil {
			return nil, err
		}
		if s.ID.IsVirtual() {
			return nil, pgerr.New(pgerr.InsufficientPrivilege, "permission denied: \"%s\" is a system schema", name)
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
