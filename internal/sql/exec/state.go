package exec

import (
	"context"

	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/types"
)

// evalState is what expressions work with during one execution. Their closures are compiled
// against its address.
type evalState struct {
	ctx    context.Context
	bctx   *builtin.Context
	params []types.Datum
	mem    *quota.Pool // the statement's; nil means no limit
	// outer holds the values of columns of enclosing rows: what apply joins and
	// correlated subqueries set before they open their inner plan.
	outer []types.Datum
	// operand holds the values of the operands of CASE expressions.
	operand []types.Datum
	// epoch counts executions: what is cached per execution is tagged with it.
	epoch uint64
	ticks uint32
	bulky bool            // there were large values
	noCtx builtin.Context // for callers without one
}

// bind prepares for an execution. A nil b stands for an empty context of functions.
func (r *evalState) bind(ctx context.Context, b *builtin.Context, params []types.Datum, mem *quota.Pool) {
	r.ctx, r.bctx, r.params, r.mem = ctx, b, params, mem
	if r.ctx == nil {
		r.ctx = context.Background()
	}
	if r.bctx == nil {
		r.bctx = &r.noCtx
	}
	for i := range params {
		r.met(len(params[i].Str()))
	}
	r.epoch++
}

// unbind lets go of what belongs to an execution.
func (r *evalState) unbind() {
	clear(r.outer)
	clear(r.operand)
	r.keepBulky()
	r.ctx, r.bctx, r.params, r.mem = nil, nil, nil, nil
}

// keepBulky remembers large values that functions have met: the context of functions may be
// another when the execution goes on.
func (r *evalState) keepBulky() { r.bulky = r.bulky || r.bctx.Bulky }

// isBulky reports whether what is left of an execution in operators must not outlive it.
func (r *evalState) isBulky() bool { return r.bulky }

// met notes a value, or memory that values lie in, of n bytes.
func (r *evalState) met(n int) {
	if n >= quota.LargeValue {
		r.bulky = true
	}
}

// format returns the session's text settings.
func (r *evalState) format() *types.FormatContext { return r.bctx.Format }

// cancelEvery is how many rows may pass between two looks at the context.
const cancelEvery = 1024

// tick is called for every row of loops that can run without calling kv.
func (r *evalState) tick() error {
	r.ticks++
	if r.ticks%cancelEvery != 0 {
		return nil
	}
	return r.canceled()
}

// canceled returns the cause if the statement was cancelled.
func (r *evalState) canceled() error {
	select {
	case <-r.ctx.Done():
		return context.Cause(r.ctx)
	default:
		return nil
	}
}

// setOuter hands columns of the current row to an inner plan.
func (r *evalState) setOuter(copies []outerCopy, row Row) {
	for _, c := range copies {
		r.outer[c.slot] = row[c.pos]
	}
}
