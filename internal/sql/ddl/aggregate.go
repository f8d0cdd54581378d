package ddl

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/privilege"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// newAggregate is an aggregate as CREATE AGGREGATE describes it.
type newAggregate struct {
	e    *statement.Env
	st   *ast.CreateAggregate
	opts map[string]*ast.AggregateOption
	r    *catalog.Routine
	args []*types.T
}

// createAggregate is CREATE AGGREGATE.
func createAggregate(ctx context.Context, e *statement.Env, st *ast.CreateAggregate) error {
	schema, err := e.TargetSchema(ctx, st.Name)
	if err != nil {
		return err
	}
	n := &newAggregate{e: e, st: st, r: &catalog.Routine{Volatility: 'i', Parallel: 'u', Cost: 1, Aggregate: &catalog.Aggregate{FinalModify: 'r'}}}
	for _, step := range []func(context.Context) error{n.options, n.arguments, n.states, n.functions, n.movingFunctions, n.sortOperator} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	for _, f := range n.r.Aggregate.Functions() {
		if f.ID != 0 && !slices.Contains(n.r.Uses, f.ID) {
			n.r.Uses = append(n.r.Uses, f.ID)
		}
	}
	return putRoutine(ctx, e, st.OrReplace, &catalog.Table{
		Database: schema.Database, Schema: schema.ID, Owner: e.User, Kind: catalog.KindRoutine, Name: st.Name.Table,
		NextColumnID: 1, NextIndexID: 1, NextAttnum: 1, Routine: n.r, ACL: e.DefaultACL(schema.Database, schema.ID, privilege.Function),
	})
}

// aggregateOptions are the options that there are, and what obsolete ones are called today.
var aggregateOptions = map[string]string{
	"sfunc": "", "sfunc1": "sfunc", "stype": "", "stype1": "stype", "initcond": "", "initcond1": "initcond", "basetype": "",
	"finalfunc": "", "finalfunc_extra": "", "finalfunc_modify": "", "combinefunc": "", "serialfunc": "", "deserialfunc": "", "sspace": "",
	"msfunc": "", "minvfunc": "", "mstype": "", "msspace": "", "mfinalfunc": "", "mfinalfunc_extra": "", "mfinalfunc_modify": "", "minitcond": "",
	"sortop": "", "hypothetical": "", "parallel": "",
}

func invalid(format string, args ...any) *pgerr.Error {
	return pgerr.New(pgerr.InvalidFunctionDefinition, format, args...)
}

// options sorts the options, of which the last one of a name counts, and checks which there are.
func (n *newAggregate) options(context.Context) error {
	n.opts = map[string]*ast.AggregateOption{}
	for i := range n.st.Options {
		o := &n.st.Options[i]
		now, ok := aggregateOptions[o.Name]
		if !ok {
			n.e.Notify("WARNING", pgerr.New(pgerr.SyntaxError, "aggregate attribute \"%s\" not recognized", o.Name))
			continue
		}
		if now == "" {
			now = o.Name
		}
		n.opts[now] = o
	}
	has := func(name string) bool { return n.opts[name] != nil }
	if err := n.checkFlags(); err != nil {
		return err
	}
	switch {
	case !has("stype"):
		return invalid("aggregate stype must be specified")
	case !has("sfunc"):
		return invalid("aggregate sfunc must be specified")
	case has("mstype") && !has("msfunc"):
		return invalid("aggregate msfunc must be specified when mstype is specified")
	case has("mstype") && !has("minvfunc"):
		return invalid("aggregate minvfunc must be specified when mstype is specified")
	case len(n.st.Args.Ordered) > 0 || n.flag("hypothetical"):
		return pgerr.Unsupported("ordered-set aggregates of users are not supported").At(n.st.Pos)
	}
	for _, name := range []string{"msfunc", "minvfunc", "mfinalfunc", "msspace", "minitcond"} {
		if has(name) && !has("mstype") {
			return invalid("aggregate %s must not be specified without mstype", name)
		}
	}
	if o := n.opts["parallel"]; o != nil {
		switch p := strings.ToLower(o.Text()); p {
		case "safe", "restricted", "unsafe":
			n.r.Parallel = p[0]
		default:
			return pgerr.New(pgerr.SyntaxError, "parameter \"parallel\" must be SAFE, RESTRICTED, or UNSAFE")
		}
	}
	return nil
}

