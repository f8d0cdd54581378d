package routine

import (
	"context"
	"errors"

	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plpgsql"
	"github.com/lichendb/lichen/internal/sql/types"
)

// stepCost is how many steps of work a statement counts as, between two looks at the context.
const stepCost = 64

// signal says how control goes on behind a statement.
type signal struct {
	kind  signalKind
	label string
}

type signalKind uint8

const (
	goOn signalKind = iota
	exits
	continues
	returns
)

// run implements body.
func (p *program) run(f *frame) error {
	f.open(p)
	defer p.release(f.act)
	sig, err := p.block(f, p.tree.Body)
	if err == nil && sig.kind != returns {
		err = p.end(f)
	}
	if err == nil {
		err = p.result(f)
	}
	if err != nil {
		return f.located(err)
	}
	return nil
}

// open makes room for the variables.
func (f *frame) open(p *program) {
	f.act = p.activate()
	copy(f.act.params, f.params)
	f.params, f.records = f.act.params, f.act.records
	f.act.state.Bind(f.ctx, f.c, f.params, nil)
	for i, t := range f.args {
		if i < len(p.slots) && p.slots[i].typ == nil {
			f.records[i] = t
		}
	}
	f.params[p.found.slot] = types.False
	f.prog = p
	if f.fires != nil {
		p.openTrigger(f)
	}
	if f.event != nil {
		p.openEvent(f)
	}
}

// raisedAgain is an error that a handler has raised as it was: it tells where it came up first.
type raisedAgain struct {
	frame *frame
	err   *pgerr.Error
}

// Error implements error.
func (r *raisedAgain) Error() string { return r.err.Error() }

// Unwrap returns the error.
func (r *raisedAgain) Unwrap() error { return r.err }

// located adds the line at which an error happened.
func (f *frame) located(err error) error {
	var again *raisedAgain
	if errors.As(err, &again) && again.frame == f {
		return again.err
	}
	return f.r.withContext(f.ctx, err, "%s", f.where())
}

// end is what happens at the end of a body that returned nothing.
func (p *program) end(f *frame) error {
	void := p.def.Returns.Oid == types.Void.Oid || p.event != nil
	if void || p.def.Set || p.def.Procedure || len(p.outputs) > 0 {
		return nil
	}
	f.line, f.doing = 0, ""
	if p.trigger != nil {
		return pgerr.New(noReturn, "control reached end of trigger procedure without RETURN")
	}
	return pgerr.New(noReturn, "control reached end of function without RETURN")
}

// result makes what the function returns of its outputs, or of what RETURN has given.
func (p *program) result(f *frame) error {
	f.line, f.doing = 0, "while casting return value to function's return type"
	switch {
	case f.fires != nil:
		return f.triggerResult()
	case p.def.Set:
		return nil
	case p.def.Returns.Oid == types.Void.Oid || p.event != nil:
		f.out.d = types.VoidDatum
		return nil
	case len(p.outputs) > 0:
		vals, ts := p.outputValues(f)
		return f.out.only(vals, ts)
	case f.ret.typ == nil:
		return nil
	case f.out.whole != nil && f.ret.d.IsNull():
		if f.out.set {
			return f.out.add(make([]types.Datum, len(f.out.cols)), f.out.cols)
		}
		f.out.d = types.Null
		return nil
	}
	if err := f.out.sameStructure(f.ret.typ, f.ret.d); err != nil {
		return err
	}
	return f.out.only([]types.Datum{f.ret.d}, []*types.T{f.ret.typ})
}

func (p *program) outputValues(f *frame) ([]types.Datum, []*types.T) {
	vals, ts := make([]types.Datum, len(p.outputs)), make([]*types.T, len(p.outputs))
	for i, v := range p.outputs {
		vals[i], ts[i] = f.value(v), p.typeIn(f, v)
	}
	return vals, ts
}

// typeIn is the type of a variable in a frame.
func (p *program) typeIn(f *frame, v *variable) *types.T {
	if v.typ != nil {
		return valueType(v.typ)
	}
	if t := f.records[v.slot]; t != nil {
		return t
	}
	return types.Record
}

// block runs a block, whose errors its handlers handle.
func (p *program) block(f *frame, b *plpgsql.Block) (signal, error) {
	if err := p.declarations(f, b); err != nil {
		return signal{}, err
	}
	if b.Handlers == nil {
		sig, err := p.stmts(f, b.Body)
		return blockSignal(b, sig), err
	}
	f.line, f.doing = b.At(), "during statement block entry"
	sp, err := f.r.host.Savepoint()
	if err != nil {
		return signal{}, err
	}
	f.handling++
	sig, err := p.stmts(f, b.Body)
	sig = blockSignal(b, sig)
	f.handling--
	if err == nil {
		f.r.host.Release(sp)
		return sig, nil
	}
	if kv.IsRetryable(err) || errors.Is(err, context.Canceled) {
		return signal{}, err
	}
	located := f.located(err)
	var e *pgerr.Error
	if !errors.As(located, &e) {
		return signal{}, err
	}
	h := handlerOf(b, e)
	if h == nil || f.ctx.Err() != nil {
		return signal{}, err
	}
	if err := f.r.host.RollbackTo(f.ctx, sp); err != nil {
		return signal{}, err
	}
	return p.handle(f, b, h, e)
}

