package intarrayfuncs

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/intquery"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

const extension = "intarray"

// Overloads declares the operators and functions.
func Overloads() []*call.Overload {
	all := slices.Concat(lists(), sets(), queries())
	for _, o := range all {
		o.Extension = extension
	}
	return all
}

// lists are the functions for which the order of the elements matters.
func lists() []*call.Overload {
	return []*call.Overload{
		call.Fn("intset(int4) _int4", func(_ *call.Context, a []types.Datum) (types.Datum, error) { return types.NewArray(a[:1:1]), nil }),
		call.Op("# _int4 int4", count),
		call.Fn("sort(_int4,text) _int4", sorted), call.Fn("sort(_int4) _int4", ascending), call.Fn("sort_asc(_int4) _int4", ascending),
		call.Fn("sort_desc(_int4) _int4", descending), call.Fn("uniq(_int4) _int4", unique),
		call.Op("_int4 # int4 int4", find),
		call.Fn("subarray(_int4,int4,int4) _int4", part), call.Fn("subarray(_int4,int4) _int4", part),
		call.Op("_int4 + int4 _int4", appended), call.Op("_int4 + _int4 _int4", joined), call.Op("_int4 - int4 _int4", without),
	}
}

// sets are the functions for which it does not matter.
func sets() []*call.Overload {
	return []*call.Overload{
		call.Op("_int4 && _int4 bool", overlaps), call.Op("_int4 @> _int4 bool", contains), call.Op("_int4 <@ _int4 bool", contained),
		call.Fn("_int_same(_int4,_int4) bool", same), call.Fn("_int_different(_int4,_int4) bool", different),
		call.Op("_int4 | int4 _int4", withElement), call.Op("_int4 | _int4 _int4", union), call.Op("_int4 - _int4 _int4", subtract),
		call.Op("_int4 & _int4 _int4", intersect),
	}
}

func queries() []*call.Overload {
	return []*call.Overload{
		call.OpBind("_int4 @@ query_int bool", satisfies(0)), call.OpBind("query_int ~~ _int4 bool", satisfies(1)),
		call.Fn("querytree(query_int) text", func(*call.Context, []types.Datum) (types.Datum, error) {
			return types.Null, pgerr.Unsupported("querytree is no longer implemented")
		}),
	}
}

// satisfies makes the operator of a query, with the array at a place among the operands. A constant query is read once.
func satisfies(at int) call.BindFunc {
	apply := func(c *call.Context, q *intquery.Query, array types.Datum) (types.Datum, error) {
		set, err := setOf(c, array)
		if err != nil {
			return types.Null, err
		}
		return types.NewBool(q.Matches(func(n int32) bool {
			_, has := slices.BinarySearch(set, n)
			return has
		})), nil
	}
	return func(b call.Binding) (call.EvalFunc, error) {
		if d, ok := b.Const(1 - at); ok {
			if q, err := intquery.Parse(d.Str(), func(int) error { return nil }); err == nil {
				return func(c *call.Context, a []types.Datum) (types.Datum, error) { return apply(c, q, a[at]) }, nil
			}
		}
		return func(c *call.Context, a []types.Datum) (types.Datum, error) {
			q, err := intquery.Parse(a[1-at].Str(), c.Step)
			if err != nil {
				return types.Null, err
			}
			return apply(c, q, a[at])
		}, nil
	}
}
