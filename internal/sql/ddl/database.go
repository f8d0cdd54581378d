package ddl

import (
	"context"
	"strings"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// role resolves the name of a role that is to own something.
func (e *Env) role(r *ast.RoleSpec) (string, error) {
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

// createDatabase is CREATE DATABASE.
func (e *Env) createDatabase(ctx context.Context, st *ast.CreateDatabase) error {
	owner := e.User
	for i := range st.Options {
		o := &st.Options[i]
		if o.Name == "owner" {
			var err error
			if owner, err = e.role(&ast.RoleSpec{Loc: o.Loc, Name: optionText(o)}); err != nil {
				return err
			}
			continue
		}
		if err := e.checkDatabaseOption(ctx, o); err != nil {
			return err
		}
	}
	if st.IfNotExists {
		d, err := e.Coll.FindDatabase(ctx, st.Name)
		if err != nil {
			return err
		}
		if d != nil {
			e.skip(pgerr.DuplicateDatabase, "database \"%s\" already exists, skipping", st.Name)
			return nil
		}
	}
	_, err := e.Coll.CreateDatabase(ctx, st.Name, owner)
	return err
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
func (e *Env) checkDatabaseOption(ctx context.Context, o *ast.Option) error {
	text := strings.ToLower(optionText(o))
	switch o.Name {
	case "encoding":
		switch strings.NewReplacer("-", "", "_", "").Replace(text) {
		case "", "utf8", "unicode", "6":
			return nil
		}
		return pgerr.Unsupported("encoding \"%s\" is not supported", optionText(o)).At(o.Pos)
	case "lc_collate", "lc_ctype", "locale":
		return e.checkDatabaseLocale(o, text)
	case "locale_provider":
		switch text {
		case "", "libc":
			return nil
		case "icu":
			return pgerr.Unsupported("locale provider \"icu\" is not supported for databases").At(o.Pos)
		}
		return pgerr.New(pgerr.InvalidParameterValue, "unrecognized locale provider: %s", optionText(o)).At(o.Pos)
	case "template":
		return e.checkTemplate(ctx, optionText(o), o.Pos)
	case "allow_connections":
		allowed, err := boolParam(o, o.Name, true)
		if err == nil && !allowed {
			err = pgerr.Unsupported("databases that allow no connections are not supported").At(o.Pos)
		}
		return err
	case "connection_limit", "is_template", "oid", "strategy", "colocation", "colocated":
		e.ignore(noDatabaseOption)
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
func (e *Env) checkDatabaseLocale(o *ast.Option, text string) error {
	switch strings.ReplaceAll(text, "-", "") {
	case "", "c.utf8":
		return nil
	case "c", "posix", "en_us.utf8":
		e.ignore(noDatabaseOption)
		return nil
	}
	return pgerr.Unsupported("locale \"%s\" is not supported", optionText(o)).At(o.Pos)
}

// checkTemplate refuses templates that hold something: databases are not copied.
func (e *Env) checkTemplate(ctx context.Context, name string, pos int) error {
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

// lockDatabase finds a database and locks it; nil if there is none.
func (e *Env) lockDatabase(ctx context.Context, name string) (*catalog.Database, error) {
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

func undefinedDatabase(name string) error {
	return pgerr.New(pgerr.InvalidCatalogName, "database \"%s\" does not exist", name)
}

// dropDatabase is DROP DATABASE.
func (e *Env) dropDatabase(ctx context.Context, st *ast.DropDatabase) error {
	if catalog.TemplateByName(st.Name) != nil {
		return pgerr.New(pgerr.WrongObjectType, "cannot drop a template database")
	}
	d, err := e.lockDatabase(ctx, st.Name)
	if err != nil {
		return err
	}
	if d == nil {
		if st.IfExists {
			e.skip(pgerr.SuccessfulCompletion, "database \"%s\" does not exist, skipping", st.Name)
			return nil
		}
		return undefinedDatabase(st.Name)
	}
	if d.ID == e.Coll.CurrentDatabase().ID {
		return pgerr.New(pgerr.ObjectInUse, "cannot drop the currently open database")
	}
	if err := e.unusedDatabase(d); err != nil {
		return err
	}
	all, err := e.Coll.Descriptors(ctx)
	if err != nil {
		return err
	}
	for _, x := range all {
		if err := e.dropFromDatabase(ctx, d.ID, x, st.Restrict); err != nil {
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
	if err := e.removeZones(ctx, span); err != nil {
		return err
	}
	return e.Coll.ClearOnCommit(ctx, span)
}

func (e *Env) unusedDatabase(d *catalog.Database) error {
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
func (e *Env) dropFromDatabase(ctx context.Context, db catalog.ID, x catalog.Descriptor, restrict bool) error {
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
		return e.removeTable(ctx, x)
	}
	return nil
}

// removeTable removes a relation's names and descriptor, not its data.
func (e *Env) removeTable(ctx context.Context, t *catalog.Table) error {
	if err := e.removeRelationName(ctx, t, t.StoredName()); err != nil {
		return err
	}
	for i := range t.Indexes {
		if namedIndex(t, i) {
			if err := e.removeRelationName(ctx, t, t.Indexes[i].Name); err != nil {
				return err
			}
		}
	}
	return e.Coll.Remove(ctx, t.ID)
}

// alterDatabase is ALTER DATABASE.
func (e *Env) alterDatabase(ctx context.Context, st *ast.AlterDatabase) error {
	switch st.Kind {
	case ast.AlterDatabaseSet:
		return e.alterStored(ctx, st.Name, 0, st.Set)
	case ast.AlterDatabaseRefresh:
		return pgerr.Unsupported("ALTER DATABASE ... REFRESH COLLATION VERSION is not supported").At(st.Pos)
	}
	old, err := e.lockDatabase(ctx, st.Name)
	if err != nil {
		return err
	}
	if old == nil {
		return undefinedDatabase(st.Name)
	}
	d := *old
	switch st.Kind {
	case ast.AlterDatabaseRename:
		if old.ID == e.Coll.CurrentDatabase().ID {
			return pgerr.Unsupported("current database cannot be renamed")
		}
		if err := e.unusedDatabase(old); err != nil {
			return err
		}
		d.Name = st.NewName
		if catalog.TemplateByName(d.Name) != nil {
			return catalog.DuplicateDatabaseError(d.Name)
		}
		if err := e.moveName(ctx, catalog.NameKey{Name: old.Name}, catalog.NameKey{Name: d.Name}, catalog.NameEntry{ID: d.ID},
			catalog.DuplicateDatabaseError(d.Name)); err != nil {
			return err
		}
	case ast.AlterDatabaseOwner:
		if d.Owner, err = e.role(&st.Owner); err != nil {
			return err
		}
	default:
		for i := range st.Options {
			if err := e.checkDatabaseOption(ctx, &st.Options[i]); err != nil {
				return err
			}
		}
		return nil
	}
	return e.Coll.Put(ctx, &d)
}

// moveName renames: it takes a name, or fails with taken, and frees the old one.
func (e *Env) moveName(ctx context.Context, from, to catalog.NameKey, entry catalog.NameEntry, taken error) error {
	dup, err := e.Coll.AddName(ctx, to, entry)
	if err != nil {
		return err
	}
	if dup {
		return taken
	}
	return e.Coll.RemoveName(ctx, from)
}