// handlerOf returns the first handler of an error.
func handlerOf(b *plpgsql.Block, e *pgerr.Error) *plpgsql.Handler {
	for i := range b.Handlers {
		for _, c := range b.Handlers[i].Conditions {
			if handles(c, e.Code) {
				return &b.Handlers[i]
			}
		}
	}
	return nil
}

// handle runs a handler.
func (p *program) handle(f *frame, b *plpgsql.Block, h *plpgsql.Handler, e *pgerr.Error) (signal, error) {
	state := p.vars[h]
	f.params[state.slot], f.params[state.slot+1] = types.NewString(string(e.Code)), types.NewString(e.Message)
	f.handled = append(f.handled, e)
	sig, err := p.stmts(f, h.Body)
	f.handled = f.handled[:len(f.handled)-1]
	return blockSignal(b, sig), err
}

// blockSignal is how control goes on behind a block: EXIT with its label ends it.
func blockSignal(b *plpgsql.Block, sig signal) signal {
	if sig.kind == exits && sig.label != "" && sig.label == b.Label {
		return signal{}
	}
	return sig
}

// declarations gives the variables of a block their first values: what fails there is not for the block's handlers.
func (p *program) declarations(f *frame, b *plpgsql.Block) error {
	names := p.blocks[b]
	for i := range b.Decls {
		d := &b.Decls[i]
		if v := names.names[d.Name]; d.Alias == "" && v != nil {
			f.line, f.doing = d.Line, "during statement block local variable initialization"
			if err := p.initialize(f, v); err != nil {
				return err
			}
		}
	}
	return nil
}

// initialize gives a variable its first value.
func (p *program) initialize(f *frame, v *variable) error {
	f.put(v, types.Null)
	f.records[v.slot] = nil
	if v.cursor != nil { // the cursor will have the name of the variable, unless that is given another
		f.params[v.slot] = types.NewOpaque(v.name)
		return nil
	}
	if v.def != nil {
		d, t, err := v.def.value(f)
		if err != nil {
			return err
		}
		return p.set(f, v, d, t)
	}
	if domain := v.typ; domain != nil && domainOf(domain) != nil {
		return p.set(f, v, types.Null, valueType(domain))
	}
	return nil
}

func (p *program) stmts(f *frame, list []plpgsql.Stmt) (signal, error) {
	for _, s := range list {
		if err := f.c.Step(stepCost); err != nil {
			return signal{}, err
		}
		f.line = s.At()
		sig, err := p.stmt(f, s)
		if err != nil || sig.kind != goOn {
			return sig, err
		}
	}
	return signal{}, nil
}

// stmt runs a statement that decides how control goes on.
func (p *program) stmt(f *frame, s plpgsql.Stmt) (signal, error) {
	switch s := s.(type) {
	case *plpgsql.Assign:
		f.doing = "at assignment"
		return signal{}, p.assign(f, s)
	case *plpgsql.If:
		f.doing = "at IF"
		return p.ifStmt(f, s)
	case *plpgsql.Case:
		f.doing = "at CASE"
		return p.caseStmt(f, s)
	case *plpgsql.Loop:
		return p.loop(f, s)
	case *plpgsql.ForInt:
		f.doing = "at FOR with integer loop variable"
		return p.forInt(f, s)
	case *plpgsql.ForQuery:
		return p.forQuery(f, s)
	case *plpgsql.ForEach:
		f.doing = "at FOREACH over array"
		return p.forEach(f, s)
	case *plpgsql.Block:
		return p.block(f, s)
	case *plpgsql.Exit:
		f.doing = "at EXIT"
		return p.exit(f, s)
	case *plpgsql.Return:
		f.doing = "at RETURN"
		return signal{kind: returns}, p.returnStmt(f, s)
	}
	return signal{}, p.action(f, s)
}

