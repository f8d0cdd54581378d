package planner

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/builtin/rangefuncs"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/casts"
)

// call plans a call of a function, aggregate or window function.
func (b *builder) call(e *ast.FuncCall, s *scope) (plan.Expr, error) {
	name, err := functionName(e)
	if err != nil && !b.userFunction(e) {
		return nil, err
	}
	switch {
	case b.isOwnAggregate(e):
		if name = e.Name.Name; e.Over != nil {
			return b.windowCall(e, name, s)
		}
		return b.aggregateCall(e, name, s)
	case err != nil: // a name of a type in its schema
		name = e.Name.Name
	case e.Over != nil:
		return b.windowCall(e, name, s)
	case e.WithinGroup || e.Star || e.Name.Schema != "public" && len(builtin.Aggregates(name)) > 0:
		return b.aggregateCall(e, name, s)
	case isWindowFunction(name):
		return nil, pgerr.New(pgerr.WrongObjectType, "window function %s requires an OVER clause", name).At(e.Pos)
	}
	if err := plainCall(e, name); err != nil {
		return nil, b.missingFunction(e, name, s, err)
	}
	x, err := b.plainFunction(e, name, s)
	if err != nil {
		return nil, err
	}
	if c, ok := x.(*plan.Call); ok && c.Fn.IsSRF() {
		return b.setReturning(c, s)
	}
	return x, nil
}

// missingFunction returns err, which says what is wrong with the form of a call, unless
// there is no function of the name at all: then it says so.
func (b *builder) missingFunction(e *ast.FuncCall, name string, s *scope, err error) error {
	if len(builtin.Functions(name)) > 0 {
		return err
	}
	if _, missing := b.plainFunction(e, name, s); missing != nil {
		return missing
	}
	return err
}

// plainFunction plans a call of a function that is no aggregate.
func (b *builder) plainFunction(e *ast.FuncCall, name string, s *scope) (plan.Expr, error) {
	if hasNamed(e.Args) {
		return b.namedCall(e, name, s)
	}
	args, pos, err := b.exprList(e.Args, s)
	if err != nil {
		return nil, err
	}
	args, pos = withoutVoid(args, pos)
	if e.Variadic {
		return b.variadicCall(e, name, args, pos)
	}
	ts := b.env.Notes.argTypes(args)
	x, err := b.functionIn(e.Name.Schema, name, args, pos, e.Pos)
	if err == nil {
		b.env.Notes.noteFunction(e, x, ts)
		return x, nil
	}
	if len(args) == 1 && e.Name.Schema == "" && noFunction(err) {
		if f, err := b.fieldNamed(args[0], e.Name.Name, e.Pos); f != nil || err != nil { // name(row) is row.name
			return f, err
		}
	}
	return nil, builtin.SuggestFunction(name, err)
}

// withoutVoid drops arguments that are parameters of type void: a JDBC driver passes what a
// call returns, the first ? of {? = call f(?)}, as such an argument, and PostgreSQL drops it.
func withoutVoid(args []plan.Expr, pos []int) ([]plan.Expr, []int) {
	isVoid := func(x plan.Expr) bool {
		p, ok := x.(*plan.Param)
		return ok && p.T.Oid == types.Void.Oid
	}
	if !slices.ContainsFunc(args, isVoid) {
		return args, pos
	}
	var kept []plan.Expr
	var at []int
	for i, x := range args {
		if !isVoid(x) {
			kept, at = append(kept, x), append(at, pos[i])
		}
	}
	return kept, at
}

// functionName returns the name to look up, checking its schema.
func functionName(e *ast.FuncCall) (string, error) {
	switch e.Name.Schema {
	case "", builtin.SchemaOf(e.Name.Name):
		return e.Name.Name, nil
	}
	return "", pgerr.New(pgerr.UndefinedFunction, "function %s does not exist", e.Name.String()).
		WithHint("No function matches the given name and argument types. You might need to add explicit type casts.").At(e.Pos)
}

