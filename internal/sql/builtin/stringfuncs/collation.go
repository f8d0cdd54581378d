package stringfuncs

import (
	"strings"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/collation"
	"github.com/lichendb/lichen/internal/sql/types"
)

// The functions of this file are what the planner makes of operations under collations whose
// order is not that of bytes.

func collationFunctions() []*call.Overload {
	key := call.FnBind("collation_key(any,text,bool) bytea", bindCollationKey)
	key.RetType = func(args []*types.T) *types.T {
		if args[0].Elem != nil {
			return types.ByteaArray
		}
		return types.Bytea
	}
	inCase := func(f func(r *collation.Rules, s string, step func(n int) error) (string, error)) call.BindFunc {
		return func(b call.Binding) (call.EvalFunc, error) {
			return withRules(b, func(c *call.Context, r *collation.Rules, a []types.Datum) (types.Datum, error) {
				s := a[0].Str()
				if err := c.Reserve(caseBytes * len(s)); err != nil {
					return types.Null, err
				}
				changed, err := f(r, s, c.Step)
				if err != nil {
					return types.Null, err
				}
				return call.Text(changed)
			})
		}
	}
	return []*call.Overload{
		key,
		call.FnBind("collation_upper(text,text) text", inCase((*collation.Rules).Upper)),
		call.FnBind("collation_lower(text,text) text", inCase((*collation.Rules).Lower)),
		call.FnBind("collation_initcap(text,text) text", inCase((*collation.Rules).Title)),
		call.Fn("collation_least(_bytea,anyarray) anyelement", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			return collatedExtreme(a, -1), nil
		}),
		call.Fn("collation_greatest(_bytea,anyarray) anyelement", func(_ *call.Context, a []types.Datum) (types.Datum, error) {
			return collatedExtreme(a, 1), nil
		}),
	}
}

// withRules makes a function of the rules of the locale that is its second argument, found
// once if that is a constant.
func withRules(b call.Binding, f func(*call.Context, *collation.Rules, []types.Datum) (types.Datum, error)) (call.EvalFunc, error) {
	if d, ok := b.Const(1); ok {
		r, err := collation.Of(d.Str())
		if err != nil {
			return nil, err
		}
		return func(c *call.Context, a []types.Datum) (types.Datum, error) { return f(c, r, a) }, nil
	}
	return func(c *call.Context, a []types.Datum) (types.Datum, error) {
		r, err := collation.Of(a[1].Str())
		if err != nil {
			return types.Null, err
		}
		return f(c, r, a)
	}, nil
}

// keyBytes and caseBytes are how many bytes of memory a collation key, and a text in another case,
// take while they are made, for each of their text.
const (
	keyBytes  = 20
	caseBytes = 2
)

// bindCollationKey makes collation_key(value, locale, whether ties are broken by bytes): what a
// string sorts by, for an array the array of that.
func bindCollationKey(b call.Binding) (call.EvalFunc, error) {
	t := b.Types[0]
	array := t.Elem != nil
	for t.Elem != nil {
		t = t.Elem
	}
	blanks := t.BaseType().Is(types.Bpchar)
	key := func(c *call.Context, r *collation.Rules, d types.Datum, ties bool) (types.Datum, error) {
		s := d.Str()
		if blanks { // they do not count
			s = strings.TrimRight(s, " ")
		}
		if len(s) < collation.LongText {
			return types.NewBytes(string(r.Key(nil, s, ties))), nil
		}
		if err := c.Reserve(keyBytes * len(s)); err != nil {
			return types.Null, err
		}
		k, err := r.LongKey(s, ties, c.Step)
		return types.NewBytes(string(k)), err
	}
	return withRules(b, func(c *call.Context, r *collation.Rules, a []types.Datum) (types.Datum, error) {
		ties := a[2].Bool()
		if !array {
			return key(c, r, a[0], ties)
		}
		arr := a[0].DecodeArray(c.Format)
		keys := make([]types.Datum, len(arr.Elems))
		for i, x := range arr.Elems {
			if err := c.Step(1 + len(x.Str())); err != nil {
				return types.Null, err
			}
			if x.IsNull() {
				continue
			}
			var err error
			if keys[i], err = key(c, r, x, ties); err != nil {
				return types.Null, err
			}
		}
		return types.EncodeArray(arr.Dims, keys, c.Format), nil
	})
}

// collatedExtreme returns the value whose key is the least (sign -1) or greatest.
func collatedExtreme(a []types.Datum, sign int) types.Datum {
	keys, values := a[0].Array().Elems, a[1].Array().Elems
	best := -1
	for i, k := range keys {
		if i < len(values) && !k.IsNull() && (best < 0 || strings.Compare(k.Str(), keys[best].Str())*sign > 0) {
			best = i
		}
	}
	if best < 0 {
		return types.Null
	}
	return values[best]
}