// action runs a statement behind which the next one follows.
func (p *program) action(f *frame, s plpgsql.Stmt) error {
	switch s := s.(type) {
	case *plpgsql.Null:
		return nil
	case *plpgsql.Execute:
		f.doing = "at SQL statement"
		if s.Perform {
			f.doing = "at PERFORM"
		} else if s.Call {
			f.doing = "at CALL"
		}
		return p.execute(f, s)
	case *plpgsql.Dynamic:
		f.doing = "at EXECUTE"
		return p.dynamic(f, s)
	case *plpgsql.ReturnNext:
		f.doing = "at RETURN NEXT"
		return p.returnNext(f, s)
	case *plpgsql.ReturnQuery:
		f.doing = "at RETURN QUERY"
		return p.returnQuery(f, s)
	case *plpgsql.Raise:
		f.doing = "at RAISE"
		return p.raise(f, s)
	case *plpgsql.Assert:
		f.doing = "at ASSERT"
		return p.assert(f, s)
	case *plpgsql.Diagnostics:
		f.doing = "at GET DIAGNOSTICS"
		return p.diagnostics(f, s)
	case *plpgsql.Transaction:
		f.doing = "at COMMIT"
		if s.Rollback {
			f.doing = "at ROLLBACK"
		}
		return p.transaction(f, s)
	case *plpgsql.Open:
		f.doing = "at OPEN"
		return p.openCursor(f, s)
	case *plpgsql.Fetch:
		f.doing = "at FETCH"
		return p.fetchCursor(f, s)
	case *plpgsql.Close:
		f.doing = "at CLOSE"
		return p.closeCursor(f, s)
	}
	return pgerr.Unsupported("this statement is not supported in PL/pgSQL")
}

// eval computes an expression.
func (p *program) eval(f *frame, x *plpgsql.Expr) (types.Datum, *types.T, error) {
	return p.exprs[x.ID].value(f)
}

// evalBool computes a condition.
func (p *program) evalBool(f *frame, x *plpgsql.Expr) (bool, error) {
	q := p.exprs[x.ID]
	if q.ready(f) && q.typ.Family == types.BoolFamily {
		d, err := q.evaluate(f)
		return d.IsTrue(), err
	}
	d, t, err := q.value(f)
	if err != nil || d.IsNull() {
		return false, err
	}
	if t.Family != types.BoolFamily {
		if d, err = convert(f.c.Format, d, t, types.Bool); err != nil {
			return false, err
		}
	}
	return d.IsTrue(), nil
}

func (p *program) ifStmt(f *frame, s *plpgsql.If) (signal, error) {
	for i := range s.Branches {
		b := &s.Branches[i]
		ok, err := p.evalBool(f, &b.Cond)
		if err != nil {
			return signal{}, err
		}
		if ok {
			return p.stmts(f, b.Body)
		}
	}
	return p.stmts(f, s.Else)
}

func (p *program) caseStmt(f *frame, s *plpgsql.Case) (signal, error) {
	if s.Value != nil {
		d, t, err := p.eval(f, s.Value)
		if err != nil {
			return signal{}, err
		}
		v := p.vars[s]
		f.put(v, d.Clone())
		f.records[v.slot] = t
	}
	for i := range s.Branches {
		ok, err := p.evalBool(f, &s.Branches[i].Cond)
		if err != nil {
			return signal{}, err
		}
		if ok {
			return p.stmts(f, s.Branches[i].Body)
		}
	}
	if !s.HasElse {
		return signal{}, pgerr.New(caseNotFound, "case not found").WithHint("CASE statement is missing ELSE part.")
	}
	return p.stmts(f, s.Else)
}

func (p *program) exit(f *frame, s *plpgsql.Exit) (signal, error) {
	if s.When != nil {
		if ok, err := p.evalBool(f, s.When); err != nil || !ok {
			return signal{}, err
		}
	}
	if s.Continue {
		return signal{kind: continues, label: s.Label}, nil
	}
	return signal{kind: exits, label: s.Label}, nil
}

func (p *program) returnStmt(f *frame, s *plpgsql.Return) error {
	if s.Value == nil {
		return nil
	}
	if f.ret.row, f.ret.typ = p.exprs[s.Value.ID].rowApart(f); f.ret.row != nil {
		return nil
	}
	d, t, err := p.eval(f, s.Value)
	if err != nil {
		return err
	}
	if (f.out.whole != nil && len(p.outputs) == 0 || f.fires != nil) && !d.IsNull() && t.Family != types.RecordFamily {
		return pgerr.New(pgerr.DatatypeMismatch, "cannot return non-composite value from function returning composite type")
	}
	f.ret.d, f.ret.typ = d.Clone(), t
	return nil
}

// checkPL finds errors in a body in PL/pgSQL, as CREATE FUNCTION does.
func (r *Runner) checkPL(ctx context.Context, t *catalog.Table) error {
	f := &frame{r: r, t: t, def: t.Routine, ctx: ctx, fresh: true}
	for _, p := range t.Routine.Inputs() {
		f.args = append(f.args, p.Type)
	}
	f.out.init(f, nil)
	p, err := compilePL(f)
	if err != nil {
		return err
	}
	for _, q := range p.queries {
		if _, err := q.parse(); err != nil {
			return q.at.inBody(err, p.src)
		}
	}
	return nil
}
