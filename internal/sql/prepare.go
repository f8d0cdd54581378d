package sql

import (
	"context"
	"encoding/binary"
	"time"

	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/exec"
	"github.com/lichendb/lichen/internal/sql/optimizer"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Prepared is a prepared statement of a session. Its plan is renewed when the
// catalog changes.
type Prepared struct {
	Name string
	Text string
	// Front is free for the front that serves the session.
	Front any

	stmt          parser.Statement // AST is nil for an empty statement
	params        []*types.T       // as declared by the client; nil entries are inferred
	key           planKey
	plan          *cachedPlan
	parameterized bool // literals have become parameters
	// noParams refuses parameters beyond params: the statement came without a client that
	// supplies them.
	noParams bool
	// rowKeys asks for the keys of the rows too: see planner.Env.RowKeys.
	rowKeys bool
	types   []*types.T // resolved parameter types; fixed at Prepare
	domains []domainParam
	cols    []plan.Column

	made time.Time // of a named one
	// held are the bytes accounted for a named one, planHeld those for its plan.
	held, planHeld int64
	fromSQL        bool // by PREPARE
	// reread says that stmt can be parsed again from Text, thin that its tree was dropped.
	reread, thin bool
}

// ParamTypes returns the types of $1, $2, ...
func (p *Prepared) ParamTypes() []*types.T { return p.types }

// Columns describe the rows the statement returns; nil if it returns none.
func (p *Prepared) Columns() []plan.Column { return p.cols }

// Prepare parses and plans a statement under a name, "" being the unnamed one,
// which is replaced. A zero oid in paramTypes means that the type is inferred. n gets the
// warnings of the parser.
func (s *Session) Prepare(ctx context.Context, name, text string, paramTypes []uint32, n Noticer) (*Prepared, error) {
	if name != "" && s.statements[name] != nil {
		return nil, pgerr.New(pgerr.DuplicatePreparedStatement, "prepared statement %q already exists", name)
	}
	if len(s.statements) >= maxStatements {
		return nil, pgerr.New(pgerr.ConfigurationLimitExceeded, "too many prepared statements (limit %d)", maxStatements)
	}
	stmts, warnings, err := s.parse(text)
	warn(n, warnings)
	if err != nil {
		return nil, err
	}
	if len(stmts) > 1 {
		return nil, pgerr.New(pgerr.SyntaxError, "cannot insert multiple commands into a prepared statement")
	}
	p := &Prepared{Name: name, Text: text, reread: len(stmts) == 1}
	if len(stmts) == 1 {
		if p.stmt, err = rewriteShow(stmts[0]); err != nil {
			return nil, err
		}
	}
	if p.params, err = s.declaredTypes(paramTypes); err != nil {
		return nil, err
	}
	if err := s.prepare(ctx, p); err != nil {
		return nil, err
	}
	return p, s.keep(p)
}

// keep makes p the statement of its name.
func (s *Session) keep(p *Prepared) error {
	if p.Name == "" {
		s.unnamed = p
		return nil
	}
	p.made = time.Now()
	kept, err := s.holdStatement(p)
	if err == nil {
		s.statements[p.Name] = kept
	}
	return err
}

func (s *Session) declaredTypes(oids []uint32) ([]*types.T, error) {
	out := make([]*types.T, len(oids))
	for i, oid := range oids {
		if oid == 0 || oid == types.Unknown.Oid {
			continue
		}
		t, ok := s.cats.TypeByOid(oid)
		if !ok {
			return nil, pgerr.New(pgerr.UndefinedObject, "type with OID %d does not exist", oid)
		}
		out[i] = t
	}
	return out, nil
}

// prepare plans p, in the open transaction or one of its own.
func (s *Session) prepare(ctx context.Context, p *Prepared) error {
	if p.stmt.AST == nil {
		return nil
	}
	if s.txn.Failed() && !endsBlock(p.stmt.AST) {
		return errFailedBlock()
	}
	if endsBlock(p.stmt.AST) {
		return nil
	}
	c, err := s.planApart(p)
	if err != nil {
		return err
	}
	p.plan, p.types, p.cols = c, c.prep.ParamTypes, s.resultColumns(c.prep)
	if len(p.types) > 0 {
		p.params = p.types // later plans keep the types the client was told of
	}
	return nil
}

// planApart plans p outside its execution.
func (s *Session) planApart(p *Prepared) (*cachedPlan, error) {
	ctx := s.begin(p.Text)
	defer s.end()
	s.txn.Ensure()
	c, err := s.planFor(ctx, p, nil)
	if err != nil {
		err = s.translate(ctx, err)
		s.txn.Fail(ctx)
	}
	return c, err
}

// Revalidate reports why p can't be executed as its client knows it, if the catalog has
// changed since it was planned: 0A000 if its rows have.
func (s *Session) Revalidate(p *Prepared) error {
	if p.plan == nil || p.plan.generation.Load() == s.coll.Generation() {
		return nil
	}
	if p.cols == nil || s.txn.Failed() || s.coll.Modified() {
		return nil // the execution will tell
	}
	c, err := s.planApart(p)
	if err == nil {
		s.keepPlan(p, c)
	}
	return err
}

// planFor returns a valid plan for p, by params if these, the parameters of an execution,
// are known.
//
// A plan that they may decide is compared with one for them alone by the first execution,
// the second, the fourth, the eighth and so on. If these two differ once, each execution
// gets its own from then on: with skewed values any other would depend on who came first.
func (s *Session) planFor(ctx context.Context, p *Prepared, params []types.Datum) (*cachedPlan, error) {
	c, err := s.keptPlan(ctx, p, params)
	if err != nil || !c.prep.Weighed || len(params) == 0 {
		return c, err
	}
	if n := c.uses.Add(1); n&(n-1) != 0 && !c.varies.Load() {
		return c, nil
	}
	own, err := s.planOnce(ctx, p, params)
	if err != nil {
		return nil, err
	}
	if !c.varies.Load() && plan.SameShape(c.prep.Root, own.Root) {
		return c, nil
	}
	c.varies.Store(true)
	return &cachedPlan{key: c.key, prep: own, stats: c.stats, once: true}, nil
}

// keptPlan returns a valid plan for p: its own, a cached one or a new one. If params, the
// parameters of an execution, are known for the first time, and matter for the choice of
// the plan, it is made anew by them; one that depends on them is made for each execution.
func (s *Session) keptPlan(ctx context.Context, p *Prepared, params []types.Datum) (*cachedPlan, error) {
	s.coll.BeginStatement()
	if plant.On(plant.StalePlan) && p.plan != nil {
		return p.plan, nil
	}
	gen := s.coll.Generation()
	stats := s.statsEpoch()
	guessed := func(c *cachedPlan) bool { return len(params) > 0 && (c.prep.Guessed || c.prep.ByValues) }
	if p.plan != nil && !guessed(p.plan) && p.plan.generation.Load() == gen && p.plan.stats == stats && !s.ownCatalog() && s.sameKey(p) {
		return p.plan, s.coll.PinAll(ctx, p.plan.prep.Deps)
	}
	p.key = s.planKey(p)
	shared := !s.ownCatalog()
	if shared {
		if c := s.srv.plans.get(p.key); c != nil && c.stats == stats && !guessed(c) &&
			(c.generation.Load() == gen || s.coll.Valid(ctx, c.prep.Deps)) {
			c.generation.Store(gen)
			if err := s.sameResult(p, c.prep); err != nil {
				return nil, err
			}
			return c, s.coll.PinAll(ctx, c.prep.Deps)
		}
	}
	prep, err := s.makePlan(ctx, p, params)
	if err != nil {
		return nil, err
	}
	c := &cachedPlan{key: p.key, prep: prep, stats: stats, size: planSize(prep.Root)}
	if shared {
		c.generation.Store(gen)
	}
	if shared && !prep.Uncacheable && cacheable(prep) {
		s.srv.plans.put(c)
	}
	return c, s.sameResult(p, prep)
}

// sameResult refuses another plan of p whose rows are not those that its client was told of.
func (s *Session) sameResult(p *Prepared, prep *plan.Prepared) error {
	if p.cols == nil || sameColumns(s.resultColumns(prep), p.cols) {
		return nil
	}
	return errResultChanged()
}

func errResultChanged() error {
	e := pgerr.New(pgerr.FeatureNotSupported, "cached plan must not change result type")
	e.Routine = "RevalidateCachedQuery" // pgjdbc prepares again when it sees this
	return e
}

func sameColumn(a, b plan.Column) bool {
	return a.Type.Oid == b.Type.Oid && a.Type.Typmod == b.Type.Typmod && a.Name == b.Name
}

// ownCatalog reports whether the transaction sees another catalog than others, or other
// statistics.
func (s *Session) ownCatalog() bool { return s.coll.Modified() || s.contents.analysed != nil }

// cacheable reports whether a plan is worth keeping: statements that the session
// executes from their syntax have none.
func cacheable(p *plan.Prepared) bool {
	switch p.Root.(type) {
	case *plan.DDL, *plan.Utility, *plan.Copy, *plan.Explain:
		return false
	}
	return true
}

// makePlan makes a plan for any parameters, with costs estimated by params if they are known.
func (s *Session) makePlan(ctx context.Context, p *Prepared, params []types.Datum) (*plan.Prepared, error) {
	return s.newPlan(ctx, p, params, false)
}

// planOnce makes a plan for params only.
func (s *Session) planOnce(ctx context.Context, p *Prepared, params []types.Datum) (*plan.Prepared, error) {
	return s.newPlan(ctx, p, params, true)
}

func (s *Session) newPlan(ctx context.Context, p *Prepared, params []types.Datum, fixed bool) (*plan.Prepared, error) {
	prep, err := planner.Plan(ctx, p.stmt.AST, &planner.Env{
		Catalog: s.coll, ParamTypes: p.params, Format: &s.vals.Format, DefaultIntSize: s.vals.Fast.DefaultIntSize,
		Source: statementSource, RowKeys: p.rowKeys, FixedParams: p.noParams, Values: params, Replica: s.vals.Fast.Replica,
	})
	if err != nil {
		return nil, err
	}
	if p.parameterized && (prep.ByValues || readsPartly(prep.Root) || castsConstants(prep.Root)) {
		return nil, errNotParameterized
	}
	if err := optimizer.Optimize(prep, s.optimization(ctx, params, fixed)); err != nil {
		return nil, err
	}
	return prep, nil
}

func (s *Session) optimization(ctx context.Context, params []types.Datum, fixed bool) *optimizer.Options {
	o := &optimizer.Options{Stats: planStats{s}, Params: params, Fixed: fixed, Context: s.builtinContext(ctx).Apart(), Check: ctx.Err, Constant: exec.Constant}
	if off := s.vals.Fast.RulesOff; len(off) > 0 {
		o.Disabled = map[string]bool{}
		for _, rule := range off {
			o.Disabled[rule] = true
		}
	}
	return o
}

func (s *Session) planKey(p *Prepared) planKey {
	var oids []byte
	for _, t := range p.params {
		oid := uint32(0)
		if t != nil {
			oid = t.Oid
		}
		oids = binary.BigEndian.AppendUint32(oids, oid)
	}
	return planKey{
		text: p.stmt.SQL, params: string(oids), database: uint64(s.db.ID), user: s.user,
		searchPath: s.pathKey(), settings: s.planSettings(), escapes: p.stmt.Escapes,
	}
}

// pathKey is what names are looked up by: search_path, and the schema of temporary
// relations before it.
func (s *Session) pathKey() string {
	path := s.setting("search_path")
	if temp := s.coll.TempSchemaName(); temp != "" {
		path += "\x00" + temp
	}
	return path
}

// planSettings are the settings that literals are read and plans are made under.
func (s *Session) planSettings() string {
	f := &s.vals.Format
	if f.TimeZone == nil && f.DateStyle == (types.DateStyle{}) && f.IntervalStyle == 0 && s.vals.Fast.DefaultIntSize == 4 && len(s.vals.Fast.RulesOff) == 0 && !s.vals.Fast.Replica {
		return ""
	}
	return s.setting("TimeZone") + "\x00" + s.setting("DateStyle") + "\x00" + s.setting("IntervalStyle") +
		"\x00" + s.setting("default_int_size") + "\x00" + s.setting("optimizer_rules_off") + "\x00" + s.setting("session_replication_role")
}

func (s *Session) sameKey(p *Prepared) bool {
	return p.key.searchPath == s.pathKey() && p.key.settings == s.planSettings()
}

func (s *Session) setting(name string) string {
	v, _ := s.vals.Get(name)
	return v
}

// Statement returns a prepared statement.
func (s *Session) Statement(name string) (*Prepared, error) {
	p := s.unnamed
	if name != "" {
		p = s.statements[name]
	}
	if p == nil {
		if name == "" {
			return nil, pgerr.New(pgerr.InvalidSQLStatementName, "unnamed prepared statement does not exist")
		}
		return nil, pgerr.New(pgerr.InvalidSQLStatementName, "prepared statement %q does not exist", name)
	}
	return s.whole(p)
}

// StatementBytes is Statement for a name that is not a string yet.
func (s *Session) StatementBytes(name []byte) (*Prepared, error) {
	if p := s.statements[string(name)]; p != nil && !p.thin {
		return p, nil
	}
	return s.Statement(string(name))
}

// CloseStatement forgets a prepared statement; an absent one is no error.
func (s *Session) CloseStatement(name string) {
	if name == "" {
		s.unnamed = nil
		return
	}
	if p := s.statements[name]; p != nil {
		s.forgetStatement(p)
	}
}

func endsBlock(stmt ast.Statement) bool {
	switch stmt.(type) {
	case *ast.Commit, *ast.Rollback, *ast.RollbackTo:
		return true
	}
	return false
}

func errFailedBlock() error {
	return pgerr.New(pgerr.InFailedSQLTransaction,
		"current transaction is aborted, commands ignored until end of transaction block")
}
