package ddl

import (
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/sql/access"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/alter"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/ddl/storedtext"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/privilege"
)

// createSchema is CREATE SCHEMA.
func createSchema(ctx context.Context, e *statement.Env, st *ast.CreateSchema) error {
	owner, err := e.Role(st.Owner)
	if err != nil {
		return err
	}
	name := st.Name
	if name == "" {
		name = e.Coll.RoleByOid(owner.Role()).Name
	}
	if err := reservedSchema(name); err != nil {
		return err
	}
	s, err := e.Coll.FindSchema(ctx, name)
	if err != nil {
		return err
	}
	if s != nil && st.IfNotExists {
		e.Skip(pgerr.DuplicateSchema, "schema \"%s\" already exists, skipping", name)
		return nil
	}
	elements, err := orderElements(name, st.Elements)
	if err != nil {
		return err
	}
	db := e.Coll.CurrentDatabase()
	if err := access.MustUseDatabase(e.Coll, db, privilege.Create); err != nil {
		return err
	}
	if err := e.NewOwner(ctx, owner, 0); err != nil {
		return err
	}
	made, err := e.Coll.CreateSchema(ctx, db.ID, name, owner)
	if err != nil {
		return err
	}
	if made.ACL = e.DefaultACL(db.ID, 0, privilege.Schema); made.ACL != nil {
		if err := e.Coll.Put(ctx, made); err != nil {
			return err
		}
	}
	return e.Coll.InSchema(name, func() error { return createElements(ctx, e, elements) })
}

// orderElements puts the objects of CREATE SCHEMA into an order in which they can be
// created, as PostgreSQL does: an element may use those of kinds that come before its own.
func orderElements(schema string, list []ast.Statement) ([]ast.Statement, error) {
	var sequences, tables, views, indexes []ast.Statement
	for _, st := range list {
		var name *ast.TableName
		switch st := st.(type) {
		case *ast.CreateSequence:
			name, sequences = &st.Name, append(sequences, st)
		case *ast.CreateTable:
			name, tables = &st.Name, append(tables, st)
		case *ast.CreateView:
			name, views = &st.Name, append(views, st)
		case *ast.CreateIndex:
			name, indexes = &st.Table.Name, append(indexes, st)
		case *ast.Unsupported:
			return nil, pgerr.Unsupported("%s is not supported", st.Feature).At(st.Pos)
		default:
			return nil, pgerr.Unsupported("%s within CREATE SCHEMA is not supported", st.Tag()).At(st.Position())
		}
		if name.Schema == "" {
			name.Schema = schema
		} else if name.Schema != schema {
			return nil, pgerr.New(pgerr.InvalidSchemaDefinition, "CREATE specifies a schema (%s) different from the one being created (%s)", name.Schema, schema)
		}
	}
	return slices.Concat(sequences, tables, views, indexes), nil
}

// createElements runs the statements within CREATE SCHEMA, each on what the ones before left.
func createElements(ctx context.Context, e *statement.Env, list []ast.Statement) error {
	for _, st := range list {
		e.NextCommand()
		if _, err := Exec(ctx, e, st); err != nil {
			return err
		}
	}
	return nil
}

func reservedSchema(name string) error {
	if len(name) >= 3 && name[:3] == "pg_" {
		return pgerr.New(pgerr.ReservedName, "unacceptable schema name \"%s\"", name).
			WithDetail("The prefix \"pg_\" is reserved for system schemas.")
	}
	if name == "information_schema" || name == "lichen_internal" {
		return pgerr.New(pgerr.DuplicateSchema, "schema \"%s\" already exists", name)
	}
	return nil
}

// alterObject is ALTER SCHEMA, and ALTER of kinds that are not there.
func alterObject(ctx context.Context, e *statement.Env, st *ast.AlterObject) error {
	if st.Kind == ast.ObjType || st.Kind == ast.ObjDomain {
		return alter.RenameType(ctx, e, st)
	}
	if st.Kind == ast.ObjStatistics {
		return alterStatisticsObject(ctx, e, st)
	}
	if st.Kind == ast.ObjCollation {
		return alterCollation(ctx, e, st)
	}
	if st.Kind != ast.ObjSchema {
		return pgerr.Unsupported("ALTER %s is not supported", st.Kind).At(st.Pos)
	}
	name := st.Name[len(st.Name)-1]
	old, err := e.LockSchema(ctx, name)
	if err != nil {
		return err
	}
	if old == nil {
		return pgerr.New(pgerr.InvalidSchemaName, "schema \"%s\" does not exist", name)
	}
	s := *old
	if err := access.MustUseDatabase(e.Coll, e.Coll.CurrentDatabase(), privilege.Create); err != nil {
		return err
	}
	if st.NewName != "" {
		if err := reservedSchema(st.NewName); err != nil {
			return err
		}
		s.Name = st.NewName
		key := func(n string) catalog.NameKey { return catalog.NameKey{Database: s.Database, Name: n} }
		if err := e.MoveName(ctx, key(old.Name), key(s.Name), catalog.NameEntry{ID: s.ID},
			pgerr.New(pgerr.DuplicateSchema, "schema \"%s\" already exists", s.Name)); err != nil {
			return err
		}
		moved := func(schema, name ast.Name) (ast.Name, ast.Name, bool) { return s.Name, name, schema == old.Name }
		if err := alter.RenameInTexts(ctx, e, s.Database, old.Name, storedtext.Renamed{Types: moved, Collations: moved, Relations: moved, Calls: moved}); err != nil {
			return err
		}
	}
	if st.Owner != nil {
		to, err := e.Role(st.Owner)
		if err != nil {
			return err
		}
		if err := e.NewOwner(ctx, to, 0); err != nil {
			return err
		}
		s.SetOwner(to)
	}
	return e.Coll.Put(ctx, &s)
}
