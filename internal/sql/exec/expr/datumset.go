package expr

import (
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// DatumSet is the right side of an IN over many values.
type DatumSet struct {
	state *State
	t     *types.T
	ints  map[int64]struct{} // of types whose values are an int64
	keys  map[string]struct{}
	null  bool // a NULL is among them
	buf   []byte
}

// leastSet is how many values are worth a set.
const leastSet = 8

// Hashes reports whether the operands of an operator compare as their hash keys do, so that a DatumSet
// finds what is equal to one.
func Hashes(op *call.Overload) bool {
	return Simple(op.Args[0]) && op.Args[1].Family == op.Args[0].Family
}

// NewDatumSet returns a set with room for n left operands of an operator that Hashes.
func (r *State) NewDatumSet(op *call.Overload, n int) *DatumSet {
	t := op.Args[0]
	set := &DatumSet{state: r, t: t}
	switch t.Family {
	case types.IntFamily, types.BoolFamily, types.DateFamily, types.TimeFamily, types.TimestampFamily, types.TimestampTZFamily:
		set.ints = make(map[int64]struct{}, n)
	default:
		set.keys = make(map[string]struct{}, n)
	}
	return set
}

// Insert adds a value and accounts for its memory.
func (set *DatumSet) Insert(d types.Datum, acc *quota.Account) error {
	if d.IsNull() {
		set.null = true
		return nil
	}
	if set.has(d) {
		return nil
	}
	if err := acc.Grow(MapEntrySize + int64(len(d.Str()))); err != nil {
		return MemoryError(err)
	}
	if set.ints != nil {
		set.ints[d.Int()] = struct{}{}
	} else {
		set.keys[string(set.buf)] = struct{}{} // as has left it
	}
	return nil
}

// has reports whether d, which is not NULL, is among the values.
func (set *DatumSet) has(d types.Datum) (ok bool) {
	if set.ints != nil {
		_, ok = set.ints[d.Int()]
		return ok
	}
	set.buf = types.AppendHashKeyTyped(set.buf[:0], set.t, d, set.state.Format())
	_, ok = set.keys[string(set.buf)]
	return ok
}

// constSet compiles an IN list of constants that is long enough to hash and whose type
// compares as its hash key does; else it returns nil. The set is made for the first row,
// when the statement can be cancelled.
func (c *Compiler) constSet(e *plan.InList, left Func) Func {
	if len(e.List) < leastSet || !Hashes(e.Eq) {
		return nil
	}
	for _, x := range e.List {
		if _, ok := x.(*plan.Const); !ok {
			return nil
		}
	}
	r, not := c.state, e.Not
	var set *DatumSet
	return func(row types.Row) (types.Datum, error) {
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
		return set.Test(d, not), nil
	}
}

// setOf returns the set of a list of constants.
func (r *State) setOf(e *plan.InList) (*DatumSet, error) {
	set := r.NewDatumSet(e.Eq, len(e.List))
	var acc quota.Account // the constants are the statement's already
	for _, x := range e.List {
		if err := r.Tick(); err != nil {
			return nil, err
		}
		if err := set.Insert(x.(*plan.Const).D, &acc); err != nil {
			return nil, err
		}
	}
	return set, nil
}

// Empty reports whether nothing was inserted.
func (set *DatumSet) Empty() bool { return len(set.ints)+len(set.keys) == 0 && !set.null }

// Test returns whether d is among the values, or with not that it is not.
func (set *DatumSet) Test(d types.Datum, not bool) types.Datum {
	switch {
	case set.Empty():
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
	state *State
	op    *call.Overload
	epoch uint64
	set   *DatumSet
	acc   quota.Account
}

// arraySet returns a set for e, nil if its array may be another one for each row, or its
// operator tells more than whether an element is there.
func (c *Compiler) arraySet(e *plan.AnyAll) *arraySet {
	op := "="
	if e.All {
		op = "<>"
	}
	if !e.Op.Operator || e.Op.Name != op || !sameThroughout(e.Array) || !Hashes(e.Op) {
		return nil
	}
	a := &arraySet{state: c.state, op: e.Op}
	c.OnClose(a.close)
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
func (a *arraySet) made() *DatumSet {
	if a == nil || a.epoch != a.state.Epoch {
		return nil
	}
	return a.set
}

// of returns the set of the array, nil for the first row of an execution, which may be the
// only one.
func (a *arraySet) of(array types.Datum) (*DatumSet, error) {
	switch {
	case a == nil:
		return nil, nil
	case a.epoch != a.state.Epoch:
		a.close()
		a.epoch = a.state.Epoch
		return nil, nil
	}
	a.acc.Init(a.state.Mem)
	set := a.state.NewDatumSet(a.op, 0)
	for _, d := range array.ArrayElems() {
		if err := a.state.Tick(); err != nil {
			return nil, err
		}
		if err := set.Insert(d, &a.acc); err != nil {
			return nil, err
		}
	}
	a.set = set
	return set, nil
}

// MapEntrySize is about what an entry of a map of strings costs beside its key.
const MapEntrySize = 48