// plainCall rejects what only aggregates can have.
func plainCall(e *ast.FuncCall, name string) error {
	what := ""
	switch {
	case e.Star:
		what = name + "(*) specified"
	case e.Distinct:
		what = "DISTINCT specified"
	case e.WithinGroup:
		what = "WITHIN GROUP specified"
	case len(e.OrderBy) > 0:
		what = "ORDER BY specified"
	case e.Filter != nil:
		what = "FILTER specified"
	default:
		return nil
	}
	return pgerr.New(pgerr.WrongObjectType, "%s, but %s is not an aggregate function", what, name).At(e.Pos)
}

// function resolves a function for planned arguments.
func (b *builder) function(name string, args []plan.Expr, pos []int, at int) (plan.Expr, error) {
	return b.functionIn("", name, args, pos, at)
}

// functionIn is function for a name with its schema. A name that is a type with one
// argument is a cast: of a literal in any case, of a value where no function has the name.
func (b *builder) functionIn(schema, name string, args []plan.Expr, pos []int, at int) (plan.Expr, error) {
	ts := make([]*types.T, len(args))
	for i := range args {
		ts[i] = args[i].Type()
	}
	if len(args) == 1 && isUnknown(ts[0]) {
		if t := namedType(name); t != nil {
			return b.explicitCast(args[0], t, pos[0], at)
		}
	}
	fn, err := b.resolveFunction(schema, name, ts)
	if err != nil {
		if t := b.userType(schema, name); t != nil && len(args) == 1 && isUnknown(ts[0]) {
			return b.explicitCast(args[0], t, pos[0], at)
		}
		if t := namedType(name); t != nil && len(args) == 1 && noFunction(err) && castAsCall(ts[0], t) {
			return b.explicitCast(args[0], t, pos[0], at)
		}
		return nil, pgerr.From(err).At(at)
	}
	if t := namedType(name); t != nil && len(args) == 1 && fn.Bind != nil && !castAsCall(ts[0], t) {
		return nil, call.NoMatch(name, false, ts).At(at) // fn casts whatever it is given
	}
	if name == "pg_typeof" && isUnknown(ts[0]) { // which other functions take for text
		return plan.NewConst(types.Regtype, types.NewInt(int64(types.Unknown.Oid))), nil
	}
	if name == "pg_collation_for" {
		return b.collationFor(args[0])
	}
	for i := len(args); i < len(fn.Args) && fn.Defaults > 0; i++ {
		d, err := b.defaultArg(fn, i)
		if err != nil {
			return nil, err
		}
		args, pos, ts = append(args, d), append(pos, at), append(ts, d.Type())
	}
	return b.finishCall(fn, args, ts, pos, at)
}

// castAsCall reports whether type(value) is a cast where no function is called so: if there is a
// cast, and not of a row to a text.
func castAsCall(from, to *types.T) bool {
	c, ok := casts.Find(from, to)
	return ok && c.Function() == nil && (from.Family != types.RecordFamily || to.Category() != 'S')
}

// namedType is the type of the system that a function's name is, nil if it is none.
func namedType(name string) *types.T {
	if t, ok := types.ByName(name); ok && t.Name == name {
		return t
	}
	return nil
}

// resolveFunction finds a function: one that is built in, or one that makes values
// of a user-defined range type.
func (b *builder) resolveFunction(schema, name string, ts []*types.T) (*call.Overload, error) {
	if own, err := b.routines(schema, name); err != nil || own != nil {
		return b.resolveRoutine(schema, name, own, ts, err)
	}
	fn, err := builtin.ResolveFunction(name, ts)
	if err == nil || !noFunction(err) {
		return fn, err
	}
	t := b.userType(schema, name)
	if t == nil {
		return nil, err
	}
	switch t.Def.Kind {
	case types.DefRange:
		return builtin.Resolve(rangefuncs.RangeConstructors(t), ts)
	case types.DefMultirange:
		return builtin.Resolve(rangefuncs.MultirangeConstructors(t), ts)
	}
	return nil, err
}

