package numfuncs

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/builtin/decimal"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

func seriesFunctions() []*call.Overload {
	return []*call.Overload{
		call.SRF("generate_series(int4,int4) setof int4", generateInts), call.SRF("generate_series(int4,int4,int4) setof int4", generateInts),
		call.SRF("generate_series(int8,int8) setof int8", generateInts), call.SRF("generate_series(int8,int8,int8) setof int8", generateInts),
		call.SRF("generate_series(numeric,numeric) setof numeric", generateNumerics), call.SRF("generate_series(numeric,numeric,numeric) setof numeric", generateNumerics),
	}
}

// ErrZeroStep is 22023 for a series that gets nowhere.
var ErrZeroStep = pgerr.New(pgerr.InvalidParameterValue, "step size cannot equal zero")

// intSeries counts from next to stop, both included.
type intSeries struct {
	next, stop, step int64
	done             bool
	row              [1]types.Datum
}

// NewSeries counts from one number to another in steps, both included.
func NewSeries(from, to, step int64) call.RowIterator {
	return &intSeries{next: from, stop: to, step: step}
}

// Next implements RowIterator.
func (s *intSeries) Next() ([]types.Datum, bool, error) {
	if s.done || s.step > 0 && s.next > s.stop || s.step < 0 && s.next < s.stop {
		return nil, false, nil
	}
	s.row[0] = types.NewInt(s.next)
	n := s.next + s.step
	s.done = (n > s.next) != (s.step > 0) // overflow
	s.next = n
	return s.row[:], true, nil
}

func generateInts(_ *call.Context, a []types.Datum) (call.RowIterator, error) {
	s := &intSeries{next: a[0].Int(), stop: a[1].Int(), step: call.IntArg(a, 2, 1)}
	if s.step == 0 {
		return nil, call.Fail(ErrZeroStep)
	}
	return s, nil
}

type numericSeries struct {
	c                *call.Context
	next, stop, step types.Datum
	row              [1]types.Datum
}

// Next implements RowIterator.
func (s *numericSeries) Next() ([]types.Datum, bool, error) {
	if types.Compare(s.next, s.stop)*s.step.DecimalSign() > 0 {
		return nil, false, nil
	}
	// Numbers of many digits take as many steps; what is kept of the others has no length.
	if err := s.c.Step(len(s.next.Str()) + len(s.step.Str())); err != nil {
		return nil, false, err
	}
	s.row[0] = s.next
	n, err := decimal.Add(s.next, s.step)
	if err != nil { // no numeric lies beyond, so the series ends
		n = decimal.InfinityOf(s.step.DecimalSign())
	}
	s.next = n
	return s.row[:], true, nil
}

func generateNumerics(c *call.Context, a []types.Datum) (call.RowIterator, error) {
	s := &numericSeries{c: c, next: a[0], stop: a[1], step: decimal.FromInt(1)}
	if len(a) == 3 {
		s.step = a[2]
	}
	for i, name := range []string{"start", "stop", "step size"} {
		d := []types.Datum{s.next, s.stop, s.step}[i]
		what := "infinity"
		if d.IsNaN() {
			what = "NaN"
		}
		if decimal.IsSpecial(d) {
			word := name + " value"
			if i == 2 {
				word = name
			}
			return nil, pgerr.New(pgerr.InvalidParameterValue, "%s cannot be %s", word, what)
		}
	}
	if s.step.DecimalSign() == 0 {
		return nil, call.Fail(ErrZeroStep)
	}
	return s, nil
}
