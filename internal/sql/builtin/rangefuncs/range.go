package rangefuncs

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/builtin/comparefuncs"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Ranges returns a range or multirange as its ranges, in order and apart from each other.
func Ranges(c *call.Context, d types.Datum) []types.Range {
	if d.Family() == types.MultirangeFamily {
		return d.Multirange(c.Format)
	}
	if r := d.Range(); !r.Empty {
		return []types.Range{r}
	}
	return nil
}

func rangeContains(a, b types.Range) bool {
	return b.Empty || !a.Empty && types.CompareLower(a.Lower, b.Lower) <= 0 && types.CompareUpper(a.Upper, b.Upper) >= 0
}

func rangeOverlaps(a, b types.Range) bool {
	return !a.Empty && !b.Empty && types.CompareLowerUpper(a.Lower, b.Upper) <= 0 && types.CompareLowerUpper(b.Lower, a.Upper) <= 0
}

// rangesContain reports whether every range of b is inside of one of a.
func rangesContain(c *call.Context, a, b []types.Range) bool {
	for _, y := range b {
		for len(a) > 0 && endsBefore(a[0], y) && !c.Format.Stopped(1) {
			a = a[1:]
		}
		if len(a) == 0 || !rangeContains(a[0], y) || c.Format.Stopped(1) {
			return false
		}
	}
	return true
}

func rangesOverlap(c *call.Context, a, b []types.Range) bool {
	for len(a) > 0 && len(b) > 0 && !c.Format.Stopped(1) {
		switch {
		case endsBefore(a[0], b[0]):
			a = a[1:]
		case endsBefore(b[0], a[0]):
			b = b[1:]
		default:
			return true
		}
	}
	return false
}

func containsValue(c *call.Context, a []types.Range, d types.Datum) bool {
	p := types.Bound{D: d, Incl: true}
	for _, r := range a {
		if c.Format.Stopped(1) {
			return false
		}
		if !r.Empty && types.CompareLowerUpper(r.Lower, p) <= 0 && types.CompareLowerUpper(p, r.Upper) <= 0 {
			return true
		}
	}
	return false
}

// first and last are the outermost ranges.
func first(a []types.Range) types.Range { return a[0] }
func last(a []types.Range) types.Range  { return a[len(a)-1] }

// endsBefore reports whether a lies entirely to the left of b; neither is empty.
func endsBefore(a, b types.Range) bool { return types.CompareLowerUpper(b.Lower, a.Upper) > 0 }

// rangesBefore reports whether a lies entirely to the left of b.
func rangesBefore(_ *call.Context, a, b []types.Range) bool {
	return len(a) > 0 && len(b) > 0 && endsBefore(last(a), first(b))
}

func rangesAdjacent(_ *call.Context, a, b []types.Range) bool {
	return len(a) > 0 && len(b) > 0 &&
		(types.BoundsAdjacent(last(a).Upper, first(b).Lower) || types.BoundsAdjacent(last(b).Upper, first(a).Lower))
}

// Intersect returns what two multiranges have in common.
func Intersect(c *call.Context, a, b []types.Range) []types.Range {
	var out []types.Range
	for len(a) > 0 && len(b) > 0 && !c.Format.Stopped(1) {
		x, y := a[0], b[0]
		if types.CompareUpper(x.Upper, y.Upper) < 0 {
			a = a[1:]
		} else {
			b = b[1:]
		}
		if rangeOverlaps(x, y) {
			out = append(out, common(x, y))
		}
	}
	return out
}

// common returns what two ranges that overlap have in common.
func common(x, y types.Range) types.Range {
	if types.CompareLower(y.Lower, x.Lower) > 0 {
		x.Lower = y.Lower
	}
	if types.CompareUpper(y.Upper, x.Upper) < 0 {
		x.Upper = y.Upper
	}
	return x
}

// flip makes the bound on the other side of the same point.
func flip(b types.Bound) types.Bound { b.Incl = !b.Incl; return b }

// subtract returns what of the multirange a is not in b.
func subtract(c *call.Context, a, b []types.Range) []types.Range {
	var out []types.Range
	for _, x := range a {
		rest := true // something of x is left
		for rest && len(b) > 0 && !endsBefore(x, b[0]) && !c.Format.Stopped(1) {
			y := b[0]
			if !endsBefore(y, x) && types.CompareLower(x.Lower, y.Lower) < 0 {
				out = append(out, types.Range{Lower: x.Lower, Upper: flip(y.Lower)})
			}
			if rest = types.CompareUpper(x.Upper, y.Upper) > 0; !rest {
				break // y may reach into the next range
			}
			if b = b[1:]; !endsBefore(y, x) {
				x.Lower = flip(y.Upper)
			}
		}
		if c.Format.Stopped(1) {
			return nil
		}
		if rest {
			out = append(out, x)
		}
	}
	return out
}

