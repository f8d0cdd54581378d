package alter

import (
	"context"
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/types"
)

// DropRoutines is DROP FUNCTION, PROCEDURE and ROUTINE.
func DropRoutines(ctx context.Context, e *statement.Env, st *ast.DropRoutine) error {
	d := newDropper(e, st.Cascade)
	for i := range st.Refs {
		t, err := LockRoutine(ctx, e, &st.Refs[i], st.Kind, st.IfExists, e.Drops(ctx))
		if err != nil {
			return err
		}
		if t == nil {
			continue
		}
		if err := notAggregate(t, st.Kind); err != nil {
			return err
		}
		d.target(t)
	}
	return d.run(ctx)
}

// DropRoutinesByID is DropRoutines for routines whose ids are known, of which the user may drop all.
func DropRoutinesByID(ctx context.Context, e *statement.Env, ids []catalog.ID, cascade bool) error {
	d := newDropper(e, cascade)
	for _, id := range ids {
		if err := e.Coll.LockExclusive(ctx, id); err != nil {
			return err
		}
		t, err := e.Coll.TableByID(ctx, id)
		if err != nil {
			return err
		}
		d.target(t)
	}
	return d.run(ctx)
}

// LockRoutine finds a routine by its name and arguments and locks it; with ifExists nil, and a notice, if there is none. may
// says whether the user may do that.
func LockRoutine(
	ctx context.Context, e *statement.Env, ref *ast.RoutineRef, k ast.RoutineKind, ifExists bool, may statement.May,
) (*catalog.Table, error) {
	for {
		t, err := findRoutine(ctx, e, ref, k)
		if err != nil {
			code := pgerr.CodeOf(err)
			if ifExists && (code == pgerr.UndefinedFunction || code == pgerr.UndefinedObject || code == pgerr.InvalidSchemaName) {
				if k == ast.OwnOperator && code == pgerr.UndefinedFunction {
					err = pgerr.New(code, "operator %s does not exist", qualifiedRef(ref))
				}
				e.Skip(pgerr.SuccessfulCompletion, "%s, skipping", pgerr.From(err).Message)
				return nil, nil
			}
			return nil, err
		}
		if err := may(t); err != nil {
			return nil, err
		}
		if err := e.Coll.LockExclusive(ctx, t.ID); err != nil {
			return nil, err
		}
		again, err := findRoutine(ctx, e, ref, k)
		if err == nil && again.ID == t.ID {
			return again, nil
		}
	}
}

// findRoutine finds a routine by its name and arguments.
func findRoutine(ctx context.Context, e *statement.Env, ref *ast.RoutineRef, k ast.RoutineKind) (*catalog.Table, error) {
	if k == ast.OwnOperator {
		return findOperator(ctx, e, ref)
	}
	found, err := e.Coll.FindRoutines(ctx, ref.Name.Schema, ref.Name.Table)
	if err != nil {
		return nil, err
	}
	word := strings.ToLower(k.String())
	if ref.Bare {
		return onlyRoutine(found, ref, k)
	}
	var want, all []*types.T
	names := make([]string, 0, len(ref.Params))
	for i := range ref.Params {
		t, err := planner.FindType(ctx, ref.Params[i].Type, e.DefaultIntSize, e.Coll)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
		if ref.Params[i].Mode != ast.ParamOut {
			want, names = append(want, t), append(names, types.FormatType(t))
		}
	}
	if k == ast.Aggregate {
		return findAggregate(found, ref, want)
	}
	for _, t := range found {
		if !sameTypes(t.Routine.IdentityTypes(), want) && !(t.Routine.Procedure && sameTypes(t.Routine.ParamTypes(), all)) {
			continue
		}
		if wrong := wrongRoutine(t, k); wrong != "" {
			return nil, pgerr.New(pgerr.WrongObjectType, "%s(%s) is not a %s", ref.Name.Table, strings.Join(names, ", "), wrong)
		}
		return t, nil
	}
	if fn, err := builtin.ResolveFunction(ref.Name.Table, want); err == nil && mayBeBuiltIn(ref) {
		return nil, required(fn)
	}
	return nil, pgerr.New(pgerr.UndefinedFunction, "%s %s(%s) does not exist", word, qualifiedRef(ref), strings.Join(names, ", "))
}

