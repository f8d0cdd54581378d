package aggregate

import (
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/vector"
)

// vectorOrdered groups rows that come as columns and have equal keys next to each other. It keeps no more
// than the groups of one batch; the last of them goes on in the next one.
type vectorOrdered struct {
	vectorGroup
	cmp      []expr.CompareFunc // of the keys; nil for those kept in an int64
	starts   []int32            // where each group begins in the batch, or carriedOver
	last     types.Row          // the key of the group carried over
	complete int                // how many groups can get no more rows
	err      error              // of a row behind them
	drained  bool
}

// carriedOver is the start of a group that began in a batch before.
const carriedOver = -1

// newVectorOrdered makes g, which is compiled, one of ordered input.
func newVectorOrdered(g *vectorGroup) *vectorOrdered {
	o := &vectorOrdered{vectorGroup: *g, last: make(types.Row, len(g.keys))}
	for _, t := range g.keyTypes {
		if vector.KindOf(t.Family) == vector.Ints {
			o.cmp = append(o.cmp, nil)
			continue
		}
		o.cmp = append(o.cmp, g.run.CompareOf(t))
	}
	return o
}

// Open implements Operator.
func (g *vectorOrdered) Open() error {
	g.release()
	g.acc.Init(g.run.Mem)
	g.starts, g.pos, g.complete, g.err, g.drained = g.starts[:0], 0, 0, nil, false
	return g.src.Open()
}

// Next implements Operator.
func (g *vectorOrdered) Next(b *rowcontainer.Batch) error {
	b.Clear()
	for {
		for ; g.pos < g.complete && !b.Full(); g.pos++ {
			if err := g.emit(b.Add()); err != nil {
				return err
			}
		}
		switch {
		case b.Len() > 0:
			return nil // its rows live in the batch that would be replaced
		case g.err != nil:
			return g.err
		case g.drained:
			return nil
		}
		if err := g.advance(); err != nil {
			return err
		}
	}
}

// emit sets row to the group at hand.
func (g *vectorOrdered) emit(row types.Row) error {
	if at := g.starts[g.pos]; at == carriedOver {
		copy(row, g.last)
	} else {
		for c, v := range g.cols {
			row[c] = v.Datum(uint16(at))
		}
	}
	for i := range g.aggs {
		d, err := g.aggs[i].acc.result(g.pos)
		if err != nil {
			return err
		}
		row[len(g.keys)+i] = d
	}
	return nil
}

// advance reads the next batch, whose first rows may belong to the last group.
func (g *vectorOrdered) advance() error {
	if err := g.run.Canceled(); err != nil {
		return err
	}
	g.carry()
	g.pos = 0
	if err := g.src.Next(&g.batch); err != nil {
		return err
	}
	if g.batch.N == 0 {
		g.src.Close()
		g.drained, g.complete = true, len(g.starts)
		return nil
	}
	g.assignRuns()
	if err := g.grow(len(g.starts)); err != nil {
		return err
	}
	f, err := g.take(&g.batch)
	if err != nil {
		return err
	}
	g.err, g.complete = f.Err, max(len(g.starts)-1, 0)
	if f.Err != nil && int(f.At()) < g.batch.N {
		g.complete = int(g.number[f.At()])
	}
	return nil
}

// carry keeps the last group alone.
func (g *vectorOrdered) carry() {
	n := len(g.starts) - 1
	if n < 0 {
		return
	}
	if at := g.starts[n]; at != carriedOver {
		for c, v := range g.cols {
			g.last[c] = rowcontainer.CopyDatum(v.Datum(uint16(at)))
		}
	}
	for i := range g.aggs {
		g.aggs[i].acc.keep(n, &g.acc)
	}
	g.starts = append(g.starts[:0], carriedOver)
}

// assignRuns numbers the groups of the batch's rows.
func (g *vectorOrdered) assignRuns() {
	for i, k := range g.keys {
		g.cols[i] = g.batch.Cols[k]
	}
	before := -1
	for _, i := range g.batch.Sel {
		if len(g.starts) == 0 || !g.continues(before, i) {
			g.starts = append(g.starts, int32(i))
		}
		g.number[i] = int32(len(g.starts) - 1)
		before = int(i)
	}
}

// continues reports whether the row at i has the key of the row at before, or of the group carried over
// if that is negative.
func (g *vectorOrdered) continues(before int, i uint16) bool {
	for c, v := range g.cols {
		if g.cmp[c] == nil && before >= 0 && v.Kind == vector.Ints && !v.Nulls.Any() {
			if v.Ints[before] != v.Ints[i] {
				return false
			}
			continue
		}
		a, b := g.last[c], v.Datum(i)
		if before >= 0 {
			a = v.Datum(uint16(before))
		}
		if a.IsNull() || b.IsNull() {
			if a.IsNull() != b.IsNull() {
				return false
			}
			continue
		}
		if g.cmp[c] == nil && a.Int() != b.Int() || g.cmp[c] != nil && g.cmp[c](a, b) != 0 {
			return false
		}
	}
	return true
}