// flags are what the options that say yes or no may say.
var flags = map[string]bool{"": true, "true": true, "on": true, "1": true, "false": false, "off": false, "0": false}

// checkFlags refuses options that should say yes or no and say something else.
func (n *newAggregate) checkFlags() error {
	for _, name := range []string{"finalfunc_extra", "mfinalfunc_extra", "hypothetical"} {
		if o := n.opts[name]; o != nil {
			if _, ok := flags[strings.ToLower(o.Text())]; !ok {
				return pgerr.New(pgerr.SyntaxError, "%s requires a Boolean value", name)
			}
		}
	}
	return nil
}

// flag reports whether an option that says yes or no says yes.
func (n *newAggregate) flag(name string) bool {
	o := n.opts[name]
	return o != nil && flags[strings.ToLower(o.Text())]
}

// arguments resolves the arguments.
func (n *newAggregate) arguments(ctx context.Context) error {
	base := n.opts["basetype"]
	switch {
	case !n.st.Old && base != nil:
		return invalid("basetype is redundant with aggregate input type specification")
	case n.st.Old && base == nil:
		return invalid("aggregate input type must be specified")
	case n.st.Old && strings.EqualFold(strings.Trim(base.Text(), `"`), "any"):
		return nil
	case n.st.Old:
		t, err := optionType(ctx, n.e, base)
		n.r.Params, n.args = []catalog.RoutineParam{{Mode: ast.ParamIn, Type: t}}, []*types.T{t}
		return err
	}
	names := map[ast.Name][]byte{}
	for i := range n.st.Args.Params {
		d := &n.st.Args.Params[i]
		switch d.Mode {
		case ast.ParamVariadic:
			return pgerr.Unsupported("VARIADIC arguments of aggregates are not supported").At(d.Pos)
		case ast.ParamIn:
		default:
			return pgerr.Unsupported("aggregates cannot have output arguments").At(d.Pos)
		}
		if d.Type.Setof {
			return invalid("aggregates cannot accept set arguments")
		}
		t, err := paramType(ctx, n.e, d)
		if err == nil {
			err = uniqueParam(names, d)
		}
		if err != nil {
			return err
		}
		n.r.Params, n.args = append(n.r.Params, catalog.RoutineParam{Mode: d.Mode, Name: d.Name, Type: t}), append(n.args, t)
	}
	if len(n.args) >= maxRoutineParams {
		return pgerr.New(pgerr.TooManyArguments, "aggregates cannot have more than %d arguments", maxRoutineParams-1)
	}
	return nil
}

// optionType resolves an option that is a type.
func optionType(ctx context.Context, e *statement.Env, o *ast.AggregateOption) (*types.T, error) {
	tn := o.Type
	if s, ok := o.Value.(*ast.StrLit); ok {
		tn = &ast.TypeName{Loc: o.Loc, Names: []ast.Name{s.Val}}
	}
	if tn == nil {
		return nil, pgerr.New(pgerr.SyntaxError, "argument of %s must be a type name", o.Name)
	}
	t, err := routineType(ctx, e, tn)
	if err != nil {
		return nil, err
	}
	return t.WithTypmod(-1), nil
}

