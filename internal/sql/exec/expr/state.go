package expr

import (
	"context"
	"errors"

	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/tempstore"
)

// State is what expressions work with during one execution. Their closures are compiled
// against its address.
type State struct {
	Ctx     context.Context
	Builtin *call.Context
	params  []types.Datum
	// Rows has the fields of those parameters that are rows and were taken apart, and an empty row for others. It is set
	// before expressions are compiled, to which its elements keep their places.
	Rows []types.Row
	Mem  *quota.Pool // the statement's; nil means no limit
	// Temp is the temporary file of the execution, which operators take that need more than WorkMem
	// bytes, or than Mem gives.
	Temp    tempstore.Space
	WorkMem int64
	// outer holds the values of columns of enclosing rows: what apply joins and
	// correlated subqueries set before they open their inner plan.
	outer []types.Datum
	// operand holds the values of the operands of CASE expressions.
	operand []types.Datum
	// epoch counts executions: what is cached per execution is tagged with it.
	Epoch uint64
	ticks uint32
	bulky bool         // there were large values
	noCtx call.Context // for callers without one
}

// Bind prepares for an execution. A nil b stands for an empty context of functions.
func (r *State) Bind(ctx context.Context, b *call.Context, params []types.Datum, mem *quota.Pool) {
	r.Ctx, r.Builtin, r.params, r.Mem = ctx, b, params, mem
	if r.Ctx == nil {
		r.Ctx = context.Background()
	}
	if r.Builtin == nil {
		r.Builtin = &r.noCtx
	}
	for i := range params {
		r.NoteSize(len(params[i].Str()))
	}
	r.Epoch++
}

// Share prepares the state of another goroutine for the same execution. It has no context of functions,
// as they may be used by one goroutine only.
func (r *State) Share(with *State) { with.Bind(r.Ctx, nil, r.params, r.Mem) }

// BindTemp says where operators keep what finds no memory; a nil store: nowhere.
func (r *State) BindTemp(store *tempstore.Store, workMem int64) {
	r.Temp.Bind(store)
	r.WorkMem = workMem
}

// Unbind lets go of what belongs to an execution.
func (r *State) Unbind() {
	r.Temp.Close()
	clear(r.outer)
	clear(r.operand)
	r.KeepBulky()
	r.Ctx, r.Builtin, r.params, r.Mem = nil, nil, nil, nil
}

// KeepBulky remembers large values that functions have met: the context of functions may be
// another when the execution goes on.
func (r *State) KeepBulky() { r.bulky = r.bulky || r.Builtin.Bulky }

// Bulky reports whether what is left of an execution in operators must not outlive it.
func (r *State) Bulky() bool { return r.bulky }

// NoteSize notes a value, or memory that values lie in, of n bytes.
func (r *State) NoteSize(n int) {
	if n >= quota.LargeValue {
		r.bulky = true
	}
}

// Format returns the session's text settings.
func (r *State) Format() *types.FormatContext { return r.Builtin.Format }

// cancelEvery is how many rows may pass between two looks at the context.
const cancelEvery = 1024

// Tick is called for every row of loops that can run without calling kv.
func (r *State) Tick() error { return r.Ticks(1) }

// Ticks counts n rows: see Tick.
func (r *State) Ticks(n int) error {
	if r.ticks += uint32(n); r.ticks < cancelEvery {
		return nil
	}
	r.ticks = 0
	return r.Canceled()
}

// Canceled returns the cause if the statement was cancelled.
func (r *State) Canceled() error {
	select {
	case <-r.Ctx.Done():
		return context.Cause(r.Ctx)
	default:
		return nil
	}
}

// SetOuter hands columns of the current row to an inner plan.
func (r *State) SetOuter(copies []OuterCopy, row types.Row) {
	for _, c := range copies {
		r.outer[c.slot] = row[c.pos]
	}
}

// Full reports whether an operator that holds so many bytes is to keep further rows in its
// temporary file: they are more than work_mem, or than its share where many hold much.
func (r *State) Full(used int64) bool {
	return (used > r.WorkMem || used > quota.LargeAccount && used > r.Mem.Share()) && r.Temp.Bound()
}

// leastSpilled is what an operator holds at least that spills because the pool gives no more. Who was
// refused earlier has nothing to give back: its statement waits until others end, or fails.
const leastSpilled = 32 << 10

// Refused reports whether err refused memory to an operator that holds so many bytes, which it can
// give back for space in its temporary file.
func (r *State) Refused(err error, used int64) bool {
	return err != nil && used >= min(leastSpilled, r.WorkMem) && r.Temp.Bound() && isRefusal(err)
}

func isRefusal(err error) bool {
	var full *quota.ExceededError
	return errors.As(err, &full)
}
