package ddl

import (
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/alter"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/casts"
)

// createCast is CREATE CAST. A user's type keeps it: the source, if it can.
func createCast(ctx context.Context, e *statement.Env, st *ast.CreateCast) error {
	from, to, err := castTypes(ctx, e, st.From, st.To)
	if err != nil {
		return err
	}
	if err := mayCast(ctx, e, from, to); err != nil {
		return err
	}
	c := types.CastDef{From: from.Oid, To: to.Oid, Context: types.CastContext(st.Context)}
	switch {
	case st.Function != nil:
		if c.Function, err = castFunction(ctx, e, st.Function, from, to); err != nil {
			return err
		}
	case st.Binary:
		if err := checkBinary(e, from, to); err != nil {
			return err
		}
	}
	if from.Oid == to.Oid && (c.Function == nil || c.Function.Args < 2) {
		return badCast("source data type and target data type are the same")
	}
	if has, _ := types.DeclaredCast(from, to); has != nil || casts.IsSystem(from, to) {
		return pgerr.New(pgerr.DuplicateObject, "cast from type %s to type %s already exists", alter.TypeName(ctx, e, from), alter.TypeName(ctx, e, to))
	}
	of := from
	if !keepsCasts(of) {
		of = to
	}
	if !keepsCasts(of) {
		return pgerr.Unsupported("CREATE CAST between types that are not made by CREATE TYPE or CREATE DOMAIN is not supported")
	}
	t, err := lockTypeOf(ctx, e, of)
	if err != nil {
		return err
	}
	if c.Oid, err = e.Coll.NewOid(ctx); err != nil {
		return err
	}
	def := *t.UserType.Def
	def.Casts = append(slices.Clone(def.Casts), c)
	return alter.RedefineType(ctx, e, t, &def)
}

// mayCast returns an error unless there may be a cast between two types, and the user may make it. One of a domain is made, but never
// used: a value of a domain is one of the type below it.
func mayCast(ctx context.Context, e *statement.Env, from, to *types.T) error {
	switch {
	case from.Pseudo() != nil:
		return pgerr.New(pgerr.WrongObjectType, "source data type %s is a pseudo-type", from.SQLName)
	case to.Pseudo() != nil:
		return pgerr.New(pgerr.WrongObjectType, "target data type %s is a pseudo-type", to.SQLName)
	}
	if err := ownsOne(ctx, e, from, to); err != nil {
		return err
	}
	for _, t := range [...]*types.T{from, to} {
		if err := e.MayUseType(t); err != nil {
			return err
		}
	}
	for i, t := range [...]*types.T{from, to} {
		if t.IsDomain() {
			e.Notify("WARNING", pgerr.New(pgerr.WrongObjectType, "cast will be ignored because the %s data type is a domain", [...]string{"source", "target"}[i]))
			break
		}
	}
	return nil
}

// ownsOne returns 42501 unless the user owns one of two types.
func ownsOne(ctx context.Context, e *statement.Env, from, to *types.T) error {
	me := e.Coll.Me()
	for _, t := range [...]*types.T{from, to} {
		if t.Elem != nil && !t.IsDomain() {
			t = t.Elem
		}
		owner := catalog.Owner(catalog.RootOid)
		if d, ok := e.Coll.PeekOwner(t.Oid).(*catalog.Table); ok && t.Oid >= catalog.FirstUserOid {
			owner = d.Owner
		}
		if me.Has(owner.Role()) {
			return nil
		}
	}
	return pgerr.New(pgerr.InsufficientPrivilege, "must be owner of type %s or type %s", alter.TypeName(ctx, e, from), alter.TypeName(ctx, e, to))
}

// castFunction finds the function of a cast, and refuses one that does not fit.
func castFunction(ctx context.Context, e *statement.Env, ref *ast.RoutineRef, from, to *types.T) (*types.CastFunction, error) {
	fn, err := functionNamed(ctx, e, ref)
	if err != nil {
		return nil, err
	}
	args, returns := declaredArgs(fn), fn.Ret
	t, own := fn.Routine.(*catalog.Table)
	if own {
		returns = t.Routine.Returns
	}
	switch {
	case len(args) < 1 || len(args) > 3:
		return nil, badCast("cast function must take one to three arguments")
	case !takenAsIs(from, args[0]):
		return nil, badCast("argument of cast function must match or be binary-coercible from source data type")
	case len(args) > 1 && args[1].Oid != types.Int4.Oid:
		return nil, badCast("second argument of cast function must be type integer")
	case len(args) > 2 && args[2].Oid != types.Bool.Oid:
		return nil, badCast("third argument of cast function must be type boolean")
	case returns == nil || !takenAsIs(returns, to):
		return nil, badCast("return data type of cast function must match or be binary-coercible to target data type")
	case own && (t.Routine.Aggregate != nil || t.Routine.Procedure) || fn.Agg != nil:
		return nil, badCast("cast function must be a normal function")
	case fn.IsSRF() || own && t.Routine.Set:
		return nil, badCast("cast function must not return a set")
	}
	f := &types.CastFunction{Oid: fn.Oid, Name: fn.Name, Args: len(args)}
	if own {
		f.ID, f.Name = uint64(t.ID), ""
	}
	return f, nil
}