func rangeOperators() []*call.Overload {
	var all []*call.Overload
	pairs := func(name string, f func(c *call.Context, a, b []types.Range) bool) {
		for _, l := range []string{"anyrange", "anymultirange"} {
			for _, r := range []string{"anyrange", "anymultirange"} {
				all = append(all, call.Op(l+" "+name+" "+r+" bool", func(c *call.Context, a []types.Datum) (types.Datum, error) {
					return types.NewBool(f(c, Ranges(c, a[0]), Ranges(c, a[1]))), nil
				}))
			}
		}
	}
	pairs("&&", rangesOverlap)
	pairs("@>", rangesContain)
	pairs("<@", func(c *call.Context, a, b []types.Range) bool { return rangesContain(c, b, a) })
	pairs("<<", rangesBefore)
	pairs(">>", func(c *call.Context, a, b []types.Range) bool { return rangesBefore(c, b, a) })
	pairs("&<", func(_ *call.Context, a, b []types.Range) bool {
		return len(a) > 0 && len(b) > 0 && types.CompareUpper(last(a).Upper, last(b).Upper) <= 0
	})
	pairs("&>", func(_ *call.Context, a, b []types.Range) bool {
		return len(a) > 0 && len(b) > 0 && types.CompareLower(first(a).Lower, first(b).Lower) >= 0
	})
	pairs("-|-", rangesAdjacent)
	for _, t := range []string{"anyrange", "anymultirange"} {
		all = append(all, comparefuncs.SixOperators(t, t, comparefuncs.CompareDatums)...)
		all = append(all,
			call.Op(t+" @> anyelement bool", func(c *call.Context, a []types.Datum) (types.Datum, error) {
				return types.NewBool(containsValue(c, Ranges(c, a[0]), a[1])), nil
			}),
			call.Op("anyelement <@ "+t+" bool", func(c *call.Context, a []types.Datum) (types.Datum, error) {
				return types.NewBool(containsValue(c, Ranges(c, a[1]), a[0])), nil
			}))
	}
	multi := func(f func(c *call.Context, a, b []types.Range) []types.Range) call.EvalFunc {
		return func(c *call.Context, a []types.Datum) (types.Datum, error) {
			return types.NewMultirange(f(c, Ranges(c, a[0]), Ranges(c, a[1])), c.Format), nil
		}
	}
	return append(all,
		call.Op("anyrange + anyrange anyrange", rangeUnion),
		call.OpBind("anyrange * anyrange anyrange", bindIntersect),
		call.OpBind("anyrange - anyrange anyrange", bindRangeMinus),
		call.Op("anymultirange + anymultirange anymultirange", multi(func(_ *call.Context, a, b []types.Range) []types.Range {
			return append(append([]types.Range(nil), a...), b...)
		})),
		call.Op("anymultirange * anymultirange anymultirange", multi(Intersect)),
		call.Op("anymultirange - anymultirange anymultirange", multi(subtract)))
}

func rangeUnion(_ *call.Context, args []types.Datum) (types.Datum, error) {
	a, b := args[0].Range(), args[1].Range()
	switch {
	case a.Empty:
		return args[1], nil
	case b.Empty:
		return args[0], nil
	}
	m := types.MergeRanges([]types.Range{a, b}, nil)
	if len(m) > 1 {
		return types.Null, pgerr.New(pgerr.DataException, "result of range union would not be contiguous")
	}
	return types.RangeDatum(m[0]), nil
}

func bindIntersect(b call.Binding) (call.EvalFunc, error) {
	t := b.Types[0]
	return func(c *call.Context, a []types.Datum) (types.Datum, error) {
		out := Intersect(c, Ranges(c, a[0]), Ranges(c, a[1]))
		if len(out) == 0 {
			return types.RangeDatum(types.EmptyRange), nil
		}
		return types.NewRange(t, out[0])
	}, nil
}

func bindRangeMinus(b call.Binding) (call.EvalFunc, error) {
	t := b.Types[0]
	return func(c *call.Context, a []types.Datum) (types.Datum, error) {
		out := subtract(c, Ranges(c, a[0]), Ranges(c, a[1]))
		switch len(out) {
		case 0:
			return types.RangeDatum(types.EmptyRange), nil
		case 1:
			return types.NewRange(t, out[0])
		}
		return types.Null, pgerr.New(pgerr.DataException, "result of range difference would not be contiguous")
	}, nil
}

// rangeFlags reads the bounds argument of a constructor.
func rangeFlags(d types.Datum) (lower, upper bool, err error) {
	if d.IsNull() {
		return false, false, pgerr.New(pgerr.DataException, "range constructor flags argument must not be null")
	}
	switch d.Str() {
	case "[)":
		return true, false, nil
	case "[]":
		return true, true, nil
	case "()":
		return false, false, nil
	case "(]":
		return false, true, nil
	}
	return false, false, pgerr.New(pgerr.SyntaxError, "invalid range bound flags").
		WithHint("Valid values are \"[]\", \"[)\", \"(]\", and \"()\".")
}

func rangeConstructors() []*call.Overload {
	var all []*call.Overload
	for _, t := range []*types.T{types.Int4Range, types.Int8Range, types.NumRange, types.TSRange, types.TSTZRange, types.DateRange} {
		m, _ := types.MultirangeOf(t)
		all = append(append(all, RangeConstructors(t)...), MultirangeConstructors(m)...)
	}
	return all
}

