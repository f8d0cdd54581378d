package hstorefuncs

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/hstore"
	"github.com/lichendb/lichen/internal/sql/types"
)

// valueOf is the value of a pair.
func valueOf(p hstore.Pair) types.Datum {
	if p.Null {
		return types.Null
	}
	return types.NewString(p.Value)
}

func fetch(_ *call.Context, a []types.Datum) (types.Datum, error) {
	p, ok := hstore.Get(a[0].Str(), a[1].Str())
	if !ok {
		return types.Null, nil
	}
	return valueOf(p), nil
}

// fetchAll returns the values of some keys, in an array of the same shape.
func fetchAll(c *call.Context, a []types.Datum) (types.Datum, error) {
	var out []types.Datum
	for _, key := range a[1].ArrayElems() {
		if err := c.Step(1); err != nil {
			return types.Null, err
		}
		p, ok := hstore.Get(a[0].Str(), key.Str())
		if !ok || key.IsNull() {
			out = append(out, types.Null)
			continue
		}
		out = append(out, valueOf(p))
	}
	return types.EncodeArray(a[1].ArrayDims(), out, c.Format), nil
}

func exists(_ *call.Context, a []types.Datum) (types.Datum, error) {
	_, ok := hstore.Get(a[0].Str(), a[1].Str())
	return types.NewBool(ok), nil
}

func defined(_ *call.Context, a []types.Datum) (types.Datum, error) {
	p, ok := hstore.Get(a[0].Str(), a[1].Str())
	return types.NewBool(ok && !p.Null), nil
}

// count counts the keys of an array that a value has and those that it has not.
func count(c *call.Context, a []types.Datum) (has, lacks int, err error) {
	err = elements(c, a[1], func(key string) {
		if _, ok := hstore.Get(a[0].Str(), key); ok {
			has++
		} else {
			lacks++
		}
	})
	return has, lacks, err
}

func existsAll(c *call.Context, a []types.Datum) (types.Datum, error) {
	_, lacks, err := count(c, a)
	return types.NewBool(lacks == 0), err
}

func existsAny(c *call.Context, a []types.Datum) (types.Datum, error) {
	has, _, err := count(c, a)
	return types.NewBool(has > 0), err
}

func contains(c *call.Context, a []types.Datum) (types.Datum, error) {
	if err := c.Step(hstore.Len(a[0].Str()) + hstore.Len(a[1].Str())); err != nil {
		return types.Null, err
	}
	return types.NewBool(hstore.Contains(a[0].Str(), a[1].Str())), nil
}

func contained(c *call.Context, a []types.Datum) (types.Datum, error) {
	return contains(c, []types.Datum{a[1], a[0]})
}

// listed returns what f takes of each pair.
func listed(c *call.Context, d types.Datum, f func(p hstore.Pair) []types.Datum) ([]types.Datum, error) {
	var out []types.Datum
	for p := range hstore.All(d.Str()) {
		if err := c.Step(1); err != nil {
			return nil, err
		}
		out = append(out, f(p)...)
	}
	return out, nil
}

// arrayOf is an array of what f takes of each pair.
func arrayOf(c *call.Context, d types.Datum, f func(p hstore.Pair) []types.Datum) (types.Datum, error) {
	list, err := listed(c, d, f)
	if err != nil || len(list) == 0 {
		return types.NewArray(nil), err
	}
	return types.EncodeArray([]types.ArrayDim{{Len: int32(len(list)), Lower: 1}}, list, c.Format), nil
}

func keys(c *call.Context, a []types.Datum) (types.Datum, error) {
	return arrayOf(c, a[0], func(p hstore.Pair) []types.Datum { return []types.Datum{types.NewString(p.Key)} })
}

func values(c *call.Context, a []types.Datum) (types.Datum, error) {
	return arrayOf(c, a[0], func(p hstore.Pair) []types.Datum { return []types.Datum{valueOf(p)} })
}

// both are the key and the value of a pair.
func both(p hstore.Pair) []types.Datum { return []types.Datum{types.NewString(p.Key), valueOf(p)} }

func toArray(c *call.Context, a []types.Datum) (types.Datum, error) { return arrayOf(c, a[0], both) }

// toMatrix returns an array of the pairs.
func toMatrix(c *call.Context, a []types.Datum) (types.Datum, error) {
	list, err := listed(c, a[0], both)
	if err != nil || len(list) == 0 {
		return types.NewArray(nil), err
	}
	return types.EncodeArray([]types.ArrayDim{{Len: int32(len(list) / 2), Lower: 1}, {Len: 2, Lower: 1}}, list, c.Format), nil
}

// rowsOf is a function of a set for one of an array.
func rowsOf(f call.EvalFunc) call.SRFFunc {
	return func(c *call.Context, a []types.Datum) (call.RowIterator, error) {
		d, err := f(c, a)
		if err != nil {
			return nil, err
		}
		return call.NewColumn(d.Array().Elems), nil
	}
}

func each(c *call.Context, a []types.Datum) (call.RowIterator, error) {
	var rows [][]types.Datum
	for p := range hstore.All(a[0].Str()) {
		if err := c.Step(1); err != nil {
			return nil, err
		}
		rows = append(rows, both(p))
	}
	return call.NewRows(rows), nil
}
