package ddl

import (
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/alter"
	"github.com/lichendb/lichen/internal/sql/ddl/relations"
	"github.com/lichendb/lichen/internal/sql/ddl/roles"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// comment is COMMENT ON. Comments are part of the descriptors.
func comment(ctx context.Context, e *statement.Env, st *ast.Comment) error {
	switch st.Kind {
	case ast.ObjDatabase:
		return commentDatabase(ctx, e, st)
	case ast.ObjSchema:
		return commentSchema(ctx, e, st)
	case ast.ObjTable, ast.ObjView, ast.ObjMaterializedView, ast.ObjSequence, ast.ObjIndex:
		return commentRelation(ctx, e, st, st.Name)
	case ast.ObjColumn:
		if len(st.Name) < 2 {
			return pgerr.New(pgerr.SyntaxError, "column name must be qualified").At(st.Pos)
		}
		return commentColumn(ctx, e, st)
	case ast.ObjTrigger:
		return commentTrigger(ctx, e, st)
	case ast.ObjConstraint:
		return commentConstraint(ctx, e, st)
	case ast.ObjPolicy:
		return commentPolicy(ctx, e, st)
	case ast.ObjType, ast.ObjDomain:
		return commentType(ctx, e, st)
	case ast.ObjCollation:
		return commentCollation(ctx, e, st)
	case ast.ObjFunction, ast.ObjProcedure, ast.ObjRoutine, ast.ObjAggregate, ast.ObjOperator:
		return commentRoutine(ctx, e, st)
	case ast.ObjStatistics:
		return commentStatistics(ctx, e, st)
	case ast.ObjCast:
		return commentCast(ctx, e, st)
	case ast.ObjDomainConstraint:
		return commentDomainConstraint(ctx, e, st)
	case ast.ObjEventTrigger:
		return commentEventTrigger(ctx, e, st)
	case ast.ObjExtension:
		return commentExtension(ctx, e, st)
	case ast.ObjRole:
		return roles.Comment(ctx, e, st.Name[0], st.Text)
	}
	return pgerr.Unsupported("COMMENT ON %s is not supported", st.Kind).At(st.Pos)
}

// qualified turns the parts of a name into a TableName.
func qualified(parts []ast.Name, at ast.Loc) ast.TableName {
	n := ast.TableName{Loc: at, Table: parts[len(parts)-1]}
	if len(parts) > 1 {
		n.Schema = parts[len(parts)-2]
	}
	if len(parts) > 2 {
		n.Catalog = parts[len(parts)-3]
	}
	return n
}

func commentDatabase(ctx context.Context, e *statement.Env, st *ast.Comment) error {
	d, err := e.LockDatabase(ctx, st.Name[0])
	if err != nil {
		return err
	}
	if d == nil {
		return statement.UndefinedDatabase(st.Name[0])
	}
	c := *d
	c.Comment = st.Text
	return e.Coll.Put(ctx, &c)
}

func commentSchema(ctx context.Context, e *statement.Env, st *ast.Comment) error {
	s, err := e.LockSchema(ctx, st.Name[0])
	if err != nil {
		return err
	}
	if s == nil {
		return pgerr.New(pgerr.InvalidSchemaName, "schema \"%s\" does not exist", st.Name[0])
	}
	c := *s
	c.Comment = st.Text
	return e.Coll.Put(ctx, &c)
}

// changeRelation locks a relation and stores what f makes of it.
func changeRelation(ctx context.Context, e *statement.Env, n ast.TableName, f func(t *catalog.Table, index bool) error) error {
	t, index, err := e.LockRelation(ctx, n)
	if err != nil {
		return err
	}
	if t == nil {
		return e.UndefinedRelation(ctx, n)
	}
	t = t.Clone()
	if err := f(t, index); err != nil {
		return err
	}
	return e.Coll.Put(ctx, t)
}

func commentRelation(ctx context.Context, e *statement.Env, st *ast.Comment, name []ast.Name) error {
	n := qualified(name, st.Loc)
	return changeRelation(ctx, e, n, func(t *catalog.Table, index bool) error {
		materialized := st.Kind == ast.ObjMaterializedView
		if index != (st.Kind == ast.ObjIndex) || !index && !materialized && t.Kind != alter.KindOf[st.Kind] || materialized != t.Materialized() {
			words := map[ast.ObjectKind]string{
				ast.ObjTable: "a table", ast.ObjView: "a view", ast.ObjMaterializedView: "a materialized view", ast.ObjSequence: "a sequence", ast.ObjIndex: "an index",
			}
			return pgerr.New(pgerr.WrongObjectType, "\"%s\" is not %s", n.Table, words[st.Kind]).At(st.Pos)
		}
		if index {
			t.IndexByName(n.Table).Comment = st.Text
		} else {
			t.Comment = st.Text
		}
		return nil
	})
}

// commentColumn is COMMENT ON COLUMN: of a table, a view or a composite type.
func commentColumn(ctx context.Context, e *statement.Env, st *ast.Comment) error {
	last := len(st.Name) - 1
	name := st.Name[last]
	return changeRelation(ctx, e, qualified(st.Name[:last], st.Loc), func(t *catalog.Table, index bool) error {
		switch {
		case index:
			return errNoColumnComments(st.Name[last-1], "indexes")
		case t.Kind == catalog.KindSequence:
			return errNoColumnComments(t.Name, "sequences")
		case t.IsComposite():
			return commentField(t, name, st.Text)
		}
		ord, ok := relations.VisibleColumn(t, name)
		if !ok {
			return t.UndefinedColumn(name)
		}
		t.Columns[ord].Comment = st.Text
		return nil
	})
}

func errNoColumnComments(name ast.Name, kind string) error {
	return pgerr.New(pgerr.WrongObjectType, "cannot set comment on relation \"%s\"", name).
		WithDetail("This operation is not supported for %s.", kind)
}

// commentField sets the comment on a field of the composite type that t defines.
func commentField(t *catalog.Table, name ast.Name, text string) error {
	def := *t.UserType.Def
	def.Fields = slices.Clone(def.Fields)
	i := slices.IndexFunc(def.Fields, func(f types.FieldDef) bool { return f.Name == name })
	if i < 0 {
		return t.UndefinedColumn(name)
	}
	def.Fields[i].Comment = text
	t.UserType = types.NewUserType(t.Oid, t.Name, t.UserType.SQLName, &def)
	return nil
}

func commentConstraint(ctx context.Context, e *statement.Env, st *ast.Comment) error {
	name := st.Name[0]
	return changeRelation(ctx, e, qualified(st.On, st.Loc), func(t *catalog.Table, _ bool) error {
		for i := range t.Checks {
			if t.Checks[i].Name == name {
				t.Checks[i].Comment = st.Text
				return nil
			}
		}
		if i := t.ForeignKeyByName(name); i >= 0 {
			t.ForeignKeys[i].Comment = st.Text
			return nil
		}
		for i := range t.Indexes {
			if t.Indexes[i].Constraint && t.Indexes[i].ConstraintName == name {
				t.Indexes[i].ConstraintComment = st.Text
				return nil
			}
		}
		return pgerr.New(pgerr.UndefinedObject, "constraint \"%s\" for table \"%s\" does not exist", name, t.Name)
	})
}

// commentType is COMMENT ON TYPE and DOMAIN.
func commentType(ctx context.Context, e *statement.Env, st *ast.Comment) error {
	n := qualified(st.Name, st.Loc)
	t, err := alter.LockType(ctx, e, n)
	if err == nil && t == nil {
		return commentOther(ctx, e, st, n)
	}
	if err != nil {
		return err
	}
	if st.Kind == ast.ObjDomain && t.UserType.Def.Kind != types.DefDomain {
		return pgerr.New(pgerr.WrongObjectType, "\"%s\" is not a domain", t.Name)
	}
	t = t.Clone()
	t.Comment = st.Text
	return e.Coll.Put(ctx, t)
}

// commentOther refuses a comment on a type that nobody defined.
func commentOther(ctx context.Context, e *statement.Env, st *ast.Comment, n ast.TableName) error {
	t := alter.TypeNamed(ctx, e, n)
	switch {
	case t == nil:
		return alter.ErrNoType(n)
	case st.Kind == ast.ObjDomain:
		return pgerr.New(pgerr.WrongObjectType, "\"%s\" is not a domain", n.Table)
	}
	return pgerr.Unsupported("a comment on type %s is not supported", types.FormatType(t)).At(st.Pos)
}

// commentDomainConstraint is COMMENT ON CONSTRAINT ... ON DOMAIN.
func commentDomainConstraint(ctx context.Context, e *statement.Env, st *ast.Comment) error {
	t, err := alter.LockExisting(ctx, e, qualified(st.On, st.Loc), "a domain")
	if err != nil {
		return err
	}
	def := *t.UserType.Def
	def.Checks = slices.Clone(def.Checks)
	i := slices.IndexFunc(def.Checks, func(k types.DomainCheck) bool { return k.Name == st.Name[0] })
	switch {
	case def.Kind != types.DefDomain:
		return pgerr.New(pgerr.WrongObjectType, "\"%s\" is not a domain", t.Name)
	case i < 0:
		return pgerr.New(pgerr.UndefinedObject, "constraint \"%s\" for domain %s does not exist", st.Name[0], t.UserType.SQLName)
	}
	def.Checks[i].Comment = st.Text
	return alter.RedefineType(ctx, e, t, &def)
}