func badCast(message string) error { return pgerr.New(pgerr.InvalidObjectDefinition, "%s", message) }

// takenAsIs reports whether a value of a type can be passed where another one, or a polymorphic one, is declared.
func takenAsIs(from, to *types.T) bool {
	switch to.Oid {
	case from.Oid, types.Any.Oid, types.AnyElement.Oid, types.AnyCompatible.Oid:
		return true
	case types.AnyArray.Oid, types.AnyCompatibleArray.Oid:
		return from.SubArray()
	case types.AnyEnum.Oid:
		return from.Family == types.EnumFamily
	case types.AnyRange.Oid, types.AnyCompatibleRange.Oid:
		return from.Family == types.RangeFamily
	case types.Record.Oid:
		return from.Family == types.RecordFamily
	}
	return !to.IsDomain() && sameForm(from, to)
}

// functionNamed finds the function that WITH FUNCTION names, by exactly its arguments if it has any.
func functionNamed(ctx context.Context, e *statement.Env, ref *ast.RoutineRef) (*call.Overload, error) {
	list, err := functionsNamed(ctx, e, ref.Name)
	if err != nil {
		return nil, err
	}
	own, err := e.Coll.FindRoutines(ctx, ref.Name.Schema, ref.Name.Table)
	if err != nil {
		return nil, err
	}
	for _, t := range own {
		if t.Routine.Aggregate != nil || t.Routine.Procedure {
			list = append(list, t.Overload())
		}
	}
	name := ref.Name.String()
	if ref.Bare {
		switch len(list) {
		case 1:
			return notProcedure(list[0])
		case 0:
			return nil, pgerr.New(pgerr.UndefinedFunction, "could not find a function named \"%s\"", name)
		}
		return nil, pgerr.New(pgerr.AmbiguousFunction, "function name \"%s\" is not unique", name).
			WithHint("Specify the argument list to select the function unambiguously.")
	}
	var ts []*types.T
	for i := range ref.Params {
		if ref.Params[i].Mode == ast.ParamOut {
			continue
		}
		t, err := planner.FindType(ctx, ref.Params[i].Type, e.DefaultIntSize, e.Coll)
		if err != nil {
			return nil, unplaced(err)
		}
		ts = append(ts, t)
	}
	i := slices.IndexFunc(list, func(o *call.Overload) bool {
		return slices.EqualFunc(declaredArgs(o), ts, func(a, b *types.T) bool { return a.Oid == b.Oid })
	})
	if i < 0 {
		return nil, pgerr.New(pgerr.UndefinedFunction, "function %s does not exist", call.CallText(name, false, ts))
	}
	return notProcedure(list[i])
}

func notProcedure(fn *call.Overload) (*call.Overload, error) {
	if t, ok := fn.Routine.(*catalog.Table); ok && t.Routine.Procedure {
		return nil, pgerr.New(pgerr.WrongObjectType, "%s is not a function", call.CallText(fn.Name, false, declaredArgs(fn)))
	}
	return fn, nil
}

