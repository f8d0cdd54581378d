package aggregate

import (
	"math"

	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/vecexpr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/vector"
)

// accumulator holds the states of an aggregate for all groups.
type accumulator interface {
	// grow makes room for n groups and reserves it.
	grow(n int, acc *quota.Account) error
	// add takes the rows of sel into the groups that groups has at their positions; f fails for
	// the first row that can't be taken. The error is one of the statement.
	add(f *vecexpr.Frame, sel vector.Selection, groups []int32, args []*vector.Vector, acc *quota.Account) error
	// result returns the aggregate of group g.
	result(g int) (types.Datum, error)
	// keep forgets all groups but g, which becomes the first.
	keep(g int, acc *quota.Account)
	reset()
}

// keepOne makes element g of s the only one.
func keepOne[T any](s []T, g int) []T {
	s[0], s[g] = s[g], s[0]
	clear(s[1:])
	return s[:1]
}

// newAccumulator returns the accumulator of a call.
func newAccumulator(r *operator.Run, n *plan.Agg) accumulator {
	each := newEach(r, n)
	switch {
	case n.Fn.Name == "count" && len(n.Args) == 0:
		return &counts{}
	case n.Fn.Name == "count" && len(n.Args) == 1:
		return &counts{args: 1}
	case n.Fn.Name == "sum" || n.Fn.Name == "avg":
		if _, ok := n.Fn.New(each.call.Types).(call.PartialSums); ok {
			return &sums{each: each}
		}
	case n.Fn.Name == "min" || n.Fn.Name == "max":
		if vector.KindOf(n.Args[0].Type().Family) == vector.Ints {
			return &extremes{family: n.Args[0].Type().Family, max: n.Fn.Name == "max"}
		}
	}
	return each
}

// stretch makes s n long and reserves what that takes.
func stretch[T any](s []T, n int, size int64, acc *quota.Account) ([]T, error) {
	if n <= cap(s) {
		return s[:n], nil
	}
	c := max(n, 2*cap(s))
	if err := acc.Grow(int64(c-cap(s)) * size); err != nil {
		return s, expr.MemoryError(err)
	}
	grown := make([]T, n, c)
	copy(grown, s)
	return grown, nil
}

// counts is count.
type counts struct {
	args int // 0: count(*)
	n    []int64
}

func (a *counts) grow(n int, acc *quota.Account) (err error) {
	a.n, err = stretch(a.n, n, 8, acc)
	return err
}

func (a *counts) add(_ *vecexpr.Frame, sel vector.Selection, groups []int32, args []*vector.Vector, _ *quota.Account) error {
	nulls := a.args == 1 && args[0].Nulls.Any()
	switch {
	case len(a.n) == 1 && !nulls:
		a.n[0] += int64(len(sel))
	case nulls:
		for _, i := range sel {
			if !args[0].Nulls.Has(i) {
				a.n[groups[i]]++
			}
		}
	default:
		for _, i := range sel {
			a.n[groups[i]]++
		}
	}
	return nil
}

func (a *counts) result(g int) (types.Datum, error) { return types.NewInt(a.n[g]), nil }

func (a *counts) keep(g int, _ *quota.Account) { a.n = keepOne(a.n, g) }

func (a *counts) reset() { a.n = nil }

// partial is a sum of n integers, or of n coefficients of one scale.
type partial struct{ n, sum int64 }

// sums is sum or avg: kernels add up to 64 bits, what goes beyond is added to the aggregate's own
// accumulator of the group.
type sums struct {
	each  *each
	part  []partial
	scale int32 // of the coefficients
}

func (a *sums) grow(n int, acc *quota.Account) (err error) {
	a.part, err = stretch(a.part, n, 16, acc)
	return err
}

func (a *sums) keep(g int, acc *quota.Account) {
	a.part = keepOne(a.part, g)
	a.each.keep(g, acc)
}

func (a *sums) reset() {
	a.part, a.scale = nil, 0
	a.each.reset()
}

func (a *sums) add(f *vecexpr.Frame, sel vector.Selection, groups []int32, args []*vector.Vector, acc *quota.Account) error {
	v := args[0]
	switch v.Kind {
	case vector.Ints:
	case vector.Decimals:
		if v.Scale < 0 {
			return nil // all NULL
		}
		if v.Scale != a.scale {
			if err := a.flushAll(acc); err != nil {
				return err
			}
			a.scale = v.Scale
		}
	default:
		if err := a.each.grow(len(a.part), acc); err != nil {
			return err
		}
		return a.each.add(f, sel, groups, args, acc)
	}
	nulls := v.Nulls.Any()
	for _, i := range sel {
		if nulls && v.Nulls.Has(i) {
			continue
		}
		p, x := &a.part[groups[i]], v.Ints[i]
		s := p.sum + x
		if (s > p.sum) != (x > 0) && x != 0 || s == math.MinInt64 {
			if err := a.flush(int(groups[i]), acc); err != nil {
				return err
			}
			s = x
		}
		p.sum = s
		p.n++
	}
	return nil
}

