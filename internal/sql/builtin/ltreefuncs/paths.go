package ltreefuncs

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/ltree"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// labels makes a path of what a function of package ltree returns.
func labels(s string, err error) (types.Datum, error) {
	if err != nil {
		return types.Null, err
	}
	return types.NewLabels(s), nil
}

// parse makes a path of a text.
func parse(c *call.Context, d types.Datum) (types.Datum, error) {
	return labels(d.Str(), ltree.Check(d.Str(), c.Step))
}

func concat(_ *call.Context, a []types.Datum) (types.Datum, error) {
	return labels(ltree.Concat(a[0].Str(), a[1].Str()))
}

func concatText(c *call.Context, a []types.Datum) (types.Datum, error) {
	d, err := parse(c, a[1])
	if err != nil {
		return types.Null, err
	}
	return labels(ltree.Concat(a[0].Str(), d.Str()))
}

func textConcat(c *call.Context, a []types.Datum) (types.Datum, error) {
	d, err := parse(c, a[0])
	if err != nil {
		return types.Null, err
	}
	return labels(ltree.Concat(d.Str(), a[1].Str()))
}

func between(_ *call.Context, a []types.Datum) (types.Datum, error) {
	return labels(ltree.Between(a[0].Str(), int(a[1].Int()), int(a[2].Int())))
}

func subpath(_ *call.Context, a []types.Datum) (types.Datum, error) {
	n := 0
	if len(a) == 3 {
		n = int(a[2].Int())
	}
	return labels(ltree.Subpath(a[0].Str(), int(a[1].Int()), n, len(a) == 3))
}

// index counts a step for each comparison of labels that it may make.
func index(c *call.Context, a []types.Datum) (types.Datum, error) {
	from := 0
	if len(a) == 3 {
		from = int(a[2].Int())
	}
	if err := c.Step(ltree.Levels(a[0].Str()) * ltree.Levels(a[1].Str())); err != nil {
		return types.Null, err
	}
	return types.NewInt(int64(ltree.Index(a[0].Str(), a[1].Str(), from))), nil
}

func common(_ *call.Context, a []types.Datum) (types.Datum, error) {
	list := make([]string, len(a))
	for i := range a {
		list[i] = a[i].Str()
	}
	return commonOf(list)
}

func commonOf(list []string) (types.Datum, error) {
	s, ok := ltree.Common(list)
	if !ok {
		return types.Null, nil
	}
	return types.NewLabels(s), nil
}

func commonOfArray(c *call.Context, a []types.Datum) (types.Datum, error) {
	var list []string
	err := elements(a[0], c.Step, func(d types.Datum) (bool, error) {
		list = append(list, d.Str())
		return true, nil
	})
	if err != nil {
		return types.Null, err
	}
	return commonOf(list)
}

// elements calls f with the elements of an array of one dimension without NULLs, until it returns false.
func elements(array types.Datum, step func(int) error, f func(types.Datum) (bool, error)) error {
	if len(array.ArrayDims()) > 1 {
		return pgerr.New(pgerr.ArraySubscriptError, "array must be one-dimensional")
	}
	for _, e := range array.ArrayElems() {
		if err := step(1); err != nil {
			return err
		}
		if e.IsNull() {
			return pgerr.New(pgerr.NullValueNotAllowed, "array must not contain nulls")
		}
	}
	for _, e := range array.ArrayElems() {
		if more, err := f(e); err != nil || !more {
			return err
		}
	}
	return nil
}
