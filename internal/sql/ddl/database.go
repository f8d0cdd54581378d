package ddl

import (
	"context"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ddl/noeffect"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/alter"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/ddl/zoneconfig"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// createDatabase is CREATE DATABASE.
func createDatabase(ctx context.Context, e *statement.Env, st *ast.CreateDatabase) error {
	if !mayCreateDatabases(e) {
		return pgerr.New(pgerr.InsufficientPrivilege, "permission denied to create database")
	}
	owner := e.User
	for i := range st.Options {
		o := &st.Options[i]
		if o.Name == "owner" {
			var err error
			if owner, err = e.Role(&ast.RoleSpec{Loc: o.Loc, Name: optionText(o)}); err != nil {
				return err
			}
			continue
		}
		if err := checkDatabaseOption(ctx, e, o); err != nil {
			return err
		}
	}
	if st.IfNotExists {
		d, err := e.Coll.FindDatabase(ctx, st.Name)
		if err != nil {
			return err
		}
		if d != nil {
			e.Skip(pgerr.DuplicateDatabase, "database \"%s\" already exists, skipping", st.Name)
			return nil
		}
	}
	if err := e.NewOwner(ctx, owner, 0); err != nil {
		return err
	}
	_, err := e.Coll.CreateDatabase(ctx, st.Name, owner)
	return err
}

// mayCreateDatabases reports whether the user has CREATEDB.
func mayCreateDatabases(e *statement.Env) bool {
	r := e.Coll.RoleByOid(e.User.Role())
	return e.Coll.Me().Super || r != nil && r.CreateDB
}

func optionText(o *ast.Option) string {
	switch v := o.Value.(type) {
	case *ast.StrLit:
		return v.Val
	case *ast.ColumnRef:
		return v.Column
	case *ast.DefaultExpr, nil:
		return ""
	}
	return ast.Format(o.Value)
}

// checkDatabaseOption accepts the options that ask for what every database is, with a notice
// those that nobody misses, and refuses those that would make another database.
func checkDatabaseOption(ctx context.Context, e *statement.Env, o *ast.Option) error {
	text := strings.ToLower(optionText(o))
	switch o.Name {
	case "encoding":
		switch strings.NewReplacer("-", "", "_", "").Replace(text) {
		case "", "utf8", "unicode", "6":
			return nil
		}
		return pgerr.Unsupported("encoding \"%s\" is not supported", optionText(o)).At(o.Pos)
	case "lc_collate", "lc_ctype", "locale":
		return checkDatabaseLocale(e, o, text)
	case "locale_provider":
		switch text {
		case "", "libc":
			return nil
		case "icu":
			return pgerr.Unsupported("locale provider \"icu\" is not supported for databases").At(o.Pos)
		}
		return pgerr.New(pgerr.InvalidParameterValue, "unrecognized locale provider: %s", optionText(o)).At(o.Pos)
	case "template":
		return checkTemplate(ctx, e, optionText(o), o.Pos)
	case "allow_connections":
		allowed, err := boolParam(o, o.Name, true)
		if err == nil && !allowed {
			err = pgerr.Unsupported("databases that allow no connections are not supported").At(o.Pos)
		}
		return err
	case "connection_limit", "is_template", "oid", "strategy", "colocation", "colocated":
		e.Ignore(noeffect.DatabaseOption)
		return nil
	case "tablespace":
		if text == "" || text == "pg_default" {
			return nil
		}
		return pgerr.New(pgerr.UndefinedObject, "tablespace \"%s\" does not exist", text).At(o.Pos)
	}
	return pgerr.Unsupported("database option \"%s\" is not supported", o.Name).At(o.Pos)
}

// checkDatabaseLocale accepts the locale of all databases, and those that sort plain texts alike.
func checkDatabaseLocale(e *statement.Env, o *ast.Option, text string) error {
	switch strings.ReplaceAll(text, "-", "") {
	case "", "c.utf8":
		return nil
	case "c", "posix", "en_us.utf8":
		e.Ignore(noeffect.DatabaseOption)
		return nil
	}
	return pgerr.Unsupported("locale \"%s\" is not supported", optionText(o)).At(o.Pos)
}

// checkTemplate refuses templates that hold something: databases are not copied.
func checkTemplate(ctx context.Context, e *statement.Env, name string, pos int) error {
	if name == "" || catalog.TemplateByName(name) != nil {
		return nil
	}
	d, err := e.Coll.FindDatabase(ctx, name)
	switch {
	case err != nil:
		return err
	case d == nil:
		return pgerr.New(pgerr.InvalidCatalogName, "template database \"%s\" does not exist", name)
	}
	return pgerr.Unsupported("copying database \"%s\" is not supported", name).At(pos).
		WithHint("Use pg_dump, and restore what it writes in a new database.")
}

// dropDatabase is DROP DATABASE.
func dropDatabase(ctx context.Context, e *statement.Env, st *ast.DropDatabase) error {
	if catalog.TemplateByName(st.Name) != nil {
		return pgerr.New(pgerr.WrongObjectType, "cannot drop a template database")
	}
	d, err := e.LockDatabase(ctx, st.Name)
	if err != nil {
		return err
	}
	if d == nil {
		if st.IfExists {
			e.Skip(pgerr.SuccessfulCompletion, "database \"%s\" does not exist, skipping", st.Name)
			return nil
		}
		return statement.UndefinedDatabase(st.Name)
	}
	if d.ID == e.Coll.CurrentDatabase().ID {
		return pgerr.New(pgerr.ObjectInUse, "cannot drop the currently open database")
	}
	if err := unusedDatabase(e, d); err != nil {
		return err
	}
	all, err := e.Coll.Descriptors(ctx)
	if err != nil {
		return err
	}
	for _, x := range all {
		if err := dropFromDatabase(ctx, e, d.ID, x, st.Restrict); err != nil {
			return err
		}
	}
	if err := e.Coll.RemoveName(ctx, catalog.NameKey{Name: d.Name}); err != nil {
		return err
	}
	if err := e.Coll.Remove(ctx, d.ID); err != nil {
		return err
	}
	span := keys.DatabaseSpan(uint64(d.ID))
	if err := zoneconfig.RemoveZones(ctx, e, span); err != nil {
		return err
	}
	return e.Coll.ClearOnCommit(ctx, span)
}

func unusedDatabase(e *statement.Env, d *catalog.Database) error {
	n := e.Coll.Store().SessionsOf(d.ID, e.Coll)
	if n == 0 {
		return nil
	}
	err := pgerr.New(pgerr.ObjectInUse, "database \"%s\" is being accessed by other users", d.Name)
	if n == 1 {
		return err.WithDetail("There is 1 other session using the database.")
	}
	return err.WithDetail("There are %d other sessions using the database.", n)
}

// dropFromDatabase removes one descriptor of the database; the data goes with
// the database's span.
func dropFromDatabase(ctx context.Context, e *statement.Env, db catalog.ID, x catalog.Descriptor, restrict bool) error {
	switch x := x.(type) {
	case *catalog.Schema:
		if x.Database != db {
			return nil
		}
		if err := e.Coll.RemoveName(ctx, catalog.NameKey{Database: db, Name: x.Name}); err != nil {
			return err
		}
		return e.Coll.Remove(ctx, x.ID)
	case *catalog.Table:
		if x.Database != db {
			return nil
		}
		if restrict {
			return pgerr.New(pgerr.DependentObjectsStillExist, "database is not empty and RESTRICT was specified")
		}
		if err := e.Coll.LockExclusive(ctx, x.ID); err != nil {
			return err
		}
		return alter.RemoveTable(ctx, e, x)
	}
	return nil
}

// alterDatabase is ALTER DATABASE.
func alterDatabase(ctx context.Context, e *statement.Env, st *ast.AlterDatabase) error {
	switch st.Kind {
	case ast.AlterDatabaseSet:
		return alterStored(ctx, e, st.Name, 0, st.Set)
	case ast.AlterDatabaseRefresh:
		return pgerr.Unsupported("ALTER DATABASE ... REFRESH COLLATION VERSION is not supported").At(st.Pos)
	}
	old, err := e.LockDatabase(ctx, st.Name)
	if err != nil {
		return err
	}
	if old == nil {
		return statement.UndefinedDatabase(st.Name)
	}
	d := *old
	switch st.Kind {
	case ast.AlterDatabaseRename:
		if old.ID == e.Coll.CurrentDatabase().ID {
			return pgerr.Unsupported("current database cannot be renamed")
		}
		if err := unusedDatabase(e, old); err != nil {
			return err
		}
		if !mayCreateDatabases(e) {
			return pgerr.New(pgerr.InsufficientPrivilege, "permission denied to rename database")
		}
		d.Name = st.NewName
		if catalog.TemplateByName(d.Name) != nil {
			return catalog.DuplicateDatabaseError(d.Name)
		}
		if err := e.MoveName(ctx, catalog.NameKey{Name: old.Name}, catalog.NameKey{Name: d.Name}, catalog.NameEntry{ID: d.ID},
			catalog.DuplicateDatabaseError(d.Name)); err != nil {
			return err
		}
	case ast.AlterDatabaseOwner:
		to, err := e.Role(&st.Owner)
		if err != nil {
			return err
		}
		if err := e.NewOwner(ctx, to, 0); err != nil {
			return err
		}
		if !mayCreateDatabases(e) {
			return pgerr.New(pgerr.InsufficientPrivilege, "permission denied to change owner of database")
		}
		d.SetOwner(to)
	default:
		for i := range st.Options {
			if err := checkDatabaseOption(ctx, e, &st.Options[i]); err != nil {
				return err
			}
		}
		return nil
	}
	return e.Coll.Put(ctx, &d)
}
