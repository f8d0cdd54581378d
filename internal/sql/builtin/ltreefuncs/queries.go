package ltreefuncs

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/ltree"
	"github.com/lichendb/lichen/internal/sql/types"
)

// maker makes a test of what paths are compared with. It counts its steps.
type maker func(d types.Datum, step func(int) error) (test, error)

// below tests whether a path is above another, or it.
func below(d types.Datum, _ func(int) error) (test, error) {
	other := d.Str()
	return func(_ *call.Context, path string) bool { return ltree.Ancestor(path, other) }, nil
}

// above tests whether a path is below another, or it.
func above(d types.Datum, _ func(int) error) (test, error) {
	other := d.Str()
	return func(_ *call.Context, path string) bool { return ltree.Ancestor(other, path) }, nil
}

func matches(d types.Datum, step func(int) error) (test, error) {
	p, err := ltree.ParsePattern(d.Str(), step)
	if err != nil {
		return nil, err
	}
	return func(c *call.Context, path string) bool {
		return c.Step(p.MatchSteps(path)) == nil && p.Matches(path)
	}, nil
}

func matchesAny(d types.Datum, step func(int) error) (test, error) {
	var list []test
	err := elements(d, step, func(d types.Datum) (bool, error) {
		t, err := matches(d, step)
		list = append(list, t)
		return true, err
	})
	return func(c *call.Context, path string) bool {
		for _, t := range list {
			if t(c, path) {
				return true
			}
		}
		return false
	}, err
}

func satisfies(d types.Datum, step func(int) error) (test, error) {
	q, err := ltree.ParseTextQuery(d.Str(), step)
	if err != nil {
		return nil, err
	}
	return func(c *call.Context, path string) bool { return c.Step(len(path)) == nil && q.Matches(path) }, nil
}

// result applies a test to a path or an array of them.
type result func(c *call.Context, paths types.Datum, t test) (types.Datum, error)

func path(c *call.Context, p types.Datum, t test) (types.Datum, error) {
	return types.NewBool(t(c, p.Str())), c.Stopped()
}

func firstPath(c *call.Context, paths types.Datum, t test) (first types.Datum, err error) {
	err = elements(paths, c.Step, func(d types.Datum) (bool, error) {
		if !t(c, d.Str()) {
			return true, c.Stopped()
		}
		first = d
		return false, nil
	})
	return first, err
}

func anyPath(c *call.Context, paths types.Datum, t test) (types.Datum, error) {
	first, err := firstPath(c, paths, t)
	return types.NewBool(!first.IsNull()), err
}

// of makes an operator of a test, with the paths at a place among the operands. The test of a constant is made once.
func of(mk maker, at int, result result) call.BindFunc {
	return func(b call.Binding) (call.EvalFunc, error) {
		if d, ok := b.Const(1 - at); ok {
			if t, err := mk(d, func(int) error { return nil }); err == nil { // an error belongs to the call
				return func(c *call.Context, a []types.Datum) (types.Datum, error) { return result(c, a[at], t) }, nil
			}
		}
		return func(c *call.Context, a []types.Datum) (types.Datum, error) {
			t, err := mk(a[1-at], c.Step)
			if err != nil {
				return types.Null, err
			}
			return result(c, a[at], t)
		}, nil
	}
}