// noFunction reports whether an error says that there is no function of a name: none at
// all, or one of PostgreSQL's that is not supported.
func noFunction(err error) bool {
	c := pgerr.CodeOf(err)
	return c == pgerr.UndefinedFunction || c == pgerr.FeatureNotSupported
}

// userType returns the user-defined type with a name, nil if there is none.
func (b *builder) userType(schema, name string) *types.T {
	if b.env.Catalog == nil {
		return nil
	}
	tn := &ast.TypeName{Names: []ast.Name{name}}
	if schema != "" {
		tn.Names = []ast.Name{schema, name}
	}
	t, err := b.typeName(tn)
	if err != nil || t.Def == nil || t.OfRelation() {
		return nil
	}
	return t
}

// variadicCall plans f(..., VARIADIC array).
func (b *builder) variadicCall(e *ast.FuncCall, name string, args []plan.Expr, pos []int) (plan.Expr, error) {
	ts := make([]*types.T, len(args))
	for i := range args {
		ts[i] = args[i].Type()
	}
	last := len(args) - 1
	literal := isUnknown(ts[last])
	if !literal {
		ts[last] = ts[last].Elem
	}
	notArray := pgerr.New(pgerr.DatatypeMismatch, "VARIADIC argument must be an array").At(pos[last])
	if ts[last] == nil {
		return nil, notArray
	}
	fn, err := b.resolveVariadic(e.Name.Schema, name, ts)
	if err != nil {
		return nil, pgerr.From(err).At(e.Pos)
	}
	if literal && fn.Args[last].Is(types.Any) {
		return nil, notArray
	}
	params, ret, err := fn.Signature(ts)
	if err != nil {
		return nil, ofSignature(err, e.Pos)
	}
	b.callsBuiltIn(fn)
	if want, ok := types.ArrayOf(params[last]); ok {
		params[last] = want
	}
	for i := range args {
		if args[i], err = b.coerceArg(args[i], params[i], pos[i]); err != nil {
			return nil, err
		}
	}
	b.env.Notes.noteCall(e, params)
	return b.collateCall(&plan.Call{Fn: fn, Args: args, T: ret, VariadicArray: true, Pos: e.Pos})
}

// ofSignature returns an error of a call's types. Where polymorphic types don't fit together it has no position, as in PostgreSQL.
func ofSignature(err error, pos int) error {
	if pgerr.CodeOf(err) == pgerr.DatatypeMismatch {
		return err
	}
	return pgerr.From(err).At(pos)
}

// resolveVariadic finds the function of a call with an array in the place of its last arguments;
// ts has the type of the elements there.
func (b *builder) resolveVariadic(schema, name string, ts []*types.T) (*call.Overload, error) {
	own, err := b.routines(schema, name)
	if err != nil {
		return nil, err
	}
	if own = slices.DeleteFunc(own, func(o *call.Overload) bool { return !o.Variadic || len(o.Args) != len(ts) }); len(own) > 0 {
		return b.noted(builtin.Resolve(own, ts))
	}
	fn, err := builtin.ResolveVariadic(name, ts)
	if t := b.userType(schema, name); noFunction(err) && t != nil && t.Def.Kind == types.DefMultirange {
		return builtin.Resolve(rangefuncs.MultirangeConstructors(t), ts)
	}
	return fn, err
}

const hintLateral = "You might be able to move the set-returning function into a LATERAL FROM item."

// takesSets reports whether functions that return sets may stand in the clause.
func (s *scope) takesSets() bool {
	switch s.clause {
	case clauseSelect, clauseOrderBy, clauseGroupBy, clauseDistinctOn, clauseWindow:
		return s.sel != nil
	}
	return s.takesRowSets
}

