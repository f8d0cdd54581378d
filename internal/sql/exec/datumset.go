package exec

import (
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// datumSet is the right side of an IN over many values.
type datumSet struct {
	t    *types.T
	ints map[int64]struct{} // of types whose values are an int64
	keys map[string]struct{}
	null bool // a NULL is among them
	buf  []byte
}

// leastSet is how many values are worth a set.
const leastSet = 8

// newDatumSet returns a set with room for n values, nil if the operands of an operator do
// not compare as their hash keys do.
func newDatumSet(op *builtin.Overload, n int) *datumSet {
	t := op.Args[0]
	if fastCompare(t) == nil || op.Args[1].Family != t.Family {
		return nil
	}
	set := &datumSet{t: t}
	switch t.Family {
	case types.IntFamily, types.BoolFamily, types.DateFamily, types.TimeFamily, types.TimestampFamily, types.TimestampTZFamily:
		set.ints = make(map[int64]struct{}, n)
	default:
		set.keys = make(map[string]struct{}, n)
	}
	return set
}

// insert adds a value and accounts for its memory.
func (set *datumSet) insert(d types.Datum, acc *quota.Account) error {
	if d.IsNull() {
		set.null = true
		return nil
	}
	if set.has(d) {
		return nil
	}
	if err := acc.Grow(mapEntrySize + int64(len(d.Str()))); err != nil {
		return memoryError(err)
	}
	if set.ints != nil {
		set.ints[d.Int()] = struct{}{}
	} else {
		set.keys[string(set.buf)] = struct{}{} // as has left it
	}
	return nil
}

// has reports whether d, which is not NULL, is among the values.
func (set *datumSet) has(d types.Datum) (ok bool) {
	if set.ints != nil {
		_, ok = set.ints[d.Int()]
		return ok
	}
	set.buf = types.AppendHashKeyTyped(set.buf[:0], set.t, d, nil)
	_, ok = set.keys[string(set.buf)]
	return ok
}

// constSet compiles an IN list of constants that is long enough to hash and whose type
// compares as its hash key does; else it returns nil. The set is made for the first row,
// when the statement can be cancelled.
func (c *exprCompiler) constSet(e *plan.InList, left evalFn) evalFn {
	if len(e.List) < leastSet || newDatumSet(e.Eq, 0) == nil {
		return nil
	}
	for _, x := range e.List {
		if _, ok := x.(*plan.Const); !ok {
			return nil
		}
	}
	r, not := c.state, e.Not
	var set *datumSet
	return func(row Row) (types.Datum, error) {
		if set == nil {
			var err error
			if set, err = r.setOf(e); err != nil {
				return types.Null, err
			}
		}
		d, err := left(row)
		if err != nil {
			return types.Null, err
		}
		return set.test(d, not), nil
	}
}

// setOf returns the set of a list of constants.
func (r *evalState) setOf(e *plan.InList) (*datumSet, error) {
	set := newDatumSet(e.Eq, len(e.List))
	var acc quota.Account // the constants are the statement's already
	for _, x := range e.List {
		if err := r.tick(); err != nil {
			return nil, err
		}
		if err := set.insert(x.(*plan.Const).D, &acc); err != nil {
			return nil, err
		}
	}
	return set, nil
}

// empty reports whether nothing was inserted.
func (set *datumSet) empty() bool { return len(set.ints)+len(set.keys) == 0 && !set.null }

// test returns whether d is among the values, or with not that it is not.
func (set *datumSet) test(d types.Datum, not bool) types.Datum {
	switch {
	case set.empty():
		return types.NewBool(not)
	case d.IsNull():
		return types.Null
	case set.has(d):
		return types.NewBool(!not)
	case set.null:
		return types.Null
	}
	return types.NewBool(not)
}

// arraySet is the set of the elements of an array that = ANY and <> ALL compare every row
// of an execution with.
type arraySet struct {
	state *evalState
	op    *builtin.Overload
	epoch uint64
	set   *datumSet
	acc   quota.Account
}

// arraySet returns a set for e, nil if its array may be another one for each row, or its
// operator tells more than whether an element is there.
func (c *exprCompiler) arraySet(e *plan.AnyAll) *arraySet {
	op := "="
	if e.All {
		op = "<>"
	}
	if !e.Op.Operator || e.Op.Name != op || !sameThroughout(e.Array) || newDatumSet(e.Op, 0) == nil {
		return nil
	}
	a := &arraySet{state: c.state, op: e.Op}
	c.onClose(a.close)
	return a
}

func (a *arraySet) close() {
	a.set = nil
	a.acc.Close()
}

// sameThroughout reports whether an expression has one value in an execution.
func sameThroughout(e plan.Expr) bool {
	switch e := e.(type) {
	case *plan.Const, *plan.Param:
		return true
	case *plan.Cast:
		return sameThroughout(e.Arg)
	case *plan.Subquery:
		return len(e.Outer) == 0 && (e.Kind == plan.ScalarSubquery || e.Kind == plan.ArraySubquery)
	}
	return false
}

// made returns the set if there is one in this execution.
func (a *arraySet) made() *datumSet {
	if a == nil || a.epoch != a.state.epoch {
		return nil
	}
	return a.set
}

// of returns the set of the array, nil for the first row of an execution, which may be the
// only one.
func (a *arraySet) of(array types.Datum) (*datumSet, error) {
	switch {
	case a == nil:
		return nil, nil
	case a.epoch != a.state.epoch:
		a.close()
		a.epoch = a.state.epoch
		return nil, nil
	}
	a.acc.Init(a.state.mem)
	set := newDatumSet(a.op, 0)
	for _, d := range array.ArrayElems() {
		if err := a.state.tick(); err != nil {
			return nil, err
		}
		if err := set.insert(d, &a.acc); err != nil {
			return nil, err
		}
	}
	a.set = set
	return set, nil
}

// mapEntrySize is about what an entry of a map of strings costs beside its key.
const mapEntrySize = 48
