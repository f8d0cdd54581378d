package timeseries

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"time"
)

// MaxPoints bounds the points of a Series.
const MaxPoints = 2000

// Request says what Query returns.
type Request struct {
	// Names are those of the series. One that ends in "*" stands for all that begin so.
	Names    []string
	From, To time.Time
	// Step is the time between two points; it is made larger if there would be more than MaxPoints.
	Step time.Duration
	// Rate asks for what counters grow by per second rather than for their values, by name.
	Rate map[string]bool
}

// Series are the points of one name: a value for each step from the answer's first time on, NaN where there is none.
type Series struct {
	Name   string
	Values []float64
}

// Answer has the series of a Request.
type Answer struct {
	From   time.Time
	Step   time.Duration
	Series []Series
}

// Query returns the points of a time span. A value stands for the mean of the rows of its step; that of a rate for the growth
// since the step before, divided by the time. A counter that has become smaller was reset by a restart.
func (d *DB) Query(ctx context.Context, r Request) (*Answer, error) {
	q, err := newQuery(&r)
	if err != nil {
		return nil, err
	}
	list, err := d.files()
	if err != nil {
		return nil, err
	}
	for i, f := range list {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if f.began.After(r.To) || i+1 < len(list) && list[i+1].began.Before(q.from.Add(-2*Step)) {
			continue
		}
		rd, err := openFile(d.o.FS, f.path)
		switch {
		case errors.Is(err, os.ErrNotExist): // removed meanwhile
		case err != nil:
			q.refused = append(q.refused, err)
		default:
			q.read(rd)
		}
	}
	if len(q.names) == 0 && len(q.refused) > 0 {
		return nil, errors.Join(q.refused...)
	}
	return q.answer(), nil
}

// query is a Request that is being answered.
type query struct {
	r       *Request
	from    time.Time
	step    time.Duration
	points  int
	names   map[string]*points
	refused []error
}

// points are the sums and numbers of a series' rows by step, and the row before of a rate.
type points struct {
	sum   []float64
	count []float64
	rate  bool
	last  float64
	at    time.Time
}

func newQuery(r *Request) (*query, error) {
	if !r.From.Before(r.To) {
		return nil, fmt.Errorf("the time span from %v to %v is empty", r.From.UTC(), r.To.UTC())
	}
	step := max(r.Step, Step)
	if least := r.To.Sub(r.From) / MaxPoints; step < least {
		step = least
	}
	step = step.Round(Step)
	for r.To.Sub(r.From.Truncate(step))/step+1 > MaxPoints {
		step += Step
	}
	from := r.From.Truncate(step)
	return &query{r: r, from: from, step: step, points: int(r.To.Sub(from)/step) + 1, names: map[string]*points{}}, nil
}

// wants reports whether a series is asked for.
func (q *query) wants(name string) bool {
	return slices.ContainsFunc(q.r.Names, func(n string) bool {
		p, prefix := strings.CutSuffix(n, "*")
		return n == name || prefix && strings.HasPrefix(name, p)
	})
}

// read adds the rows of a file.
func (q *query) read(rd *reader) {
	type column struct {
		i int
		p *points
	}
	var cols []column
	for i, n := range rd.names {
		if !q.wants(n) {
			continue
		}
		if q.names[n] == nil {
			q.names[n] = &points{sum: make([]float64, q.points), count: make([]float64, q.points), rate: q.r.Rate[n]}
		}
		cols = append(cols, column{i, q.names[n]})
	}
	for {
		at, row, ok := rd.next()
		if !ok || at.After(q.r.To) {
			return
		}
		if at.Before(q.from.Add(-2 * Step)) {
			continue
		}
		slot := int(math.Floor(float64(at.Sub(q.from)) / float64(q.step)))
		for _, c := range cols {
			c.p.add(slot, at, row[c.i])
		}
	}
}

// maxGap is how far two rows may be apart for a rate between them.
const maxGap = 6 * Step

// add adds a row.
func (p *points) add(slot int, at time.Time, v float64) {
	if !p.rate {
		if slot >= 0 && slot < len(p.sum) && !math.IsNaN(v) {
			p.sum[slot] += v
			p.count[slot]++
		}
		return
	}
	past := at.Sub(p.at)
	if !p.at.IsZero() && past > 0 && past <= maxGap && slot >= 0 && slot < len(p.sum) {
		grown := v - p.last
		if grown < 0 {
			grown = v
		}
		p.sum[slot] += grown
		p.count[slot] += past.Seconds()
	}
	p.last, p.at = v, at
}

func (q *query) answer() *Answer {
	a := &Answer{From: q.from, Step: q.step}
	for name, p := range q.names {
		s := Series{Name: name, Values: make([]float64, q.points)}
		for i := range s.Values {
			s.Values[i] = p.sum[i] / p.count[i] // NaN where there is none
		}
		a.Series = append(a.Series, s)
	}
	slices.SortFunc(a.Series, func(a, b Series) int { return strings.Compare(a.Name, b.Name) })
	return a
}
