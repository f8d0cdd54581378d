package roles

import (
	"context"

	"github.com/lichendb/lichen/internal/sql/access"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/alter"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/privilege"
)

// findObjects locks what a statement grants or revokes privileges on.
func findObjects(ctx context.Context, e *statement.Env, st *ast.Grant) ([]*object, error) {
	switch {
	case st.AllInSchema:
		return allInSchemas(ctx, e, st)
	case st.Kind == ast.ObjParameter:
		return findParameters(ctx, e, st)
	}
	var list []*object
	for i, n := range st.Names {
		var args []*ast.TypeName
		if st.FuncArgs != nil {
			args = st.FuncArgs[i]
		}
		o, err := findObject(ctx, e, st, n, args)
		if err != nil {
			return nil, err
		}
		list = append(list, o)
	}
	return list, nil
}

// findObject locks an object; args are those of a routine, nil if only its name was written.
func findObject(ctx context.Context, e *statement.Env, st *ast.Grant, n ast.TableName, args []*ast.TypeName) (*object, error) {
	switch st.Kind {
	case ast.ObjTable, ast.ObjSequence:
		return findRelation(ctx, e, st.Kind, n)
	case ast.ObjSchema:
		s, err := e.LockSchemaTo(ctx, n.Table, func(s *catalog.Schema) error {
			if has, options := access.OnSchema(e.Coll, e.Coll.Me(), s, privilege.Schema.All()); has|options == 0 {
				return access.Denied("schema", s.Name)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		if s == nil {
			return nil, pgerr.New(pgerr.InvalidSchemaName, "schema \"%s\" does not exist", n.Table)
		}
		return schemaObject(e, s), nil
	case ast.ObjDatabase:
		d, err := e.LockDatabaseTo(ctx, n.Table, func(d *catalog.Database) error {
			if has, options := access.OnDatabase(e.Coll.Me(), d, privilege.Database.All()); has|options == 0 {
				return access.Denied("database", d.Name)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		if d == nil {
			return nil, statement.UndefinedDatabase(n.Table)
		}
		return databaseObject(e, d), nil
	case ast.ObjType, ast.ObjDomain:
		return findType(ctx, e, st.Kind, n)
	case ast.ObjFunction, ast.ObjProcedure, ast.ObjRoutine:
		return findRoutine(ctx, e, st.Kind, n, args)
	case ast.ObjLanguage:
		return findLanguage(ctx, e, n)
	case ast.ObjTablespace:
		return findTablespace(ctx, e, n)
	}
	return nil, pgerr.Unsupported("GRANT ON %s is not supported", st.Kind).At(n.Pos)
}

func findRelation(ctx context.Context, e *statement.Env, kind ast.ObjectKind, n ast.TableName) (*object, error) {
	if t, _, err := e.Coll.FindRelation(ctx, n.Catalog, n.Schema, n.Table); err != nil || t != nil && t.ID.IsVirtual() {
		if err != nil {
			return nil, err
		}
		return builtInRelation(ctx, e, kind, t)
	}
	t, index, err := e.LockRelationTo(ctx, n, e.HasAny)
	switch {
	case err != nil:
		return nil, err
	case t == nil:
		return nil, e.UndefinedRelation(ctx, n)
	case index:
		return nil, pgerr.New(pgerr.WrongObjectType, "\"%s\" is an index", n.Table)
	case t.IsComposite():
		return nil, pgerr.New(pgerr.WrongObjectType, "\"%s\" is a composite type", n.Table)
	case kind == ast.ObjSequence && t.Kind != catalog.KindSequence:
		return nil, pgerr.New(pgerr.WrongObjectType, "\"%s\" is not a sequence", n.Table)
	}
	return tableObject(e, t.Clone()), nil
}

func findType(ctx context.Context, e *statement.Env, kind ast.ObjectKind, n ast.TableName) (*object, error) {
	t, err := e.Coll.FindTypeDescriptor(ctx, n.Schema, n.Table)
	switch {
	case err != nil:
		return nil, err
	case t == nil:
		return findBuiltInType(ctx, e, kind, n)
	}
	if err := e.HasAny(t); err != nil {
		return nil, err
	}
	locked, err := e.LockByID(ctx, t.ID)
	if err != nil {
		return nil, err
	}
	if kind == ast.ObjDomain && !locked.UserType.IsDomain() {
		return nil, pgerr.New(pgerr.WrongObjectType, "\"%s\" is not a domain", n.Table)
	}
	return tableObject(e, locked), nil
}

// routineKinds are the words of routines as statements about these have them.
var routineKinds = map[ast.ObjectKind]ast.RoutineKind{
	ast.ObjFunction: ast.Function, ast.ObjProcedure: ast.Procedure, ast.ObjRoutine: ast.AnyRoutine,
}

func findRoutine(ctx context.Context, e *statement.Env, kind ast.ObjectKind, n ast.TableName, args []*ast.TypeName) (*object, error) {
	ref := &ast.RoutineRef{Loc: n.Loc, Name: n, Bare: args == nil}
	for _, a := range args {
		ref.Params = append(ref.Params, ast.RoutineParam{Mode: ast.ParamIn, Type: a})
	}
	if o, err := findBuiltInRoutine(ctx, e, kind, n, args); o != nil || err != nil {
		return o, err
	}
	t, err := alter.LockRoutine(ctx, e, ref, routineKinds[kind], false, e.HasAny)
	if err != nil {
		return nil, err
	}
	return tableObject(e, t.Clone()), nil
}

// tableObject is the object of a relation, type or routine, a copy to change.
func tableObject(e *statement.Env, t *catalog.Table) *object {
	kind := access.Kind(t)
	o := &object{kind: kind, word: access.Noun(t), name: t.Name, owner: t.Owner, acl: &t.ACL, initial: kind.Default(t.Owner.Role()), table: t}
	o.store = func(ctx context.Context) error { return e.Coll.Put(ctx, t) }
	return o
}

func schemaObject(e *statement.Env, s *catalog.Schema) *object {
	n := *s
	o := &object{kind: privilege.Schema, word: "schema", name: n.Name, owner: n.Owner, acl: &n.ACL, initial: s.Privileges()}
	o.store = func(ctx context.Context) error { return e.Coll.Put(ctx, &n) }
	return o
}

func databaseObject(e *statement.Env, d *catalog.Database) *object {
	n := *d
	o := &object{kind: privilege.Database, word: "database", name: n.Name, owner: n.Owner, acl: &n.ACL, initial: privilege.Database.Default(n.Owner.Role())}
	o.store = func(ctx context.Context) error { return e.Coll.Put(ctx, &n) }
	return o
}

// allInSchemas returns the objects of a kind in schemas.
func allInSchemas(ctx context.Context, e *statement.Env, st *ast.Grant) (list []*object, err error) {
	for _, n := range st.Names {
		s, err := e.Coll.FindSchema(ctx, n.Table)
		if err != nil {
			return nil, err
		}
		if s == nil {
			return nil, pgerr.New(pgerr.InvalidSchemaName, "schema \"%s\" does not exist", n.Table)
		}
		if s.ID.IsVirtual() {
			of, err := allBuiltIn(ctx, e, st, n)
			if err != nil {
				return nil, err
			}
			list = append(list, of...)
			continue
		}
		all, err := e.TablesOf(ctx, s.Database)
		if err != nil {
			return nil, err
		}
		for _, t := range all {
			if t.Schema != s.ID || !isOf(t, st.Kind) {
				continue
			}
			if err := e.HasAny(t); err != nil {
				return nil, err
			}
			locked, err := e.LockByID(ctx, t.ID)
			if err != nil {
				return nil, err
			}
			list = append(list, tableObject(e, locked))
		}
	}
	return list, nil
}

// isOf reports whether GRANT ON ALL of a kind means an object.
func isOf(t *catalog.Table, kind ast.ObjectKind) bool {
	switch t.Kind {
	case catalog.KindType, catalog.KindCollation:
		return false
	case catalog.KindRoutine:
		word, ok := routineKinds[kind]
		return ok && !t.OwnOperator() && (word == ast.AnyRoutine || t.Routine.Procedure == (word == ast.Procedure))
	case catalog.KindSequence:
		return kind == ast.ObjSequence
	}
	return kind == ast.ObjTable
}

// allBuiltIn returns the objects of a kind in a schema of the system.
func allBuiltIn(ctx context.Context, e *statement.Env, st *ast.Grant, n ast.TableName) ([]*object, error) {
	if _, ok := routineKinds[st.Kind]; ok {
		return builtInRoutines(ctx, e, st.Kind, n.Table)
	}
	switch st.Kind {
	case ast.ObjTable:
		return builtInRelations(ctx, e, n.Table)
	case ast.ObjSequence:
		return nil, nil // the system has none
	}
	return nil, pgerr.Unsupported("GRANT ON ALL %sS IN SCHEMA %s is not supported", st.Kind, n.Table).At(n.Pos)
}
