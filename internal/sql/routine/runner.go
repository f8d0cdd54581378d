package routine

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

const (
	// maxDepth bounds how deep calls nest: each takes some kilobytes of the goroutine's stack.
	maxDepth = 1000
	// maxBodies bounds the compiled bodies that a session keeps.
	maxBodies = 1000
)

// Runner runs the routines of a session.
type Runner struct {
	host  Host
	depth int
	top   *frame // of the innermost call that runs
	// programs counts those in PL/pgSQL that were compiled.
	programs int
	bodies   map[bodyKey]body
}

// Init makes r ready.
func (r *Runner) Init(h Host) { *r = Runner{host: h} }

// bodyKey is what a compiled body depends on.
type bodyKey struct {
	t     *catalog.Table // in its version
	types string         // oids of the arguments of a polymorphic function
	row   *types.T
	fires triggerKey // of a function of triggers
}

// body is a compiled body.
type body interface {
	// run executes the body of a call.
	run(f *frame) error
}

// frame is a call that runs.
type frame struct {
	r      *Runner
	t      *catalog.Table // nil for DO
	def    *catalog.Routine
	own    call.Context
	c      *call.Context // own
	ctx    context.Context
	params []types.Datum // of the statements of the body
	args   []*types.T    // of the inputs, without polymorphic ones
	out    result
	// fresh says that each statement sees what was written before it.
	fresh bool
	// fires is the trigger whose function this is, nil for other calls.
	fires *operator.Firing
	// event is that of the event trigger whose function this is, nil for other calls.
	event *call.DDLEvent
	// txn ends and begins transactions; nil where the body may not.
	txn Transactions
	// Of a body in PL/pgSQL: records are the types of the values of RECORDs, by their slots.
	records []*types.T
	ret     struct {
		d   types.Datum
		row types.Row // instead of d, of a function of triggers
		typ *types.T  // nil: nothing was returned
	}
	rowCount int64
	handled  []*pgerr.Error // the errors that handlers which run handle
	handling int            // blocks with handlers that are entered
	outer    *frame         // of the caller
	prog     *program       // nil for a body in SQL
	act      *activation    // of a body in PL/pgSQL
	running  *source        // the statement that runs, of a body in PL/pgSQL
	line     int            // of the statement that runs; in a body in SQL its number
	doing    string         // what it does, for the context of errors
}

// Transactions is what a procedure that CALL runs outside of a block may do. With chain, the next transaction has the
// properties of the one that ends.
type Transactions interface {
	Commit(chain bool) error
	Rollback(chain bool) error
}

// enter counts a call; leave ends it.
func (r *Runner) enter() error {
	if r.depth >= maxDepth {
		return pgerr.New(pgerr.StatementTooComplex, "stack depth limit exceeded").
			WithHint("Calls of functions nest no deeper than %d levels.", maxDepth)
	}
	r.depth++
	return nil
}

func (r *Runner) leave() { r.depth-- }

// CallRoutine implements call.Routines.
func (r *Runner) CallRoutine(c *call.Context, rc *call.RoutineCall, args []types.Datum) (types.Datum, error) {
	f, err := r.frameOf(c, rc, args)
	if err != nil {
		return types.Null, err
	}
	if err := r.execute(f, rc); err != nil {
		return types.Null, err
	}
	return f.out.value()
}

// CallRoutineRows implements call.Routines.
func (r *Runner) CallRoutineRows(c *call.Context, rc *call.RoutineCall, args []types.Datum) (call.RowIterator, error) {
	f, err := r.frameOf(c, rc, args)
	if err != nil {
		return nil, err
	}
	if err := r.execute(f, rc); err != nil {
		f.out.close()
		return nil, err
	}
	return f.out.iterator(), nil
}

// frameOf prepares a call.
func (r *Runner) frameOf(c *call.Context, rc *call.RoutineCall, args []types.Datum) (*frame, error) {
	t := rc.Fn.Routine.(*catalog.Table)
	f := &frame{r: r, t: t, def: t.Routine, fresh: t.Routine.Volatility == 'v'}
	f.within(c)
	in := t.Routine.Inputs()
	f.params = make([]types.Datum, len(in))
	f.args = make([]*types.T, len(in))
	for i := range in {
		f.args[i] = in[i].Type
		if i < len(rc.Types) && f.args[i].Family == types.AnyFamily {
			f.args[i] = rc.Types[i].WithTypmod(-1)
		}
		if rc.Fn.Variadic && i == len(in)-1 {
			f.variadic(rc, i, args)
			continue
		}
		if i < len(args) {
			f.params[i] = args[i]
		}
	}
	for i, a := range f.args {
		if domain := domainOf(a); domain != nil && c.Format != nil && c.Format.CheckDomain != nil {
			if err := c.Format.CheckDomain(domain, f.params[i]); err != nil {
				return nil, err
			}
		}
	}
	f.out.init(f, rc)
	return f, nil
}

// within gives the call a context of functions of its own: what the calling one has reserved stays its.
func (f *frame) within(c *call.Context) {
	c.Random() // which the calls share
	f.own = *c
	f.own.Own()
	f.own.Transitions = nil
	f.c, f.ctx = &f.own, f.own.Ctx
	if f.ctx == nil {
		f.ctx = context.Background()
	}
}