func sameTypes(a, b []*types.T) bool {
	return slices.EqualFunc(a, b, func(a, b *types.T) bool { return a.Oid == b.Oid })
}

// mayBeBuiltIn reports whether a name may be that of a function of the system.
func mayBeBuiltIn(ref *ast.RoutineRef) bool {
	return ref.Name.Schema == "" || ref.Name.Schema == "pg_catalog"
}

// required refuses to drop a function of the system.
func required(o *call.Overload) error {
	return pgerr.New(pgerr.DependentObjectsStillExist, "cannot drop function %s because it is required by the database system",
		call.CallText(o.Name, false, o.Args))
}

func qualifiedRef(ref *ast.RoutineRef) string {
	if ref.Name.Schema != "" {
		return ref.Name.Schema + "." + ref.Name.Table
	}
	return ref.Name.Table
}

// findAggregate finds an aggregate among the routines of its name.
func findAggregate(found []*catalog.Table, ref *ast.RoutineRef, want []*types.T) (*catalog.Table, error) {
	text := call.CallText(qualifiedRef(ref), false, want)
	if len(want) == 0 {
		text = qualifiedRef(ref) + "(*)"
	}
	for _, t := range found {
		if !sameTypes(t.Routine.IdentityTypes(), want) {
			continue
		}
		if t.Routine.Aggregate == nil {
			return nil, pgerr.New(pgerr.WrongObjectType, "function %s is not an aggregate", call.CallText(ref.Name.Table, false, want))
		}
		return t, nil
	}
	if a, err := builtin.ResolveAggregate(ref.Name.Table, want); err == nil && mayBeBuiltIn(ref) {
		return nil, required(&a.Overload)
	}
	return nil, pgerr.New(pgerr.UndefinedFunction, "aggregate %s does not exist", text)
}

// notAggregate refuses DROP FUNCTION of an aggregate.
func notAggregate(t *catalog.Table, k ast.RoutineKind) error {
	if t.Routine.Aggregate == nil || k == ast.Aggregate || k == ast.AnyRoutine {
		return nil
	}
	return pgerr.New(pgerr.WrongObjectType, "\"%s\" is an aggregate function", t.Name).WithHint("Use DROP AGGREGATE to drop aggregate functions.")
}

// wrongRoutine is what a statement about routines of a kind wants and t is not, "" if it is.
func wrongRoutine(t *catalog.Table, k ast.RoutineKind) string {
	switch {
	case k == ast.Function && t.Routine.Procedure:
		return "function"
	case k == ast.Procedure && !t.Routine.Procedure:
		return "procedure"
	}
	return ""
}

// onlyRoutine returns the only routine of a name.
func onlyRoutine(found []*catalog.Table, ref *ast.RoutineRef, k ast.RoutineKind) (*catalog.Table, error) {
	word := strings.ToLower(k.String())
	fit := slices.DeleteFunc(slices.Clone(found), func(t *catalog.Table) bool { return wrongRoutine(t, k) != "" })
	switch {
	case len(fit) == 1:
		return fit[0], nil
	case len(fit) > 1:
		return nil, pgerr.New(pgerr.AmbiguousFunction, "%s name \"%s\" is not unique", word, qualifiedRef(ref)).
			WithHint("Specify the argument list to select the %s unambiguously.", word)
	}
	return nil, pgerr.New(pgerr.UndefinedFunction, "could not find a %s named \"%s\"", word, qualifiedRef(ref))
}

// RoutineReaders names what of the database calls a routine in an expression or a query that is stored.
func RoutineReaders(ctx context.Context, e *statement.Env, t *catalog.Table) ([]string, error) {
	all, err := e.TablesOf(ctx, t.Database)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, o := range all {
		if o.ID != t.ID {
			out = append(out, readersIn(ctx, e, o, calls(ctx, e, t))...)
		}
	}
	return out, nil
}

