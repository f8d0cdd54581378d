package ddl

import (
	"context"
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/sql/access"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/alter"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/privilege"
	"github.com/lichendb/lichen/internal/sql/types"
)

// newOperator is an operator as CREATE OPERATOR describes it.
type newOperator struct {
	e           *statement.Env
	st          *ast.CreateOperator
	schema      *catalog.Schema
	opts        map[string]*ast.AggregateOption
	left, right *types.T // left is nil for a prefix operator
	r           *catalog.Routine
	own         *catalog.Table // the operator that is made
}

// createOperator is CREATE OPERATOR.
func createOperator(ctx context.Context, e *statement.Env, st *ast.CreateOperator) error {
	name := st.Name
	name.Loc = ast.Loc{} // PostgreSQL's errors don't point at it
	schema, err := e.TargetSchema(ctx, name)
	if err != nil {
		return err
	}
	n := &newOperator{e: e, st: st, schema: schema, opts: map[string]*ast.AggregateOption{}, r: &catalog.Routine{Parallel: 'u', Operator: &catalog.Operator{}}}
	for _, step := range []func(context.Context) error{n.options, n.operands, n.function, n.estimators, n.check, n.put, n.relatives} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// operatorOptions are the options that there are, and what obsolete ones are called today.
var operatorOptions = map[string]string{
	"leftarg": "", "rightarg": "", "function": "", "procedure": "function", "commutator": "", "negator": "", "restrict": "", "join": "",
	"hashes": "", "merges": "", "sort1": "merges", "sort2": "merges", "ltcmp": "merges", "gtcmp": "merges",
}

// options sorts the options, of which the last one of a name counts.
func (n *newOperator) options(context.Context) error {
	for i := range n.st.Options {
		o := &n.st.Options[i]
		now, ok := operatorOptions[o.Name]
		if !ok {
			n.e.Notify("WARNING", pgerr.New(pgerr.SyntaxError, "operator attribute \"%s\" not recognized", o.Name))
			continue
		}
		if now == "" {
			now = o.Name
		}
		n.opts[now] = o
		switch now {
		case "leftarg", "rightarg":
			if o.Type != nil && o.Type.Setof {
				return invalid("SETOF type not allowed for operator argument")
			}
		case "hashes", "merges":
			on, ok := flags[strings.ToLower(o.Text())]
			if !ok && o.Name == now {
				return pgerr.New(pgerr.SyntaxError, "%s requires a Boolean value", o.Name)
			}
			if on = on || o.Name != now; now == "hashes" {
				n.r.Operator.Hashes = on
			} else {
				n.r.Operator.Merges = on
			}
		}
	}
	if n.opts["function"] == nil {
		return invalid("operator function must be specified")
	}
	return nil
}

// operands resolves the types of the operands.
func (n *newOperator) operands(ctx context.Context) (err error) {
	find := func(option string) (*types.T, error) {
		if n.opts[option] == nil {
			return nil, nil
		}
		return optionType(ctx, n.e, n.opts[option])
	}
	if n.left, err = find("leftarg"); err != nil {
		return err
	}
	if n.right, err = find("rightarg"); err != nil {
		return err
	}
	switch {
	case n.left == nil && n.right == nil:
		return invalid("operator argument types must be specified")
	case n.right == nil:
		return invalid("operator right argument type must be specified").WithDetail("Postfix operators are not supported.")
	}
	for _, t := range n.types() {
		n.r.Params = append(n.r.Params, catalog.RoutineParam{Mode: ast.ParamIn, Type: t})
	}
	return nil
}

func (n *newOperator) types() []*types.T {
	if n.left == nil {
		return []*types.T{n.right}
	}
	return []*types.T{n.left, n.right}
}

// function looks up the function, which must be declared for the operands as they are.
func (n *newOperator) function(ctx context.Context) error {
	name, err := functionNameOf(n.opts["function"])
	if err != nil {
		return err
	}
	candidates, err := functionsNamed(ctx, n.e, name)
	if err != nil {
		return err
	}
	ts := n.types()
	i := slices.IndexFunc(candidates, func(o *call.Overload) bool {
		return !o.Variadic && slices.EqualFunc(declaredArgs(o), ts, func(a, b *types.T) bool { return a.Oid == b.Oid })
	})
	if i < 0 {
		return pgerr.New(pgerr.UndefinedFunction, "function %s does not exist", call.CallText(name.String(), false, ts))
	}
	fn := candidates[i]
	if fn.IsSRF() || fn.Ret == nil {
		return pgerr.Unsupported("operators with functions that return sets are not supported").At(n.opts["function"].Pos)
	}
	n.r.Operator.Function = catalog.AggregateFunction{Oid: fn.Oid, Name: fn.Name}
	n.r.Strict, n.r.Returns, n.r.Volatility = fn.Strict, fn.Ret, 'i'
	t, ok := fn.Routine.(*catalog.Table)
	if !ok {
		if has, _ := access.OnFunction(n.e.Coll.Me(), n.e.Coll.DatabaseACLs(), fn.Oid, fn.Restricted, privilege.Execute); has == 0 {
			return access.Denied("function", fn.Name)
		}
		return nil
	}
	n.r.Operator.Function.ID, n.r.Operator.Function.Name = t.ID, ""
	n.r.Uses, n.r.Volatility, n.r.Returns = []catalog.ID{t.ID}, t.Routine.Volatility, t.Routine.Returns
	return mayExecute(n.e, t)
}

// declaredArgs are the types of a function's arguments as declared, domains included.
func declaredArgs(o *call.Overload) []*types.T {
	if t, ok := o.Routine.(*catalog.Table); ok {
		return t.Routine.IdentityTypes()
	}
	return o.Args
}

// estimators looks up the functions that estimate how many rows the operator leaves.
func (n *newOperator) estimators(context.Context) (err error) {
	o := n.r.Operator
	if o.Restrict, err = estimator(n.e, n.opts["restrict"], restrictArgs); err == nil {
		o.Join, err = estimator(n.e, n.opts["join"], joinArgs)
	}
	return err
}

// The arguments of functions that estimate.
var (
	restrictArgs = []*types.T{types.Internal, types.Oid, types.Internal, types.Int4}
	joinArgs     = []*types.T{types.Internal, types.Oid, types.Internal, types.Int2, types.Internal}
)

// estimator returns the oid of a function of the system that estimates, 0 for none.
func estimator(e *statement.Env, o *ast.AggregateOption, args []*types.T) (uint32, error) {
	if o == nil || o.Word != "" && strings.EqualFold(o.Word, "none") {
		return 0, nil
	}
	name, err := functionNameOf(o)
	if err != nil {
		return 0, err
	}
	for _, f := range e.SystemRoutines("pg_catalog", name.Table) {
		if slices.EqualFunc(f.Args, args, func(a, b *types.T) bool { return a.Oid == b.Oid }) && (name.Schema == "" || name.Schema == "pg_catalog") {
			return f.Oid, nil
		}
	}
	return 0, pgerr.New(pgerr.UndefinedFunction, "function %s does not exist", call.CallText(name.String(), false, args))
}

// check refuses what fits only operators of another kind.
func (n *newOperator) check(context.Context) error {
	o, has := n.r.Operator, func(name string) bool { return n.opts[name] != nil }
	if n.left == nil {
		switch {
		case has("commutator"):
			return invalid("only binary operators can have commutators")
		case o.Join != 0:
			return invalid("only binary operators can have join selectivity")
		case o.Merges:
			return invalid("only binary operators can merge join")
		case o.Hashes:
			return invalid("only binary operators can hash")
		}
	}
	if o := n.opts["negator"]; o != nil && n.isSelf(o) {
		return invalid("operator cannot be its own negator")
	}
	if n.r.Returns.Oid == types.Bool.Oid {
		return nil
	}
	switch {
	case has("negator"):
		return invalid("only boolean operators can have negators")
	case o.Restrict != 0:
		return invalid("only boolean operators can have restriction selectivity")
	case o.Join != 0:
		return invalid("only boolean operators can have join selectivity")
	case o.Merges:
		return invalid("only boolean operators can merge join")
	case o.Hashes:
		return invalid("only boolean operators can hash")
	}
	return nil
}

// isSelf reports whether an option names the operator itself.
func (n *newOperator) isSelf(o *ast.AggregateOption) bool {
	op := ast.Operator{Name: o.Text()}
	if o.Operator != nil {
		op = *o.Operator
	}
	return op.Name == n.st.Name.Table && (op.Schema == "" || op.Schema == n.schema.Name)
}

// put stores the operator, in the place of one that had only been named.
func (n *newOperator) put(ctx context.Context) error {
	t := n.table(n.st.Name.Table, n.r)
	entry, found, err := n.e.Coll.LockName(ctx, keyOf(t))
	if err != nil {
		return err
	}
	if !found {
		n.own = t
		return putRoutine(ctx, n.e, false, t)
	}
	if err := n.e.Coll.LockExclusive(ctx, entry.ID); err != nil {
		return err
	}
	old, err := n.e.Coll.TableByID(ctx, entry.ID)
	if err != nil {
		return err
	}
	if !old.Routine.Operator.Shell() {
		return pgerr.New(pgerr.DuplicateFunction, "operator %s already exists", t.Name)
	}
	if err := n.e.Owns(old); err != nil {
		return err
	}
	n.own = old.Clone()
	n.r.Operator.Commutator, n.r.Operator.Negator = old.Routine.Operator.Commutator, old.Routine.Operator.Negator
	n.own.Routine = n.r
	return n.e.Coll.Put(ctx, n.own)
}

func keyOf(t *catalog.Table) catalog.NameKey {
	return catalog.NameKey{Database: t.Database, Schema: t.Schema, Name: t.StoredName()}
}

func (n *newOperator) table(name string, r *catalog.Routine) *catalog.Table {
	return &catalog.Table{
		Database: n.schema.Database, Schema: n.schema.ID, Owner: n.e.User, Kind: catalog.KindRoutine, Name: name,
		NextColumnID: 1, NextIndexID: 1, NextAttnum: 1, Routine: r,
	}
}

// relatives notes the commutator and the negator, and with these what they are to the operator.
func (n *newOperator) relatives(ctx context.Context) error {
	own := n.own.Clone()
	def := *own.Routine.Operator
	own.Routine.Operator = &def
	if o := n.opts["commutator"]; o != nil {
		oid, err := n.relative(ctx, o, n.right, n.left, func(of *catalog.Operator) *uint32 { return &of.Commutator })
		if err != nil {
			return err
		}
		def.Commutator = oid
	}
	if o := n.opts["negator"]; o != nil {
		oid, err := n.relative(ctx, o, n.left, n.right, func(of *catalog.Operator) *uint32 { return &of.Negator })
		if err != nil {
			return err
		}
		def.Negator = oid
	}
	return n.e.Coll.Put(ctx, own)
}

// relative returns the oid of another operator, of which only a name is made if there is none, and notes the new operator in it.
func (n *newOperator) relative(ctx context.Context, o *ast.AggregateOption, left, right *types.T, field func(*catalog.Operator) *uint32) (uint32, error) {
	op := ast.Operator{Name: o.Text()}
	if o.Operator != nil {
		op = *o.Operator
	}
	ref := &ast.RoutineRef{Name: ast.TableName{Schema: op.Schema, Table: op.Name}, Prefix: left == nil}
	ts := []*types.T{left, right}
	if left == nil {
		ts = ts[1:]
	}
	t, oid, err := alter.FindOperator(ctx, n.e, ref, ts)
	switch {
	case err == nil && t == nil: // one of the system
		return oid, nil
	case err == nil && t.ID == n.own.ID:
		return t.Oid, nil
	case err != nil && pgerr.CodeOf(err) != pgerr.UndefinedFunction:
		return 0, err
	case err != nil:
		return n.shell(ctx, ref, ts, field)
	}
	if err := n.e.Coll.LockExclusive(ctx, t.ID); err != nil {
		return 0, err
	}
	if t, err = n.e.Coll.TableByID(ctx, t.ID); err != nil {
		return 0, err
	}
	c := t.Clone()
	def := *c.Routine.Operator
	c.Routine.Operator = &def
	if f := field(&def); *f == 0 {
		*f = n.own.Oid
	}
	return c.Oid, n.e.Coll.Put(ctx, c)
}

// shell makes an operator of which only the name and the operands are known.
func (n *newOperator) shell(ctx context.Context, ref *ast.RoutineRef, ts []*types.T, field func(*catalog.Operator) *uint32) (uint32, error) {
	schema := n.schema
	if ref.Name.Schema != "" {
		var err error
		if schema, err = n.e.TargetSchema(ctx, ref.Name); err != nil {
			return 0, err
		}
	}
	def := &catalog.Operator{}
	*field(def) = n.own.Oid
	r := &catalog.Routine{Parallel: 'u', Volatility: 'v', Returns: types.Void, Operator: def}
	for _, t := range ts {
		r.Params = append(r.Params, catalog.RoutineParam{Mode: ast.ParamIn, Type: t})
	}
	t := n.table(ref.Name.Table, r)
	t.Schema = schema.ID
	err := putRoutine(ctx, n.e, false, t)
	return t.Oid, err
}

// alterOperator is ALTER OPERATOR ... SET.
func alterOperator(e *statement.Env, r *catalog.Routine, list []ast.AggregateOption) error {
	def := *r.Operator
	r.Operator = &def
	for i := range list {
		o := &list[i]
		var err error
		switch o.Name {
		case "restrict":
			def.Restrict, err = estimator(e, o, restrictArgs)
		case "join":
			def.Join, err = estimator(e, o, joinArgs)
		case "leftarg", "rightarg", "function", "procedure", "commutator", "negator", "hashes", "merges":
			err = pgerr.New(pgerr.SyntaxError, "operator attribute \"%s\" cannot be changed", o.Name)
		default:
			err = pgerr.New(pgerr.SyntaxError, "operator attribute \"%s\" not recognized", o.Name)
		}
		if err != nil {
			return err
		}
	}
	switch prefix, boolean := len(r.Params) == 1, r.Returns.Oid == types.Bool.Oid; {
	case prefix && def.Join != 0:
		return invalid("only binary operators can have join selectivity")
	case !boolean && def.Restrict != 0:
		return invalid("only boolean operators can have restriction selectivity")
	case !boolean && def.Join != 0:
		return invalid("only boolean operators can have join selectivity")
	}
	return nil
}