// flushAll adds all partial sums to the accumulators of their groups.
func (a *sums) flushAll(acc *quota.Account) error {
	for g := range a.part {
		if a.part[g].n > 0 {
			if err := a.flush(g, acc); err != nil {
				return err
			}
		}
	}
	return nil
}

// flush adds the partial sum of group g to its accumulator.
func (a *sums) flush(g int, acc *quota.Account) error {
	if err := a.each.grow(len(a.part), acc); err != nil {
		return err
	}
	return a.addPartial(a.each.states[g].Acc, g)
}

func (a *sums) addPartial(acc call.Accumulator, g int) error {
	p := a.part[g]
	a.part[g] = partial{}
	sum := types.NewInt(p.sum)
	if a.each.call.Types[0].Family == types.DecimalFamily {
		sum = types.NewDecimalInt(p.sum, a.scale)
	}
	return acc.(call.PartialSums).AddPartial(p.n, sum)
}

func (a *sums) result(g int) (types.Datum, error) {
	st := a.each.spare()
	if g < len(a.each.states) {
		st = a.each.states[g].Acc
	}
	if a.part[g].n > 0 {
		if err := a.addPartial(st, g); err != nil {
			return types.Null, err
		}
	}
	return Result(a.each.run, st)
}

// extremes is min or max of values kept in an int64.
type extremes struct {
	family types.Family
	max    bool
	best   []extreme
}

type extreme struct {
	v   int64
	set bool
}

func (a *extremes) grow(n int, acc *quota.Account) (err error) {
	a.best, err = stretch(a.best, n, 16, acc)
	return err
}

func (a *extremes) add(_ *vecexpr.Frame, sel vector.Selection, groups []int32, args []*vector.Vector, _ *quota.Account) error {
	v := args[0]
	for _, i := range sel {
		if v.Nulls.Has(i) {
			continue
		}
		e, x := &a.best[groups[i]], v.Ints[i]
		if !e.set || a.max && x > e.v || !a.max && x < e.v {
			*e = extreme{x, true}
		}
	}
	return nil
}

func (a *extremes) result(g int) (types.Datum, error) {
	if !a.best[g].set {
		return types.Null, nil
	}
	return types.NewOf(a.family, a.best[g].v), nil
}

func (a *extremes) keep(g int, _ *quota.Account) { a.best = keepOne(a.best, g) }

func (a *extremes) reset() { a.best = nil }

// each is any aggregate: an accumulator for each group, which gets one row after the other.
type each struct {
	run    *operator.Run
	call   Call
	states []State
	one    call.Accumulator
}

func newEach(r *operator.Run, n *plan.Agg) *each {
	return &each{run: r, call: bareCall(n)}
}

// spare returns an empty accumulator for a group that has none.
func (a *each) spare() call.Accumulator {
	if a.one == nil {
		a.one = a.call.Fn.New(a.call.Types)
	}
	a.one.Reset()
	return a.one
}

func (a *each) grow(n int, acc *quota.Account) error {
	for len(a.states) < n {
		st, err := a.call.NewState(a.run)
		if err != nil {
			return err
		}
		if err := acc.Grow(aggStateSize); err != nil {
			return expr.MemoryError(err)
		}
		a.states = append(a.states, st)
	}
	return nil
}

func (a *each) add(f *vecexpr.Frame, sel vector.Selection, groups []int32, args []*vector.Vector, acc *quota.Account) error {
	for _, i := range sel {
		for k, v := range args {
			a.call.vals[k] = v.Datum(i)
		}
		if err := a.call.take(a.run, acc, &a.states[groups[i]]); err != nil {
			f.Fail(i, err)
			return nil
		}
	}
	return nil
}

func (a *each) result(g int) (types.Datum, error) { return Result(a.run, a.states[g].Acc) }

func (a *each) keep(g int, acc *quota.Account) {
	for i := range a.states {
		if i != g {
			acc.Shrink(aggStateSize + a.states[i].size)
		}
	}
	if g >= len(a.states) { // sums make states for groups as they need them
		a.states = a.states[:0]
		return
	}
	a.states = keepOne(a.states, g)
}

func (a *each) reset() {
	closeStates(a.states)
	a.states = nil
}
