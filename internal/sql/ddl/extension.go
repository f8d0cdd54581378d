package ddl

import (
	"context"
	"fmt"
	"slices"

	"github.com/lichendb/lichen/internal/sql/access"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/alter"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/privilege"
	"github.com/lichendb/lichen/internal/sql/types"
)

// changeExtensions stores what f makes of the extensions of the current database, for who has privileges on it.
func changeExtensions(ctx context.Context, e *statement.Env, need privilege.Bits, f func(d *catalog.Database) error) error {
	old, err := e.LockDatabaseTo(ctx, e.Coll.CurrentDatabase().Name, func(d *catalog.Database) error {
		return access.MustUseDatabase(e.Coll, d, need)
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

// insteadOf says what serves the purpose of extensions that there are not.
var insteadOf = map[string]string{
	"btree_gin":  "GIN indexes have no columns of such types here: make a btree index of these columns; a query reads the one that leaves fewer rows.",
	"btree_gist": "There are no GiST indexes: use a btree index, and UNIQUE in place of EXCLUDE with = alone.",
}

// createExtension is CREATE EXTENSION. What extensions bring is built in; the database shows it from now on, in a schema.
func createExtension(ctx context.Context, e *statement.Env, s *ast.CreateExtension) error {
	x := catalog.ExtensionByName(s.Name)
	switch {
	case x == nil:
		err := pgerr.Unsupported("extension \"%s\" is not supported", s.Name).At(s.Pos)
		if hint := insteadOf[s.Name]; hint != "" {
			err = err.WithHint("%s", hint)
		}
		return err
	case s.Version != "" && s.Version != x.Version:
		return pgerr.Unsupported("extension \"%s\" has no version \"%s\" here", s.Name, s.Version).At(s.Pos)
	}
	if d, err := e.Coll.FindDatabase(ctx, e.Coll.CurrentDatabase().Name); err != nil {
		return err
	} else if s.IfNotExists && d != nil && d.ExtensionNamed(s.Name) != nil { // most often: without a lock
		e.Skip(pgerr.DuplicateObject, "extension \"%s\" already exists, skipping", s.Name)
		return nil
	}
	if x.Untrusted && !e.Coll.Me().Super {
		return pgerr.New(pgerr.InsufficientPrivilege, "permission denied to create extension \"%s\"", s.Name).
			WithHint("Must be superuser to create this extension.")
	}
	var in *catalog.Schema
	err := changeExtensions(ctx, e, privilege.Create, func(d *catalog.Database) error {
		if d.ExtensionNamed(s.Name) != nil {
			return pgerr.New(pgerr.DuplicateObject, "extension \"%s\" already exists", s.Name)
		}
		var err error
		if in, err = extensionSchema(ctx, e, s); err != nil {
			return err
		}
		oid, err := e.Coll.NewOid(ctx)
		d.Extensions = append(d.Extensions, catalog.CreatedExtension{Name: x.Name, Oid: oid, Owner: e.User, Comment: x.Comment, Schema: in.ID})
		return err
	})
	if err != nil {
		return err
	}
	for _, v := range x.Views {
		if err := extensionView(ctx, e, x.Name, in.Name, v); err != nil {
			return err
		}
	}
	return nil
}

// extensionView makes a view that an extension brings.
func extensionView(ctx context.Context, e *statement.Env, extension, schema string, v catalog.ExtensionView) error {
	text := "CREATE VIEW " + ast.QuoteIdent(schema) + "." + ast.QuoteIdent(v.Name) + " AS " + fmt.Sprintf(v.Query, ast.QuoteIdent(schema))
	stmts, err := parser.Parse(text)
	if err != nil {
		return err
	}
	st := stmts[0].AST.(*ast.CreateView)
	if err := createView(ctx, e, st); err != nil {
		return err
	}
	t, _, err := e.Relation(ctx, st.Name)
	if err != nil {
		return err
	}
	t = t.Clone()
	t.Extension, t.ACL = extension, catalog.ExtensionViewACL(t.Owner)
	return e.Coll.Put(ctx, t)
}

// extensionSchema finds the schema that the objects of an extension go to, where nothing may have the names of its types.
func extensionSchema(ctx context.Context, e *statement.Env, s *ast.CreateExtension) (*catalog.Schema, error) {
	var in *catalog.Schema
	var err error
	if s.Schema != "" {
		in, err = e.SchemaNamed(ctx, s.Schema, 0)
	} else {
		in, err = e.TargetSchema(ctx, ast.TableName{Loc: s.Loc})
	}
	switch {
	case err != nil:
		return nil, err
	case in.Temp != nil:
		return nil, pgerr.Unsupported("extensions in temporary schemas are not supported").At(s.Pos)
	case in.ID.IsVirtual():
		return nil, pgerr.Unsupported("extension \"%s\" in schema %s is not supported", s.Name, in.Name).At(s.Pos)
	}
	for _, t := range types.OfExtension(s.Name) {
		if other, err := e.Coll.FindTypeTable(ctx, in.Name, t.Name); err != nil {
			return nil, err
		} else if other != nil {
			return nil, pgerr.New(pgerr.DuplicateObject, "type \"%s\" already exists", t.Name)
		}
	}
	return in, nil
}

// dropExtensions is DROP EXTENSION.
func dropExtensions(ctx context.Context, e *statement.Env, st *ast.Drop) error {
	return changeExtensions(ctx, e, 0, func(d *catalog.Database) error {
		for _, n := range st.Names {
			x := d.ExtensionNamed(n.Table)
			switch {
			case x == nil && st.IfExists:
				e.Skip(pgerr.SuccessfulCompletion, "extension \"%s\" does not exist, skipping", n.Table)
				continue
			case x == nil:
				return pgerr.New(pgerr.UndefinedObject, "extension \"%s\" does not exist", n.Table)
			case catalog.ExtensionByName(n.Table).Oid != 0:
				return pgerr.Unsupported("dropping extension \"%s\" is not supported", n.Table)
			}
			if err := access.MustOwn(e.Coll, x.Owner, "extension", n.Table); err != nil {
				return err
			}
			if err := alter.DropUsersOfExtension(ctx, e, x, st.Cascade); err != nil {
				return err
			}
			d.Extensions = slices.DeleteFunc(d.Extensions, func(c catalog.CreatedExtension) bool { return c.Name == n.Table })
		}
		return nil
	})
}

// updateExtension is ALTER EXTENSION UPDATE: there is one version of each.
func updateExtension(e *statement.Env, s *ast.UpdateExtension) error {
	there := e.Coll.CurrentDatabase().ExtensionNamed(s.Name)
	if there == nil {
		return pgerr.New(pgerr.UndefinedObject, "extension \"%s\" does not exist", s.Name)
	}
	if err := access.MustOwn(e.Coll, there.Owner, "extension", s.Name); err != nil {
		return err
	}
	x := catalog.ExtensionByName(s.Name)
	if s.Version != "" && s.Version != x.Version {
		return pgerr.New(pgerr.InvalidParameterValue, "extension \"%s\" has no update path from version \"%s\" to version \"%s\"", x.Name, x.Version, s.Version)
	}
	e.Skip(pgerr.SuccessfulCompletion, "version \"%s\" of extension \"%s\" is already installed", x.Version, x.Name)
	return nil
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
	return changeExtensions(ctx, e, 0, func(d *catalog.Database) error {
		for i := range d.Extensions {
			if d.Extensions[i].Name == name {
				d.Extensions[i].Comment = st.Text
				return access.MustOwn(e.Coll, d.Extensions[i].Owner, "extension", name)
			}
		}
		return pgerr.New(pgerr.UndefinedObject, "extension \"%s\" does not exist", name)
	})
}