// checkBinary refuses WITHOUT FUNCTION, as it must be for all types that users make: only the values of base types can be those of another
// type as they are.
func checkBinary(e *statement.Env, from, to *types.T) error {
	if !e.Coll.Me().Super {
		return pgerr.New(pgerr.InsufficientPrivilege, "must be superuser to create a cast WITHOUT FUNCTION")
	}
	either := func(is func(*types.T) bool) bool { return is(from) || is(to) }
	a, b := types.InfoOf(from), types.InfoOf(to)
	switch {
	case a.Len != b.Len || a.ByVal != b.ByVal || a.Align != b.Align:
		return badCast("source and target data types are not physically compatible")
	case either(func(t *types.T) bool { return t.Family == types.RecordFamily && !t.IsDomain() }):
		return badCast("composite data types are not binary-compatible")
	case either((*types.T).SubArray):
		return badCast("array data types are not binary-compatible")
	case either(func(t *types.T) bool { return t.Family == types.RangeFamily && !t.IsDomain() }):
		return badCast("range data types are not binary-compatible")
	case either(func(t *types.T) bool { return t.Family == types.EnumFamily && !t.IsDomain() }):
		return badCast("enum data types are not binary-compatible")
	case either((*types.T).IsDomain):
		return badCast("domain data types must not be marked binary-compatible")
	}
	return nil
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
	has, i := types.DeclaredCast(from, to)
	if has == nil && !casts.IsSystem(from, to) && st.IfExists {
		e.Skip(pgerr.SuccessfulCompletion, "%s, skipping", noCast(ctx, e, from, to).Message)
		return nil
	}
	if has == nil && !casts.IsSystem(from, to) {
		return noCast(ctx, e, from, to)
	}
	if err := ownsOne(ctx, e, from, to); err != nil {
		return err
	}
	if has == nil {
		return pgerr.New(pgerr.DependentObjectsStillExist, "cannot drop %s because it is required by the database system", name)
	}
	// In PostgreSQL they keep the function, which their texts here do not name.
	readers, err := alter.CastReaders(ctx, e, has.Def.Casts[i].Oid)
	if err != nil {
		return err
	}
	if len(readers) > 0 {
		return pgerr.Unsupported("%s cannot be dropped while %s uses it", name, readers[0])
	}
	t, err := lockTypeOf(ctx, e, has)
	if err != nil {
		return err
	}
	return alter.RemoveCasts(ctx, e, t, isCast(from, to))
}

func noCast(ctx context.Context, e *statement.Env, from, to *types.T) *pgerr.Error {
	return pgerr.New(pgerr.UndefinedObject, "cast from type %s to type %s does not exist", alter.TypeName(ctx, e, from), alter.TypeName(ctx, e, to))
}

func isCast(from, to *types.T) func(types.CastDef) bool {
	return func(c types.CastDef) bool { return c.From == from.Oid && c.To == to.Oid }
}

// commentCast is COMMENT ON CAST.
func commentCast(ctx context.Context, e *statement.Env, st *ast.Comment) error {
	from, to, err := castTypes(ctx, e, st.Args[0], st.Args[1])
	if err != nil {
		return err
	}
	has, _ := types.DeclaredCast(from, to)
	if has == nil && !casts.IsSystem(from, to) {
		return noCast(ctx, e, from, to)
	}
	if err := ownsOne(ctx, e, from, to); err != nil {
		return err
	}
	if has == nil {
		return pgerr.Unsupported("a comment on a cast of the system is not supported").At(st.Pos)
	}
	t, err := lockTypeOf(ctx, e, has)
	if err != nil {
		return err
	}
	def := *t.UserType.Def
	def.Casts = slices.Clone(def.Casts)
	i := slices.IndexFunc(def.Casts, isCast(from, to))
	if i < 0 {
		return noCast(ctx, e, from, to)
	}
	def.Casts[i].Comment = st.Text
	return alter.RedefineType(ctx, e, t, &def)
}

// castTypes finds the types of a cast. Errors do not say where they stand, as in PostgreSQL.
func castTypes(ctx context.Context, e *statement.Env, source, target *ast.TypeName) (from, to *types.T, err error) {
	if from, err = planner.FindType(ctx, source, e.DefaultIntSize, e.Coll); err == nil {
		to, err = planner.FindType(ctx, target, e.DefaultIntSize, e.Coll)
	}
	if err != nil {
		return nil, nil, unplaced(err)
	}
	return from, to, nil
}

// unplaced is an error without its position.
func unplaced(err error) error {
	c := *pgerr.From(err)
	c.Position = 0
	return &c
}

// keepsCasts reports whether the definition of t can hold casts: that of a relation's rows is made of the relation.
func keepsCasts(t *types.T) bool {
	return t.Def != nil && t.Def.Kind != types.DefRow && !t.Def.Relation
}

// lockTypeOf locks the descriptor of a user-defined type.
func lockTypeOf(ctx context.Context, e *statement.Env, t *types.T) (*catalog.Table, error) {
	schema, _ := e.Coll.PeekTypeSchema(ctx, t.Oid)
	return alter.LockExisting(ctx, e, ast.TableName{Schema: schema, Table: t.Name}, "")
}