// calls returns a test whether a stored text calls a routine, by its name and how many arguments it takes.
func calls(ctx context.Context, e *statement.Env, t *catalog.Table) func(text string) bool {
	schema := ""
	if s, err := e.Coll.Peek(ctx, t.Schema); err == nil && s != nil {
		schema = s.Ident().Name
	}
	if t.OwnOperator() {
		return usesOperator(t, schema)
	}
	if t.Routine.Aggregate != nil && len(builtin.Aggregates(t.Name)) > 0 { // calls of the user's have its schema
		return anyCall(t.Name, func(c *ast.FuncCall) bool {
			return c.Name.Name == t.Name && c.Name.Schema == schema && t.Overload().AcceptsCount(len(c.Args))
		})
	}
	is := func(c *ast.FuncCall) bool {
		return c.Name.Name == t.Name && (c.Name.Schema == "" || c.Name.Schema == schema) && t.Overload().AcceptsCount(len(c.Args))
	}
	return anyCall(t.Name, is)
}

// callers notes what calls the routine t, which is dropped: views and defaults of columns go with it.
func (d *dropper) callers(ctx context.Context, t *catalog.Table, on string) error {
	test := calls(ctx, d.e, t)
	if err := d.castsWith(ctx, t, on); err != nil {
		return err
	}
	return d.callersThat(ctx, func(*catalog.Table) func(string) bool { return test }, on)
}

// callersThat is callers for the texts for which the test of the object that has them holds.
func (d *dropper) callersThat(ctx context.Context, testOf func(*catalog.Table) func(string) bool, on string) error {
	for _, o := range d.all {
		if d.in[o.ID] || d.schema != nil && o.Schema == d.schema.ID || o.Kind == catalog.KindRoutine {
			continue
		}
		test := testOf(o)
		for _, text := range readersIn(ctx, d.e, o, test) {
			switch {
			case o.View != nil:
				if err := d.e.Coll.LockExclusive(ctx, o.ID); err != nil {
					return err
				}
				d.dependent(o, on)
			case strings.HasPrefix(text, "default value for "):
				d.defaultsThat(ctx, o, test, on)
			case d.cascade:
				return pgerr.Unsupported("dropping %s with a function that it calls is not supported", text).WithHint("Drop it first.")
			default:
				d.others = append(d.others, text+" depends on "+on)
			}
		}
	}
	return nil
}

// defaultsThat notes the defaults of o for which a test holds.
func (d *dropper) defaultsThat(ctx context.Context, o *catalog.Table, test func(string) bool, on string) {
	for i := range o.Columns {
		c := &o.Columns[i]
		if c.Default == "" || !test(c.Default) || slices.ContainsFunc(d.columns, func(x droppedDefault) bool { return x.table == o.ID && x.column == c.ID }) {
			continue
		}
		text := "default value for column " + c.Name + " of " + d.e.Describe(ctx, o)
		d.columns = append(d.columns, droppedDefault{o.ID, c.ID, text, on})
	}
}

// ofTypes notes the routines that have t, a relation or a type, in their signature or in a standard body.
func (d *dropper) ofTypes(ctx context.Context, t *catalog.Table, on string) error {
	for _, o := range d.all {
		if d.in[o.ID] || o.Routine == nil || !RoutineUses(o.Routine, t) {
			continue
		}
		if err := d.e.Coll.LockExclusive(ctx, o.ID); err != nil {
			return err
		}
		d.dependent(o, on)
	}
	return nil
}

// RoutineUses reports whether a routine depends on a relation or a type.
func RoutineUses(r *catalog.Routine, t *catalog.Table) bool {
	return slices.Contains(r.Uses, t.ID) || catalog.UsesType(r.Returns, t.Oid) || r.Aggregate != nil && catalog.UsesType(r.Aggregate.State, t.Oid) ||
		slices.ContainsFunc(r.Params, func(p catalog.RoutineParam) bool { return catalog.UsesType(p.Type, t.Oid) })
}
