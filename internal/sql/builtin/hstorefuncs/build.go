package hstorefuncs

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/hstore"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/casts"
)

func errSubscripts(text string) error { return pgerr.New(pgerr.ArraySubscriptError, "%s", text) }

func errNullKey() error {
	return pgerr.New(pgerr.NullValueNotAllowed, "null value not allowed for hstore key")
}

// made is a value of some pairs.
func made(c *call.Context, pairs []hstore.Pair) (types.Datum, error) {
	size := 0
	for _, p := range pairs {
		if err := c.Step(1); err != nil {
			return types.Null, err
		}
		size += len(p.Key) + len(p.Value)
	}
	if err := c.Reserve(size); err != nil {
		return types.Null, err
	}
	s, err := hstore.Build(pairs)
	return types.NewHstore(s), err
}

// pairOf is a key with a value.
func pairOf(key, value types.Datum) hstore.Pair {
	return hstore.Pair{Key: key.Str(), Value: value.Str(), Null: value.IsNull()}
}

// pairsOf returns the pairs of a value.
func pairsOf(c *call.Context, d types.Datum) ([]hstore.Pair, error) {
	var list []hstore.Pair
	for p := range hstore.All(d.Str()) {
		if err := c.Step(1); err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, nil
}

func fromText(c *call.Context, a []types.Datum) (types.Datum, error) {
	if a[0].IsNull() {
		return types.Null, nil
	}
	return made(c, []hstore.Pair{pairOf(a[0], a[1])})
}

// fromArray makes a value of keys and values in turn, or of an array of pairs.
func fromArray(c *call.Context, a []types.Datum) (types.Datum, error) {
	if err := c.Reserve(len(a[0].Str())); err != nil {
		return types.Null, err
	}
	cast, _ := casts.Find(types.TextArray, types.Hstore)
	return cast.Fn(c.Format, a[0], types.Hstore)
}

// fromArrays makes a value of an array of keys and one of values.
func fromArrays(c *call.Context, a []types.Datum) (types.Datum, error) {
	if a[0].IsNull() {
		return types.Null, nil
	}
	var given []types.Datum
	dims := a[0].ArrayDims()
	if len(dims) > 1 {
		return types.Null, errSubscripts("wrong number of array subscripts")
	}
	if !a[1].IsNull() {
		other := a[1].ArrayDims()
		if len(other) > 1 {
			return types.Null, errSubscripts("wrong number of array subscripts")
		}
		if !slices.Equal(dims, other) {
			return types.Null, errSubscripts("arrays must have same bounds")
		}
		given = a[1].Array().Elems
	}
	var pairs []hstore.Pair
	for i, key := range a[0].ArrayElems() {
		if err := c.Step(1); err != nil {
			return types.Null, err
		}
		if key.IsNull() {
			return types.Null, errNullKey()
		}
		value := types.Null
		if given != nil {
			value = given[i]
		}
		pairs = append(pairs, pairOf(key, value))
	}
	return made(c, pairs)
}

// elements calls f for the elements of an array that are not NULL.
func elements(c *call.Context, array types.Datum, f func(key string)) error {
	for _, d := range array.ArrayElems() {
		if err := c.Step(1); err != nil {
			return err
		}
		if !d.IsNull() {
			f(d.Str())
		}
	}
	return nil
}

// slice returns the pairs with some keys.
func slice(c *call.Context, a []types.Datum) (types.Datum, error) {
	var pairs []hstore.Pair
	err := elements(c, a[1], func(key string) {
		if p, ok := hstore.Get(a[0].Str(), key); ok {
			pairs = append(pairs, p)
		}
	})
	if err != nil {
		return types.Null, err
	}
	return made(c, pairs)
}

// without returns a value without the pairs for which drop holds.
func without(c *call.Context, d types.Datum, drop func(hstore.Pair) bool) (types.Datum, error) {
	pairs, err := pairsOf(c, d)
	if err != nil {
		return types.Null, err
	}
	return made(c, slices.DeleteFunc(pairs, drop))
}

func deleteKey(c *call.Context, a []types.Datum) (types.Datum, error) {
	return without(c, a[0], func(p hstore.Pair) bool { return p.Key == a[1].Str() })
}

func deleteKeys(c *call.Context, a []types.Datum) (types.Datum, error) {
	gone := map[string]bool{}
	if err := elements(c, a[1], func(key string) { gone[key] = true }); err != nil {
		return types.Null, err
	}
	return without(c, a[0], func(p hstore.Pair) bool { return gone[p.Key] })
}

// deletePairs drops the pairs that are the same in the other value.
func deletePairs(c *call.Context, a []types.Datum) (types.Datum, error) {
	gone := map[hstore.Pair]bool{}
	for p := range hstore.All(a[1].Str()) {
		if err := c.Step(1); err != nil {
			return types.Null, err
		}
		gone[p] = true
	}
	return without(c, a[0], func(p hstore.Pair) bool { return gone[p] })
}

// concat adds the pairs of the second value to those of the first one, whose keys they replace.
func concat(c *call.Context, a []types.Datum) (types.Datum, error) {
	first, err := pairsOf(c, a[1])
	if err != nil {
		return types.Null, err
	}
	rest, err := pairsOf(c, a[0])
	if err != nil {
		return types.Null, err
	}
	return made(c, append(first, rest...))
}

// assign is h[key] = value.
func assign(c *call.Context, a []types.Datum) (types.Datum, error) {
	if a[1].IsNull() {
		return types.Null, pgerr.New(pgerr.NullValueNotAllowed, "hstore subscript in assignment must not be null")
	}
	pairs := []hstore.Pair{pairOf(a[1], a[2])}
	if !a[0].IsNull() {
		old, err := pairsOf(c, a[0])
		if err != nil {
			return types.Null, err
		}
		pairs = append(pairs, old...)
	}
	return made(c, pairs)
}
