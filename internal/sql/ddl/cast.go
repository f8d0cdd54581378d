package ddl

import (
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/alter"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/casts"
)

// createCast is CREATE CAST ... WITH INOUT. The enum or composite type keeps it.
func createCast(ctx context.Context, e *statement.Env, st *ast.CreateCast) error {
	from, to, err := castTypes(ctx, e, st.From, st.To)
	if err != nil {
		return err
	}
	if err := checkCast(from, to); err != nil {
		return err
	}
	of := from
	if !keepsCasts(of) {
		of = to
	}
	t, err := lockTypeOf(ctx, e, of)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(t.UserType.Def.Casts, isCast(from, to)); i >= 0 {
		return pgerr.New(pgerr.DuplicateObject, "cast from type %s to type %s already exists", alter.TypeName(ctx, e, from), alter.TypeName(ctx, e, to))
	}
	oid, err := e.Coll.NewOid(ctx)
	if err != nil {
		return err
	}
	def := *t.UserType.Def
	def.Casts = append(slices.Clone(def.Casts), types.CastDef{Oid: oid, From: from.Oid, To: to.Oid, Context: types.CastContext(st.Context)})
	return alter.RedefineType(ctx, e, t, &def)
}

// dropCast is DROP CAST.
func dropCast(ctx context.Context, e *statement.Env, st *ast.DropCast) error {
	from, to, err := castTypes(ctx, e, st.From, st.To)
	if err != nil {
		if code := pgerr.CodeOf(err); st.IfExists && (code == pgerr.UndefinedObject || code == pgerr.InvalidSchemaName) {
			e.Skip(pgerr.SuccessfulCompletion, "%s, skipping", pgerr.From(err).Message)
			return nil
		}
		return err
	}
	name := statement.CastName(alter.TypeName(ctx, e, from), alter.TypeName(ctx, e, to))
	has, _ := types.DeclaredCast(from, to)
	switch {
	case has != nil:
	case casts.IsSystem(from, to):
		return pgerr.New(pgerr.DependentObjectsStillExist, "cannot drop %s because it is required by the database system", name)
	case st.IfExists:
		e.Skip(pgerr.SuccessfulCompletion, "cast from type %s to type %s does not exist, skipping", alter.TypeName(ctx, e, from), alter.TypeName(ctx, e, to))
		return nil
	default:
		return pgerr.New(pgerr.UndefinedObject, "cast from type %s to type %s does not exist", alter.TypeName(ctx, e, from), alter.TypeName(ctx, e, to))
	}
	t, err := lockTypeOf(ctx, e, has)
	if err != nil {
		return err
	}
	// What reads the type may need the cast: stored texts do not say where it is implied.
	readers, err := alter.Readers(ctx, e, t)
	if err != nil {
		return err
	}
	if len(readers) > 0 {
		return pgerr.Unsupported("%s cannot be dropped while %s names one of its types", name, readers[0].Text)
	}
	def := *t.UserType.Def
	def.Casts = slices.DeleteFunc(slices.Clone(def.Casts), isCast(from, to))
	return alter.RedefineType(ctx, e, t, &def)
}

func isCast(from, to *types.T) func(types.CastDef) bool {
	return func(c types.CastDef) bool { return c.From == from.Oid && c.To == to.Oid }
}

// castTypes finds the types of a cast. Errors do not say where they stand, as in PostgreSQL.
func castTypes(ctx context.Context, e *statement.Env, source, target *ast.TypeName) (from, to *types.T, err error) {
	if from, err = planner.FindType(ctx, source, e.DefaultIntSize, e.Coll); err == nil {
		to, err = planner.FindType(ctx, target, e.DefaultIntSize, e.Coll)
	}
	if err != nil {
		err := pgerr.From(err)
		err.Position = 0
		return nil, nil, err
	}
	return from, to, nil
}

// checkCast returns an error unless there may be a cast between two types: one of them is
// predeclared, the other one keeps it.
func checkCast(from, to *types.T) error {
	switch {
	case from.Pseudo() != nil:
		return pgerr.New(pgerr.WrongObjectType, "source data type %s is a pseudo-type", from.SQLName)
	case to.Pseudo() != nil:
		return pgerr.New(pgerr.WrongObjectType, "target data type %s is a pseudo-type", to.SQLName)
	case from.Oid == to.Oid:
		return pgerr.New(pgerr.InvalidObjectDefinition, "source data type and target data type are the same")
	case !keepsCasts(from) && !keepsCasts(to):
		return pgerr.Unsupported("CREATE CAST is supported between an enum or a composite type and a predeclared type")
	case !isPredeclared(from) && !isPredeclared(to):
		return pgerr.Unsupported("CREATE CAST between two user-defined types is not supported")
	}
	return nil
}

// keepsCasts reports whether the definition of t can hold casts.
func keepsCasts(t *types.T) bool {
	return t.Def != nil && (t.Def.Kind == types.DefEnum || t.Def.Kind == types.DefComposite && !t.Def.Relation)
}

func isPredeclared(t *types.T) bool {
	_, ok := types.ByOid(t.Oid)
	return ok
}

// lockTypeOf locks the descriptor of a user-defined type.
func lockTypeOf(ctx context.Context, e *statement.Env, t *types.T) (*catalog.Table, error) {
	schema, _ := e.Coll.PeekTypeSchema(ctx, t.Oid)
	return alter.LockExisting(ctx, e, ast.TableName{Schema: schema, Table: t.Name}, "")
}