// states resolves the types of the states, and their first values.
func (n *newAggregate) states(ctx context.Context) (err error) {
	a := n.r.Aggregate
	if a.State, err = n.state(ctx, "stype"); err != nil {
		return err
	}
	if a.Space, err = n.number("sspace"); err != nil {
		return err
	}
	if a.Initial, err = n.initial("initcond", a.State); err != nil {
		return err
	}
	switch serial, deserial := n.opts["serialfunc"], n.opts["deserialfunc"]; {
	case serial != nil && deserial != nil:
		return invalid("serialization functions may be specified only when the aggregate transition data type is %s", types.Internal.SQLName)
	case serial != nil || deserial != nil:
		return invalid("must specify both or neither of serialization and deserialization functions")
	}
	if n.opts["mstype"] == nil {
		return nil
	}
	m := &catalog.MovingAggregate{}
	a.Moving = m
	if m.State, err = n.state(ctx, "mstype"); err != nil {
		return err
	}
	if m.Space, err = n.number("msspace"); err != nil {
		return err
	}
	m.Initial, err = n.initial("minitcond", m.State)
	return err
}

// polymorphic reports whether a type stands for others.
func polymorphic(t *types.T) bool {
	return t.Family == types.AnyFamily && strings.HasPrefix(t.Name, "any") && t.Oid != types.Any.Oid
}

func (n *newAggregate) state(ctx context.Context, option string) (*types.T, error) {
	t, err := optionType(ctx, n.e, n.opts[option])
	switch {
	case err != nil:
		return nil, err
	case polymorphic(t) && !slices.ContainsFunc(n.args, polymorphic):
		return nil, invalid("cannot determine transition data type").
			WithDetail("A result of type %s requires at least one input of type %s.", t.SQLName, polymorphicInputs(t))
	case t.Oid == types.Internal.Oid && n.e.Coll.Me().Super:
		return nil, pgerr.Unsupported("aggregates with states of type internal are not supported").At(n.opts[option].Pos)
	case !polymorphic(t) && types.InfoOf(t).Kind == 'p':
		return nil, invalid("aggregate transition data type cannot be %s", types.FormatType(t))
	}
	return t, nil
}

// polymorphicInputs are the arguments of which a result follows, as messages list them.
func polymorphicInputs(t *types.T) string {
	if strings.HasPrefix(t.Name, "anycompatible") {
		return "anycompatible, anycompatiblearray, anycompatiblenonarray, anycompatiblerange, or anycompatiblemultirange"
	}
	return "anyelement, anyarray, anynonarray, anyenum, anyrange, or anymultirange"
}

func (n *newAggregate) number(option string) (int32, error) {
	o := n.opts[option]
	if o == nil {
		return 0, nil
	}
	v, err := strconv.ParseInt(o.Text(), 10, 64)
	if err != nil || v < math.MinInt32 || v > math.MaxInt32 {
		return 0, pgerr.New(pgerr.SyntaxError, "%s requires an integer value", o.Name)
	}
	return int32(v), nil
}

// initial returns the first value of a state, which its type must be able to read.
func (n *newAggregate) initial(option string, t *types.T) (*string, error) {
	o := n.opts[option]
	if o == nil {
		return nil, nil
	}
	text := o.Text()
	if !polymorphic(t) {
		if _, err := typeio.ParseText(t.BaseType(), text, n.e.Format); err != nil {
			return nil, err
		}
	}
	return &text, nil
}

// functions looks up what the aggregate computes with.
func (n *newAggregate) functions(ctx context.Context) error {
	a := n.r.Aggregate
	f, err := n.transition(ctx, "sfunc", a.State, a.Initial)
	if err != nil {
		return err
	}
	a.Transition = f.ref
	if a.Final, n.r.Returns, err = n.final(ctx, "", a.State); err != nil {
		return err
	}
	if a.FinalExtra, a.FinalModify, err = n.finalOptions(""); err != nil {
		return err
	}
	if n.opts["combinefunc"] == nil {
		return nil
	}
	if f, err = n.function(ctx, "combinefunc", []*types.T{a.State, a.State}); err == nil && !f.ret.Is(a.State) {
		err = f.wrongResult("combine function", a.State)
	}
	a.Combine = f.ref
	return err
}

