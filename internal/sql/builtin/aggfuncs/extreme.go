package aggfuncs

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/builtin/comparefuncs"
	"github.com/lichendb/lichen/internal/sql/types"
)

// extremeAggregates declares min and max.
func extremeAggregates() []*call.Aggregate {
	cmps := map[string]comparefuncs.CompareFunc{
		"int2": comparefuncs.CompareInts, "int4": comparefuncs.CompareInts, "int8": comparefuncs.CompareInts, "oid": comparefuncs.CompareInts,
		"date": comparefuncs.CompareInts, "time": comparefuncs.CompareInts, "timestamp": comparefuncs.CompareInts, "timestamptz": comparefuncs.CompareInts,
		"float4": comparefuncs.CompareFloats, "float8": comparefuncs.CompareFloats, "text": comparefuncs.CompareStrs, "bpchar": comparefuncs.CompareBpchars,
	}
	var all []*call.Aggregate
	for _, t := range []string{"int2", "int4", "int8", "oid", "float4", "float8", "numeric", "date", "time", "timetz",
		"timestamp", "timestamptz", "interval", "text", "bpchar", "anyarray", "anyenum", "inet", "money", "xid8", "pg_lsn", "tid", "citext"} {
		cmp := cmps[t]
		for _, name := range []string{"min", "max"} {
			sign := 1
			if name == "min" {
				sign = -1
			}
			a := call.Agg(name+"("+t+") "+t, func(ts []*types.T) call.Accumulator {
				acc := &extremeAcc{sign: sign, cmp: cmp, first: t == "bpchar"}
				if cmp == nil {
					acc.cmp = comparefuncs.CompareAs(ts[0])
				}
				return acc
			})
			if a.IgnoresDistinct(); looksDiffer[t] {
				a.OrderedTies()
			}
			all = append(all, a)
		}
	}
	return all
}

// looksDiffer are the types that have values which are equal and look different.
var looksDiffer = map[string]bool{"float4": true, "float8": true, "numeric": true, "interval": true, "bpchar": true, "anyarray": true, "citext": true}

// extremeAcc is min (sign -1) or max (sign 1). Of values that are equal and look different,
// such as 0 and -0, it is the last, or the first.
type extremeAcc struct {
	sign  int
	first bool
	cmp   comparefuncs.CompareFunc
	best  types.Datum
}

// Add implements Accumulator.
func (a *extremeAcc) Add(c *call.Context, args []types.Datum) error {
	a.add(c, args[0])
	return nil
}

func (a *extremeAcc) add(c *call.Context, d types.Datum) {
	if d.IsNull() {
		return
	}
	if a.best.IsNull() {
		a.best = d
		return
	}
	if n := a.cmp(c, d, a.best) * a.sign; n > 0 || n == 0 && !a.first {
		a.best = d
	}
}

// Result implements Accumulator.
func (a *extremeAcc) Result(*call.Context) (types.Datum, error) { return a.best, nil }

// Reset implements Accumulator.
func (a *extremeAcc) Reset() { a.best = types.Null }

// Merge implements Accumulator.
func (a *extremeAcc) Merge(other call.Accumulator) error {
	a.add(&call.Context{}, call.Mergeable[*extremeAcc](other).best)
	return nil
}

// SizeBytes implements Accumulator.
func (a *extremeAcc) SizeBytes() int64 { return call.AccumulatorBytes + int64(len(a.best.Str())) }

// bitAggregates declares the aggregates that fold integers or booleans.
func bitAggregates() []*call.Aggregate {
	fold := func(f func(a, b int64) int64) func([]*types.T) call.Accumulator {
		return func([]*types.T) call.Accumulator { return &foldAcc{f: f} }
	}
	and := fold(func(a, b int64) int64 { return a & b })
	or := fold(func(a, b int64) int64 { return a | b })
	xor := fold(func(a, b int64) int64 { return a ^ b })
	boolean := func(n int64) types.Datum { return types.NewBool(n != 0) }
	bools := func(all bool) func([]*types.T) call.Accumulator {
		return func([]*types.T) call.Accumulator {
			return &foldAcc{out: boolean, f: func(a, b int64) int64 {
				if all {
					return a & b
				}
				return a | b
			}}
		}
	}
	res := []*call.Aggregate{
		call.Agg("bool_and(bool) bool", bools(true)).IgnoresDistinct(), call.Agg("every(bool) bool", bools(true)).IgnoresDistinct(),
		call.Agg("bool_or(bool) bool", bools(false)).IgnoresDistinct(),
	}
	for _, t := range []string{"int2", "int4", "int8"} {
		res = append(res, call.Agg("bit_and("+t+") "+t, and).IgnoresDistinct(), call.Agg("bit_or("+t+") "+t, or).IgnoresDistinct(),
			call.Agg("bit_xor("+t+") "+t, xor))
	}
	return res
}

// foldAcc combines values two by two.
type foldAcc struct {
	f   func(a, b int64) int64
	out func(n int64) types.Datum // nil: an integer
	n   int64
	any bool
}

// Add implements Accumulator.
func (a *foldAcc) Add(_ *call.Context, args []types.Datum) error {
	if !args[0].IsNull() {
		a.add(args[0].Int())
	}
	return nil
}

func (a *foldAcc) add(n int64) {
	if a.any {
		n = a.f(a.n, n)
	}
	a.n, a.any = n, true
}

// Result implements Accumulator.
func (a *foldAcc) Result(*call.Context) (types.Datum, error) {
	switch {
	case !a.any:
		return types.Null, nil
	case a.out != nil:
		return a.out(a.n), nil
	}
	return types.NewInt(a.n), nil
}

// Reset implements Accumulator.
func (a *foldAcc) Reset() { a.n, a.any = 0, false }

// Merge implements Accumulator.
func (a *foldAcc) Merge(other call.Accumulator) error {
	if b := call.Mergeable[*foldAcc](other); b.any {
		a.add(b.n)
	}
	return nil
}

// SizeBytes implements Accumulator.
func (a *foldAcc) SizeBytes() int64 { return call.AccumulatorBytes }