// RangeConstructors are the functions that make ranges of a type.
func RangeConstructors(t *types.T) []*call.Overload {
	eval := func(_ *call.Context, a []types.Datum) (types.Datum, error) {
		v := types.Range{Lower: types.Bound{D: a[0], Inf: a[0].IsNull(), Incl: true}, Upper: types.Bound{D: a[1], Inf: a[1].IsNull()}}
		if len(a) == 3 {
			var err error
			if v.Lower.Incl, v.Upper.Incl, err = rangeFlags(a[2]); err != nil {
				return types.Null, err
			}
		}
		return types.NewRange(t, v)
	}
	sub := t.Sub.WithTypmod(-1)
	return []*call.Overload{
		{Name: t.Name, Args: []*types.T{sub, sub}, Ret: t, Eval: eval},
		{Name: t.Name, Args: []*types.T{sub, sub, types.Text}, Ret: t, Eval: eval},
	}
}

// MultirangeConstructors are the functions that make multiranges of a type.
func MultirangeConstructors(m *types.T) []*call.Overload {
	empty := func(*call.Context, []types.Datum) (types.Datum, error) { return types.NewMultirange(nil, nil), nil }
	eval := func(c *call.Context, a []types.Datum) (types.Datum, error) {
		var rs []types.Range
		for _, d := range a {
			if d.IsNull() {
				return types.Null, pgerr.New(pgerr.NullValueNotAllowed, "multirange values cannot contain null members")
			}
			rs = append(rs, Ranges(c, d)...)
		}
		return types.NewMultirange(rs, c.Format), nil
	}
	return []*call.Overload{
		{Name: m.Name, Ret: m, Strict: true, Eval: empty},
		{Name: m.Name, Args: []*types.T{m.Sub}, Ret: m, Strict: true, Eval: eval},
		{Name: m.Name, Args: []*types.T{m.Sub}, Variadic: true, Ret: m, Eval: eval},
	}
}

func rangeFunctions() []*call.Overload {
	all := rangeConstructors()
	bound := func(f func(rs []types.Range) types.Bound) call.EvalFunc {
		return func(c *call.Context, a []types.Datum) (types.Datum, error) {
			rs := Ranges(c, a[0])
			if len(rs) == 0 {
				return types.Null, nil
			}
			if b := f(rs); !b.Inf {
				return b.D, nil
			}
			return types.Null, nil
		}
	}
	flag := func(f func(rs []types.Range) bool) call.EvalFunc {
		return func(c *call.Context, a []types.Datum) (types.Datum, error) {
			rs := Ranges(c, a[0])
			return types.NewBool(len(rs) > 0 && f(rs)), nil
		}
	}
	for _, t := range []string{"anyrange", "anymultirange"} {
		all = append(all,
			call.Fn("lower("+t+") anyelement", bound(func(rs []types.Range) types.Bound { return first(rs).Lower })),
			call.Fn("upper("+t+") anyelement", bound(func(rs []types.Range) types.Bound { return last(rs).Upper })),
			call.Fn("isempty("+t+") bool", func(c *call.Context, a []types.Datum) (types.Datum, error) {
				return types.NewBool(len(Ranges(c, a[0])) == 0), nil
			}),
			call.Fn("lower_inc("+t+") bool", flag(func(rs []types.Range) bool { return first(rs).Lower.Incl })),
			call.Fn("upper_inc("+t+") bool", flag(func(rs []types.Range) bool { return last(rs).Upper.Incl })),
			call.Fn("lower_inf("+t+") bool", flag(func(rs []types.Range) bool { return first(rs).Lower.Inf })),
			call.Fn("upper_inf("+t+") bool", flag(func(rs []types.Range) bool { return last(rs).Upper.Inf })))
	}
	return append(all,
		call.Fn("range_merge(anyrange,anyrange) anyrange", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			return MergeAll(c, append(Ranges(c, a[0]), Ranges(c, a[1])...)), nil
		}),
		call.Fn("range_merge(anymultirange) anyrange", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			return MergeAll(c, Ranges(c, a[0])), nil
		}),
		call.Fn("multirange(anyrange) anymultirange", func(c *call.Context, a []types.Datum) (types.Datum, error) {
			return types.NewMultirange(Ranges(c, a[0]), c.Format), nil
		}),
		call.SRF("unnest(anymultirange) setof anyrange", func(c *call.Context, a []types.Datum) (call.RowIterator, error) {
			var out []types.Datum
			for _, r := range Ranges(c, a[0]) {
				if err := c.Step(1); err != nil {
					return nil, err
				}
				out = append(out, types.RangeDatum(r))
			}
			return call.NewColumn(out), nil
		}))
}

// MergeAll returns the smallest range that holds all of rs.
func MergeAll(c *call.Context, rs []types.Range) types.Datum {
	if rs = types.MergeRanges(rs, c.Format); len(rs) == 0 {
		return types.RangeDatum(types.EmptyRange)
	}
	return types.RangeDatum(types.Range{Lower: first(rs).Lower, Upper: last(rs).Upper})
}