// transition looks up a transition function for a state and its first value.
func (n *newAggregate) transition(ctx context.Context, option string, state *types.T, initial *string) (foundFunction, error) {
	f, err := n.function(ctx, option, append([]*types.T{state}, n.args...))
	switch {
	case err != nil:
		return f, err
	case !f.ret.Is(state):
		return f, f.wrongResult("transition function", state)
	case f.fn.Strict && initial == nil && (len(n.args) == 0 || !sameForm(n.args[0], state)):
		return f, invalid("must not omit initial value when transition function is strict and transition type is not compatible with input type")
	}
	return f, nil
}

// final looks up a final function, and returns what it does.
func (n *newAggregate) final(ctx context.Context, prefix string, state *types.T) (ref catalog.AggregateFunction, ret *types.T, err error) {
	if n.opts[prefix+"finalfunc"] == nil {
		return ref, state, nil
	}
	args := []*types.T{state}
	extra := n.flag(prefix + "finalfunc_extra")
	if extra {
		args = append(args, n.args...)
	}
	f, err := n.function(ctx, prefix+"finalfunc", args)
	if err == nil && extra && f.fn.Strict {
		err = invalid("final function with extra arguments must not be declared STRICT")
	}
	return f.ref, f.ret, err
}

// finalOptions are the options of a final function.
func (n *newAggregate) finalOptions(prefix string) (extra bool, modify byte, err error) {
	modify = 'r'
	if o := n.opts[prefix+"finalfunc_modify"]; o != nil {
		switch strings.ToLower(o.Text()) {
		case "read_only":
		case "shareable":
			modify = 's'
		case "read_write":
			modify = 'w'
		default:
			err = pgerr.New(pgerr.SyntaxError, "parameter \"%s\" must be READ_ONLY, SHAREABLE, or READ_WRITE", o.Name)
		}
	}
	return n.flag(prefix + "finalfunc_extra"), modify, err
}

// movingFunctions looks up what the aggregate computes windows with.
func (n *newAggregate) movingFunctions(ctx context.Context) error {
	m := n.r.Aggregate.Moving
	if m == nil {
		return nil
	}
	f, err := n.transition(ctx, "msfunc", m.State, m.Initial)
	if err != nil {
		return err
	}
	back, err := n.function(ctx, "minvfunc", append([]*types.T{m.State}, n.args...))
	switch {
	case err != nil:
		return err
	case !back.ret.Is(m.State):
		return back.wrongResult("inverse transition function", m.State)
	case back.fn.Strict != f.fn.Strict:
		return invalid("strictness of aggregate's forward and inverse transition functions must match")
	}
	m.Transition, m.Inverse = f.ref, back.ref
	var ret *types.T
	if m.Final, ret, err = n.final(ctx, "m", m.State); err != nil {
		return err
	}
	if !ret.Is(n.r.Returns) {
		return invalid("moving-aggregate implementation returns type %s, but plain implementation returns type %s",
			types.FormatType(ret), types.FormatType(n.r.Returns))
	}
	m.FinalExtra, m.FinalModify, err = n.finalOptions("m")
	return err
}

// sortOperator looks up the operator by which the aggregate finds its result in an index.
func (n *newAggregate) sortOperator(ctx context.Context) error {
	o := n.opts["sortop"]
	if o == nil {
		return nil
	}
	if len(n.args) != 1 {
		return invalid("sort operator can only be specified for single-argument aggregates")
	}
	name := o.Text()
	if o.Operator != nil {
		name = o.Operator.Name
	}
	op, err := builtin.ResolveOperator(name, []*types.T{n.args[0], n.args[0]})
	if err != nil {
		return err
	}
	n.r.Aggregate.SortOperator = op.Oid
	return nil
}
