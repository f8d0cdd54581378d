package prepared

import (
	"context"
	"encoding/binary"
	"slices"

	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/sql/access"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/exec"
	"github.com/lichendb/lichen/internal/sql/optimizer"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/privilege"
	"github.com/lichendb/lichen/internal/sql/settings"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Session is what a Planner asks of the session whose statements it plans.
type Session interface {
	// Stats returns the statistics of a table as the transaction knows them.
	optimizer.StatsSource
	// StatsEpoch changes when plans made before may be bad ones.
	StatsEpoch() uint64
	// OwnStats reports whether the transaction has statistics that others have not.
	OwnStats() bool
	// Functions returns what functions see of the session in a statement that begins now.
	Functions(context.Context) *call.Context
	// Distribution says which parts of plans run where their rows are.
	Distribution() optimizer.Distribution
	// User returns the role that statements run as.
	User() privilege.Role
	// Columns returns the columns of the rows that a statement sends.
	Columns(*plan.Prepared) []plan.Column
}

// Source returns the query or the columns of a statement in FROM.
type Source func(ast.Statement) (*ast.Select, []plan.Column, error)

// Planner plans the statements of a session.
type Planner struct {
	cache    *Cache
	session  Session
	source   Source
	coll     *catalog.Collection
	vals     *settings.Values
	database uint64
}

// Init makes l ready.
func (l *Planner) Init(cache *Cache, s Session, source Source, coll *catalog.Collection, vals *settings.Values) {
	*l = Planner{cache: cache, session: s, source: source, coll: coll, vals: vals}
}

// SetDatabase says in which database names are looked up.
func (l *Planner) SetDatabase(id catalog.ID) { l.database = uint64(id) }

// Env is what an expression is planned with.
func (l *Planner) Env(params []*types.T) *planner.Env {
	return &planner.Env{
		Catalog: l.coll, ParamTypes: params, Format: &l.vals.Format, DefaultIntSize: l.vals.Fast.DefaultIntSize, Source: l.source,
		NoRowSecurity: l.vals.Fast.NoRowSecurity,
	}
}

// Changed reports whether the catalog has changed since p was planned, as far as the transaction
// sees what others see.
func (l *Planner) Changed(p *Statement) bool {
	return p.plan != nil && p.plan.generation.Load() != l.coll.Generation() && p.cols != nil && !l.coll.Modified()
}

// ErrNotParameterized says that the plan of a statement depends on its literals.
var ErrNotParameterized = pgerr.New(pgerr.FeatureNotSupported, "the statement cannot be run by its fingerprint")

// For returns a valid plan for p, by params if these, the parameters of an execution,
// are known.
//
// A plan that they may decide is compared with one for them alone by the first execution,
// the second, the fourth, the eighth and so on. If these two differ once, each execution
// gets its own from then on: with skewed values any other would depend on who came first.
func (l *Planner) For(ctx context.Context, p *Statement, params []types.Datum) (*Plan, error) {
	c, err := l.kept(ctx, p, params)
	if err != nil || !c.Prep.Weighed || len(params) == 0 {
		return c, err
	}
	if n := c.uses.Add(1); n&(n-1) != 0 && !c.varies.Load() {
		return c, nil
	}
	own, err := l.newPlan(ctx, p, params, true)
	if err != nil {
		return nil, err
	}
	if !c.varies.Load() && plan.SameShape(c.Prep.Root, own.Root) {
		return c, nil
	}
	c.varies.Store(true)
	return &Plan{key: c.key, Prep: own, stats: c.stats, Once: true}, nil
}

// kept returns a valid plan for p: its own, a cached one or a new one. If params, the
// parameters of an execution, are known for the first time, and matter for the choice of
// the plan, it is made anew by them; one that depends on them is made for each execution.
func (l *Planner) kept(ctx context.Context, p *Statement, params []types.Datum) (*Plan, error) {
	l.coll.BeginStatement()
	if plant.On(plant.StalePlan) && p.plan != nil {
		return p.plan, nil
	}
	gen := l.coll.Generation()
	stats := l.session.StatsEpoch()
	guessed := func(c *Plan) bool { return len(params) > 0 && (c.Prep.Guessed || c.Prep.ByValues) }
	if p.plan != nil && !guessed(p.plan) && p.plan.generation.Load() == gen && p.plan.stats == stats && !l.ownCatalog() && l.sameKey(p) {
		return p.plan, l.coll.PinAll(ctx, p.plan.Prep.Deps)
	}
	p.key = l.keyOf(p)
	shared := !l.ownCatalog() && !p.Apart
	if shared {
		if c := l.cache.get(p.key); c != nil && c.stats == stats && !guessed(c) &&
			(c.generation.Load() == gen || c.access == l.coll.AccessGeneration() && l.coll.Valid(ctx, c.Prep.Deps)) {
			c.generation.Store(gen)
			if err := l.sameResult(p, c.Prep); err != nil {
				return nil, err
			}
			return c, l.coll.PinAll(ctx, c.Prep.Deps)
		}
	}
	epoch := l.coll.AccessGeneration()
	prep, err := l.newPlan(ctx, p, params, false)
	if err != nil {
		return nil, err
	}
	c := &Plan{key: p.key, Prep: prep, stats: stats, access: epoch, size: planSize(prep.Root)}
	if !l.ownCatalog() {
		c.generation.Store(gen)
	}
	if shared && !prep.Uncacheable && cacheable(prep) {
		l.cache.put(c)
	}
	return c, l.sameResult(p, prep)
}

// sameResult refuses another plan of p whose rows differ from those described to its client.
func (l *Planner) sameResult(p *Statement, prep *plan.Prepared) error {
	if p.cols == nil || SameColumns(l.session.Columns(prep), p.cols) {
		return nil
	}
	return ErrResultChanged()
}

// ErrResultChanged says that a statement no longer returns the rows described to its client.
func ErrResultChanged() error {
	e := pgerr.New(pgerr.FeatureNotSupported, "cached plan must not change result type")
	e.Routine = "RevalidateCachedQuery" // pgjdbc prepares again when it sees this
	return e
}

// SameColumns reports whether rows of some columns are those described to a client.
func SameColumns(a, b []plan.Column) bool { return slices.EqualFunc(a, b, sameColumn) }

func sameColumn(a, b plan.Column) bool {
	return a.Type.Oid == b.Type.Oid && a.Type.Typmod == b.Type.Typmod && a.Name == b.Name
}

// ownCatalog reports whether the transaction sees another catalog than others, or other
// statistics.
func (l *Planner) ownCatalog() bool { return l.coll.Modified() || l.session.OwnStats() }

// cacheable reports whether a plan is worth keeping: statements that the session
// executes from their syntax have none.
func cacheable(p *plan.Prepared) bool {
	switch p.Root.(type) {
	case *plan.DDL, *plan.Utility, *plan.Copy, *plan.Explain:
		return false
	}
	return true
}

// New makes a plan of p that nothing keeps, with costs estimated by params, if they are known.
func (l *Planner) New(ctx context.Context, p *Statement, params []types.Datum) (*plan.Prepared, error) {
	return l.newPlan(ctx, p, params, false)
}

// Analyze resolves the names and types of p, which nobody is about to run: the user need not have the privileges for that.
func (l *Planner) Analyze(ctx context.Context, p *Statement) (*plan.Prepared, error) {
	return l.analyze(ctx, p, nil)
}

func (l *Planner) analyze(ctx context.Context, p *Statement, params []types.Datum) (*plan.Prepared, error) {
	return planner.Plan(ctx, p.Stmt.AST, &planner.Env{
		Catalog: l.coll, ParamTypes: p.Declared, Format: &l.vals.Format, DefaultIntSize: l.vals.Fast.DefaultIntSize,
		Source: l.source, RowKeys: p.RowKeys, FixedParams: p.NoParams, Variables: p.Variables, Values: params, Replica: l.vals.Fast.Replica, NoRowSecurity: l.vals.Fast.NoRowSecurity,
	})
}

// newPlan makes a plan with costs estimated by params, if they are known: for any parameters, or
// for these only.
func (l *Planner) newPlan(ctx context.Context, p *Statement, params []types.Datum, fixed bool) (*plan.Prepared, error) {
	prep, err := l.analyze(ctx, p, params)
	if err != nil {
		return nil, err
	}
	if !prep.Stored {
		if err := access.Check(l.coll, prep.Uses); err != nil {
			return nil, err
		}
	}
	if p.Parameterized && (prep.ByValues || readsPartly(prep.Root) || castsConstants(prep.Root)) {
		return nil, ErrNotParameterized
	}
	if err := optimizer.Optimize(prep, l.Optimization(ctx, params, fixed)); err != nil {
		return nil, err
	}
	return prep, nil
}

// vectorization has what the values of the setting vectorize say.
var vectorization = map[string]optimizer.Vectorization{
	"auto": optimizer.VectorizeByCost, "on": optimizer.VectorizeAlways, "off": optimizer.VectorizeNever,
}

// Optimization returns how the optimizer improves a plan: with costs estimated by params, if they
// are known, and only for these if fixed.
func (l *Planner) Optimization(ctx context.Context, params []types.Datum, fixed bool) *optimizer.Options {
	o := &optimizer.Options{Stats: l.session, Params: params, Fixed: fixed, Context: l.session.Functions(ctx).Apart(), Check: ctx.Err, Constant: exec.Constant}
	o.Vectorize, o.Distribute = vectorization[l.vals.Fast.Vectorize], l.session.Distribution()
	off := l.vals.Fast.RulesOff
	if l.vals.Fast.ParallelWorkers == 0 {
		off = append(slices.Clip(off), optimizer.RuleParallel)
	}
	if len(off) > 0 {
		o.Disabled = map[string]bool{}
		for _, rule := range off {
			o.Disabled[rule] = true
		}
	}
	return o
}

func (l *Planner) keyOf(p *Statement) key {
	var oids []byte
	for _, t := range p.Declared {
		oid := uint32(0)
		if t != nil {
			oid = t.Oid
		}
		oids = binary.BigEndian.AppendUint32(oids, oid)
	}
	return key{
		text: p.Stmt.SQL, params: string(oids), database: l.database, user: l.session.User(),
		searchPath: l.pathKey(), settings: l.settingsKey(), escapes: p.Stmt.Escapes,
	}
}

// pathKey is what names are looked up by: search_path, and the schema of temporary
// relations before it.
func (l *Planner) pathKey() string {
	path := l.setting("search_path")
	if temp := l.coll.TempSchemaName(); temp != "" {
		path += "\x00" + temp
	}
	return path
}

// settingsKey are the settings that literals are read and plans are made under.
func (l *Planner) settingsKey() string {
	f := &l.vals.Format
	plain := f.TimeZone == nil && f.DateStyle == (types.DateStyle{}) && f.IntervalStyle == 0 && f.ExtraFloatDigits == 1 && f.ByteaOutput == types.ByteaHex
	if plain && l.vals.Fast.DefaultIntSize == 4 && len(l.vals.Fast.RulesOff) == 0 && l.vals.Fast.Vectorize == "auto" && l.vals.Fast.Distribute == "auto" && l.vals.Fast.ParallelWorkers > 0 && !l.vals.Fast.Replica && !l.vals.Fast.NoRowSecurity {
		return ""
	}
	return l.setting("TimeZone") + "\x00" + l.setting("DateStyle") + "\x00" + l.setting("IntervalStyle") +
		"\x00" + l.setting("extra_float_digits") + "\x00" + l.setting("bytea_output") +
		"\x00" + l.setting("default_int_size") + "\x00" + l.setting("optimizer_rules_off") + "\x00" + l.setting("vectorize") + "\x00" + l.setting("distsql") +
		"\x00" + l.setting("max_parallel_workers_per_gather") + "\x00" + l.setting("session_replication_role") + "\x00" + l.setting("row_security")
}

func (l *Planner) sameKey(p *Statement) bool {
	return p.key.user == l.session.User() && p.key.searchPath == l.pathKey() && p.key.settings == l.settingsKey()
}

func (l *Planner) setting(name string) string {
	v, _ := l.vals.Get(name)
	return v
}

// readsPartly reports whether a plan reads a table that has partial indexes: which of
// them serve depends on the constants of the conditions.
func readsPartly(root plan.Node) bool {
	found := false
	plan.Walk(root, func(n plan.Node) bool {
		if s, ok := n.(*plan.Scan); ok && len(s.Predicates) > 0 {
			found = true
		}
		return !found
	})
	return found
}

// castsConstants reports whether an UPDATE converts a parameter to a type that not every integer
// fits: a constant that does not fails the statement even if it changes no row.
func castsConstants(root plan.Node) bool {
	if _, ok := root.(*plan.Update); !ok {
		return false
	}
	found := false
	plan.Walk(root, func(n plan.Node) bool {
		plan.VisitExprs(n, func(e *plan.Expr) {
			plan.WalkExpr(*e, func(x plan.Expr) bool {
				if c, ok := x.(*plan.Cast); ok {
					_, param := c.Arg.(*plan.Param)
					found = found || param && !fitsIntegers(c.T)
				}
				return !found
			})
		})
		return !found
	})
	return found
}

// fitsIntegers reports whether t has all integers that parameters of a fingerprint may be.
func fitsIntegers(t *types.T) bool {
	switch t.Family {
	case types.FloatFamily, types.DecimalFamily, types.StringFamily:
		return t.Typmod < 0
	}
	return t.Oid == types.Int8.Oid
}