// variadic makes an array of the last arguments.
func (f *frame) variadic(rc *call.RoutineCall, i int, args []types.Datum) {
	if f.args[i].Family == types.AnyFamily || f.args[i].Elem == nil {
		elem := rc.Fn.Args[i]
		if i < len(rc.Types) {
			elem = rc.Types[i]
		}
		if a, ok := types.ArrayOf(elem.WithTypmod(-1)); ok {
			f.args[i] = a
		}
	}
	f.params[i] = types.NewArray(args[min(i, len(args)):])
}

// execute runs the body of a call.
func (r *Runner) execute(f *frame, rc *call.RoutineCall) error {
	if err := r.enter(); err != nil {
		return err
	}
	defer r.leave()
	defer f.c.EndStatement()
	return r.runBody(f, rc)
}

// runBody runs the body of a call under the settings of the routine.
func (r *Runner) runBody(f *frame, rc *call.RoutineCall) error {
	run := func() error {
		b, err := r.body(f, rc)
		if err != nil {
			return err
		}
		return r.within(f, b)
	}
	if len(f.def.Settings) > 0 {
		body := run
		f.txn = nil // which would end the settings
		run = func() error { return r.host.WithSettings(f.ctx, f.def.Settings, body) }
	}
	if f.def.Definer {
		f.txn = nil // who follows has other privileges
		return r.host.AsOwner(f.t, run)
	}
	return run()
}

// within runs a body as that of the innermost call.
func (r *Runner) within(f *frame, b body) error {
	f.outer, r.top = r.top, f
	defer func() { r.top = f.outer }()
	return b.run(f)
}

// body returns the compiled body of a routine.
func (r *Runner) body(f *frame, rc *call.RoutineCall) (body, error) {
	k := bodyKey{t: f.t}
	if rc != nil {
		k.row = rc.Row
	}
	if f.fires != nil {
		k.fires = triggerKeyOf(f.fires)
	}
	if polymorphic(f.def) {
		for _, t := range f.args {
			k.types += strconv.FormatUint(uint64(t.Oid), 10) + ","
		}
	}
	if b := r.bodies[k]; b != nil {
		return b, nil
	}
	b, err := compile(f)
	if err != nil {
		return nil, err
	}
	if r.bodies == nil || len(r.bodies) >= maxBodies {
		r.bodies = map[bodyKey]body{}
	}
	r.bodies[k] = b
	return b, nil
}

func polymorphic(def *catalog.Routine) bool {
	for i := range def.Params {
		if def.Params[i].Type.Family == types.AnyFamily {
			return true
		}
	}
	return false
}

// compile compiles the body of a call.
func compile(f *frame) (body, error) {
	if f.def.Language == catalog.LanguageSQL {
		return compileSQL(f)
	}
	return compilePL(f)
}

// withContext adds where an error happened, unless it is a conflict that has the statement run again, or the statement
// was cancelled by other means than an error.
func (r *Runner) withContext(ctx context.Context, err error, format string, args ...any) error {
	if err == nil || kv.IsRetryable(err) {
		return err
	}
	err = r.host.Translate(ctx, err)
	var e *pgerr.Error
	if !errors.As(err, &e) {
		return err
	}
	c := *e
	c.Position = 0 // it would point into the statement of the client
	if c.Context != "" {
		c.Context += "\n"
	}
	c.Context += fmt.Sprintf(format, args...)
	return &c
}

// Call runs a procedure and returns the row of its outputs, nil if it has none.
func (r *Runner) Call(c *call.Context, fn *call.Overload, args []types.Datum, txn Transactions) ([]types.Datum, error) {
	t := fn.Routine.(*catalog.Table)
	rc := &call.RoutineCall{Fn: fn}
	in := make([]types.Datum, 0, len(args))
	for i := range t.Routine.Params {
		if t.Routine.Params[i].Input() {
			in = append(in, args[i])
		}
	}
	f, err := r.frameOf(c, rc, in)
	if err != nil {
		return nil, err
	}
	f.txn, f.fresh = txn, true
	if err := r.execute(f, rc); err != nil {
		return nil, err
	}
	if f.out.whole == nil {
		return nil, nil
	}
	if f.out.d.IsNull() {
		return make([]types.Datum, len(f.out.cols)), nil
	}
	var row []types.Datum
	for _, v := range types.RecordFields(f.out.whole, f.out.d, c.Format) {
		row = append(row, v.Datum)
	}
	return row, nil
}

// Check finds errors in the body of a routine that is being made.
func (r *Runner) Check(ctx context.Context, t *catalog.Table) error {
	if t.Routine.Language == catalog.LanguageSQL {
		return r.CheckSQL(ctx, t)
	}
	return r.checkPL(ctx, t)
}

// inlineBlock is what errors call a DO block.
const inlineBlock = "inline_code_block"

// Do runs an anonymous block in PL/pgSQL.
func (r *Runner) Do(c *call.Context, code string, txn Transactions) error {
	if err := r.enter(); err != nil {
		return err
	}
	defer r.leave()
	f := &frame{r: r, def: &catalog.Routine{Returns: types.Void, Volatility: 'v', Language: catalog.LanguagePLpgSQL}, fresh: true, txn: txn}
	f.within(c)
	defer f.c.EndStatement()
	f.out.init(f, nil)
	p, err := r.newProgram(inlineBlock, inlineBlock, f.def, code)
	if err != nil {
		return err
	}
	p.top = &blockNames{names: map[string]*variable{}}
	p.found = &variable{name: "found", typ: types.Bool}
	p.declare(p.top, p.found)
	if err := p.compile(f.ctx); err != nil {
		return err
	}
	return r.within(f, p)
}