// setReturning replaces a set-returning call in a select list by its output
// columns.
func (b *builder) setReturning(c *plan.Call, s *scope) (plan.Expr, error) {
	if !s.takesSets() {
		return nil, pgerr.New(pgerr.FeatureNotSupported, "set-returning functions are not allowed in %s", clauseNames[s.clause]).At(c.Pos)
	}
	if s.inWindow && s.clause != clauseWindow {
		return nil, pgerr.New(pgerr.FeatureNotSupported, "window function calls cannot contain set-returning function calls").
			WithHint(hintLateral).At(c.Pos)
	}
	if s.inAgg {
		return nil, pgerr.New(pgerr.FeatureNotSupported, "aggregate function calls cannot contain set-returning function calls").
			WithHint(hintLateral).At(c.Pos)
	}
	if s.noSets != "" {
		return nil, pgerr.New(pgerr.FeatureNotSupported, "set-returning functions are not allowed in %s", s.noSets).
			WithHint(hintLateral).At(c.Pos)
	}
	sets := &b.rowSets
	if !s.takesRowSets {
		sets = &s.sel.srfs
		for i := range *sets { // ORDER BY and GROUP BY repeat what the list has
			if plan.ExprEqual((*sets)[i].Call, c) && s.clause != clauseSelect {
				return b.srfResult(&(*sets)[i]), nil
			}
		}
	}
	if c.Fn.NeedsColumns() {
		return nil, pgerr.New(pgerr.FeatureNotSupported, "could not determine row type for result of %s", c.Fn.Name).
			WithHint("Provide a non-null record argument, or call the function in the FROM clause using a column definition list.").At(c.Pos)
	}
	f := plan.SetFunc{Call: c, Out: b.srfColumns(c)}
	*sets = append(*sets, f)
	return b.srfResult(&f), nil
}

// rowsOf makes a set-returning call one of FROM, where a composite value is its fields.
func (b *builder) rowsOf(c *plan.Call) plan.SetFunc {
	if len(c.Fn.OutTypes) > 0 || c.T.Family != types.RecordFamily || c.T.Def == nil {
		return plan.SetFunc{Call: c, Out: b.srfColumns(c)}
	}
	f := plan.SetFunc{Call: c, Spread: true}
	for _, d := range c.T.Fields() {
		f.Out = append(f.Out, plan.Column{ID: b.newCol(), Name: d.Name, Type: d.Type})
	}
	return f
}

// srfColumns allocates the output columns of a set-returning call.
func (b *builder) srfColumns(c *plan.Call) []plan.Column {
	if len(c.Fn.OutTypes) == 0 {
		return []plan.Column{{ID: b.newCol(), Name: c.Fn.Name, Type: outType(c)}}
	}
	out := make([]plan.Column, len(c.Fn.OutTypes))
	for i, t := range c.Fn.OutTypes {
		if t.Family == types.AnyFamily { // a polymorphic output follows the argument
			t = polymorphicOut(t, c)
		}
		if t.Collatable() && len(c.Args) > 0 {
			if coll := collationOfAll(c.Args); coll.strength != noCollation {
				t = coll.of(t)
			}
		}
		out[i] = plan.Column{ID: b.newCol(), Name: c.Fn.OutNames[i], Type: t}
	}
	return out
}

// polymorphicOut finds what an output column declared anyelement or anyarray
// is in a call: its element type or array type comes from an argument.
func polymorphicOut(t *types.T, c *plan.Call) *types.T {
	for _, a := range c.Args {
		at := a.Type()
		if at.Elem == nil {
			continue
		}
		if t.Oid == types.AnyArray.Oid {
			return at
		}
		return at.Elem
	}
	return types.Text
}

func (b *builder) srfResult(f *plan.SetFunc) plan.Expr {
	if len(f.Call.Fn.OutTypes) <= 1 {
		return plan.Ref(f.Out[0])
	}
	row := &plan.RowCtor{}
	for _, c := range f.Out {
		row.Fields = append(row.Fields, plan.Ref(c))
		row.Names = append(row.Names, c.Name)
	}
	return row
}
