package ddl

import (
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/sql/ddl/noeffect"

	"github.com/lichendb/lichen/internal/sql/access"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/privilege"
)

// changeExtensions stores what f makes of the extensions of the current database.
func changeExtensions(ctx context.Context, e *statement.Env, f func(d *catalog.Database) error) error {
	old, err := e.LockDatabaseTo(ctx, e.Coll.CurrentDatabase().Name, func(d *catalog.Database) error {
		return access.MustUseDatabase(e.Coll, d, privilege.Create)
	})
	if err != nil {
		return err
	}
	if old == nil {
		return statement.UndefinedDatabase(e.Coll.CurrentDatabase().Name)
	}
	d := *old
	d.Extensions = slices.Clone(old.Extensions)
	if err := f(&d); err != nil {
		return err
	}
	return e.Coll.Put(ctx, &d)
}

// createExtension is CREATE EXTENSION. The functions are there always; the database remembers
// that it was asked for them, as its dumps say.
func createExtension(ctx context.Context, e *statement.Env, s *ast.CreateExtension) error {
	x := catalog.ExtensionByName(s.Name)
	switch {
	case x == nil:
		return pgerr.Unsupported("extension \"%s\" is not supported", s.Name).At(s.Pos)
	case s.Version != "" && s.Version != x.Version:
		return pgerr.Unsupported("extension \"%s\" has no version \"%s\" here", s.Name, s.Version).At(s.Pos)
	}
	if d, err := e.Coll.FindDatabase(ctx, e.Coll.CurrentDatabase().Name); err != nil {
		return err
	} else if s.IfNotExists && d != nil && d.ExtensionNamed(s.Name) != nil { // most often: without a lock
		e.Skip(pgerr.DuplicateObject, "extension \"%s\" already exists, skipping", s.Name)
		return nil
	}
	return changeExtensions(ctx, e, func(d *catalog.Database) error {
		if d.ExtensionNamed(s.Name) != nil {
			return pgerr.New(pgerr.DuplicateObject, "extension \"%s\" already exists", s.Name)
		}
		if err := extensionSchema(ctx, e, s); err != nil {
			return err
		}
		oid, err := e.Coll.NewOid(ctx)
		d.Extensions = append(d.Extensions, catalog.CreatedExtension{Name: x.Name, Oid: oid, Owner: e.User, Comment: x.Comment})
		return err
	})
}

// extensionSchema checks where the objects of an extension are to be: its functions are found in
// pg_catalog and in public, and in no other schema.
func extensionSchema(ctx context.Context, e *statement.Env, s *ast.CreateExtension) error {
	switch s.Schema {
	case "", "public", "pg_catalog":
		return nil
	}
	schema, err := e.Coll.FindSchema(ctx, s.Schema)
	switch {
	case err != nil:
		return err
	case schema == nil:
		return pgerr.New(pgerr.InvalidSchemaName, "schema \"%s\" does not exist", s.Schema)
	}
	return pgerr.Unsupported("extension \"%s\" can be in schema public only", s.Name).At(s.Pos)
}

// dropExtensions is DROP EXTENSION: the database forgets that it was asked for them.
func dropExtensions(ctx context.Context, e *statement.Env, st *ast.Drop) error {
	return changeExtensions(ctx, e, func(d *catalog.Database) error {
		for _, n := range st.Names {
			x := d.ExtensionNamed(n.Table)
			switch {
			case x == nil && st.IfExists:
				e.Skip(pgerr.SuccessfulCompletion, "extension \"%s\" does not exist, skipping", n.Table)
			case x == nil:
				return pgerr.New(pgerr.UndefinedObject, "extension \"%s\" does not exist", n.Table)
			case catalog.ExtensionByName(n.Table).Oid != 0:
				return pgerr.Unsupported("dropping extension \"%s\" is not supported", n.Table)
			default:
				e.Ignore(noeffect.ExtensionDrop)
				d.Extensions = slices.DeleteFunc(d.Extensions, func(c catalog.CreatedExtension) bool { return c.Name == n.Table })
			}
		}
		return nil
	})
}

// commentExtension is COMMENT ON EXTENSION.
func commentExtension(ctx context.Context, e *statement.Env, st *ast.Comment) error {
	name := st.Name[0]
	if x := catalog.ExtensionByName(name); x != nil && x.Oid != 0 {
		if st.Text == x.Comment {
			return nil // as dumps have it
		}
		return pgerr.Unsupported("changing the comment on extension \"%s\" is not supported", name).At(st.Pos)
	}
	return changeExtensions(ctx, e, func(d *catalog.Database) error {
		for i := range d.Extensions {
			if d.Extensions[i].Name == name {
				d.Extensions[i].Comment = st.Text
				return nil
			}
		}
		return pgerr.New(pgerr.UndefinedObject, "extension \"%s\" does not exist", name)
	})
}
