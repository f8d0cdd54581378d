package aggfuncs

import (
	"math"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/builtin/numfuncs"
	"github.com/lichendb/lichen/internal/sql/types"
)

// regression holds the sums of a linear regression of y over x, by the method
// of Youngs and Cramer.
type regression struct {
	n, sx, sxx, sy, syy, sxy float64
}

func (r *regression) add(y, x float64) error {
	before := *r
	old := r.n
	r.n++
	r.sx += x
	r.sy += y
	if old == 0 {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			r.sxx, r.sxy = types.NaN(), types.NaN()
		}
		if math.IsNaN(y) || math.IsInf(y, 0) {
			r.syy, r.sxy = types.NaN(), types.NaN()
		}
		return nil
	}
	tx, ty, scale := x*r.n-r.sx, y*r.n-r.sy, 1/(r.n*old)
	r.sxx += tx * tx * scale
	r.syy += ty * ty * scale
	r.sxy += tx * ty * scale
	return r.settle(&before, y, x)
}

// settle refuses sums that became infinite by finite inputs. An infinite input
// makes the sums of squares and products that it is part of NaN.
func (r *regression) settle(before *regression, y, x float64) error {
	inf := func(f float64) bool { return math.IsInf(f, 0) }
	finiteX, finiteY := !inf(before.sx) && !inf(x), !inf(before.sy) && !inf(y)
	if finiteX && (inf(r.sx) || inf(r.sxx)) || finiteY && (inf(r.sy) || inf(r.syy)) || finiteX && finiteY && inf(r.sxy) {
		return call.Fail(numfuncs.ErrFloatOverflow)
	}
	for _, sum := range []*float64{&r.sxx, &r.syy, &r.sxy} {
		if inf(*sum) {
			*sum = types.NaN()
		}
	}
	return nil
}

func (r *regression) merge(o *regression) {
	switch {
	case o.n == 0:
		return
	case r.n == 0:
		*r = *o
		return
	}
	n := r.n + o.n
	dx, dy := r.sx/r.n-o.sx/o.n, r.sy/r.n-o.sy/o.n
	r.sxx += o.sxx + r.n*o.n*dx*dx/n
	r.syy += o.syy + r.n*o.n*dy*dy/n
	r.sxy += o.sxy + r.n*o.n*dx*dy/n
	r.n, r.sx, r.sy = n, r.sx+o.sx, r.sy+o.sy
}

// regressionResults are the aggregates over two columns; ok false yields NULL.
var regressionResults = []struct {
	name string
	f    func(r *regression) (v float64, ok bool)
}{
	{"regr_sxx", func(r *regression) (float64, bool) { return r.sxx, true }},
	{"regr_syy", func(r *regression) (float64, bool) { return r.syy, true }},
	{"regr_sxy", func(r *regression) (float64, bool) { return r.sxy, true }},
	{"regr_avgx", func(r *regression) (float64, bool) { return r.sx / r.n, true }},
	{"regr_avgy", func(r *regression) (float64, bool) { return r.sy / r.n, true }},
	{"covar_pop", func(r *regression) (float64, bool) { return r.sxy / r.n, true }},
	{"covar_samp", func(r *regression) (float64, bool) { return r.sxy / (r.n - 1), r.n >= 2 }},
	{"corr", func(r *regression) (float64, bool) {
		return r.sxy / math.Sqrt(r.sxx*r.syy), r.sxx != 0 && r.syy != 0
	}},
	{"regr_r2", func(r *regression) (float64, bool) {
		if r.syy == 0 {
			return 1, r.sxx != 0
		}
		return (r.sxy * r.sxy) / (r.sxx * r.syy), r.sxx != 0
	}},
	{"regr_slope", func(r *regression) (float64, bool) { return r.sxy / r.sxx, r.sxx != 0 }},
	{"regr_intercept", func(r *regression) (float64, bool) { return (r.sy - r.sx*r.sxy/r.sxx) / r.n, r.sxx != 0 }},
}

func regressionAggregates() []*call.Aggregate {
	all := []*call.Aggregate{
		call.Agg("regr_count(float8,float8) int8", func([]*types.T) call.Accumulator { return &regressionAcc{} }),
	}
	for _, k := range regressionResults {
		all = append(all, call.Agg(k.name+"(float8,float8) float8", func([]*types.T) call.Accumulator { return &regressionAcc{f: k.f} }).Ordered())
	}
	return all
}

// regressionAcc is an aggregate of the family; without f it is regr_count.
type regressionAcc struct {
	r regression
	f func(r *regression) (float64, bool)
}

// Add implements Accumulator.
func (a *regressionAcc) Add(_ *call.Context, args []types.Datum) error {
	if args[0].IsNull() || args[1].IsNull() {
		return nil
	}
	return a.r.add(args[0].Float(), args[1].Float())
}

// Result implements Accumulator.
func (a *regressionAcc) Result(*call.Context) (types.Datum, error) {
	if a.f == nil {
		return types.NewInt(int64(a.r.n)), nil
	}
	if a.r.n < 1 {
		return types.Null, nil
	}
	v, ok := a.f(&a.r)
	if !ok {
		return types.Null, nil
	}
	return types.NewFloat(v), nil
}

// Reset implements Accumulator.
func (a *regressionAcc) Reset() { a.r = regression{} }

// Merge implements Accumulator.
func (a *regressionAcc) Merge(other call.Accumulator) error {
	a.r.merge(&call.Mergeable[*regressionAcc](other).r)
	return nil
}

// SizeBytes implements Accumulator.
func (a *regressionAcc) SizeBytes() int64 { return call.AccumulatorBytes }
