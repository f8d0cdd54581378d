package aggregate

import (
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/exec/vecexpr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/vector"
)

// vectorGroup groups rows that come as columns by a hash table.
type vectorGroup struct {
	run      *operator.Run
	src      operator.VectorOperator
	keys     []int
	keyTypes []*types.T
	aggs     []vectorCall
	scalar   bool

	table  rowcontainer.GroupTable
	groups rowcontainer.Store // key values of each group
	// later has the rows of groups that find no memory.
	later  rowcontainer.Partitions
	memory int64          // that groups took at most
	fams   []types.Family // of the input's columns
	known  [vector.BatchRows]uint16
	wide   types.Row
	acc    quota.Account
	batch  vector.Batch
	cols   []*vector.Vector // the keys of the batch
	number [vector.BatchRows]int32
	row    types.Row
	filled bool
	pos    int
	text   rowcontainer.Scratch
}

// vectorCall is an aggregate call over columns.
type vectorCall struct {
	filter vecexpr.Pred
	args   []vecexpr.Expr
	vals   []*vector.Vector
	acc    accumulator
	sel    [vector.BatchRows]uint16
}

// Vectorizable reports whether CompileVectors has an operator for n.
func Vectorizable(n *plan.GroupBy) bool {
	if n.Sets != nil || n.Groupings != nil || n.Phase == plan.FinalGroups {
		return false
	}
	for i := range n.Aggs {
		a := &n.Aggs[i]
		if a.Distinct || len(a.OrderBy) > 0 && !a.Fn.OrderIndependent {
			return false
		}
	}
	return true
}

// CompileVectors compiles a GROUP BY, for which Vectorizable holds, over columns.
func CompileVectors(c *operator.Compiler, n *plan.GroupBy) (operator.Operator, error) {
	src, err := c.Vectors(n.Input)
	if err != nil {
		return nil, err
	}
	cols := n.Input.Props().Cols
	s := expr.ScopeOf(cols)
	g := &vectorGroup{run: c.Run, src: src, scalar: n.Scalar}
	for i := range cols {
		g.fams = append(g.fams, cols[i].Type.Family)
	}
	if g.keys, err = s.Positions(n.Keys); err != nil {
		return nil, err
	}
	g.keyTypes = rowcontainer.ColTypes(cols, g.keys)
	g.table = rowcontainer.NewGroupTable(g.keyTypes)
	g.cols, g.row = make([]*vector.Vector, len(g.keys)), make(types.Row, len(g.keys))
	vc := vecexpr.Compiler{Rows: &c.Compiler, Scope: s}
	for i := range n.Aggs {
		call, err := newVectorCall(c, vc, &n.Aggs[i])
		if err != nil {
			return nil, err
		}
		g.aggs = append(g.aggs, call)
	}
	if n.Ordered {
		return newVectorOrdered(g), nil
	}
	return g, nil
}

func newVectorCall(c *operator.Compiler, vc vecexpr.Compiler, n *plan.Agg) (v vectorCall, err error) {
	if v.filter, err = vc.Pred(n.Filter); err != nil {
		return v, err
	}
	for _, e := range n.Args {
		x, err := vc.Expr(e)
		if err != nil {
			return v, err
		}
		v.args = append(v.args, x)
	}
	v.vals = make([]*vector.Vector, len(n.Args))
	v.acc = newAccumulator(c.Run, n)
	return v, nil
}

// Open implements Operator.
func (g *vectorGroup) Open() error {
	g.reset()
	g.later.Open(&g.run.State, len(g.fams))
	g.memory = 0
	g.filled = false
	return g.src.Open()
}

// Close implements Operator.
func (g *vectorGroup) Close() {
	g.src.Close()
	g.release()
	g.later.Close()
}

// reset begins without groups.
func (g *vectorGroup) reset() {
	g.release()
	g.acc.Init(g.run.Mem)
	g.table.Open(&g.run.State)
	g.groups.Open(&g.run.State, len(g.keys))
	g.acc.AsksForRoom()
	g.groups.Acc.AsksForRoom()
	g.pos = 0
}

func (g *vectorGroup) release() {
	g.table.Close()
	g.groups.Close()
	for i := range g.aggs {
		g.aggs[i].acc.reset()
	}
	g.acc.Close()
}

// Next implements Operator.
func (g *vectorGroup) Next(b *rowcontainer.Batch) error {
	b.Clear()
	g.text.Reset()
	if !g.filled {
		if err := g.fill(); err != nil {
			return err
		}
		g.filled = true
	}
	for g.pos == g.len() {
		if more, err := g.fillLater(); err != nil || !more {
			return err
		}
	}
	for ; g.pos < g.len() && !b.Full(); g.pos++ {
		row := b.Add()
		if !g.scalar {
			copy(row, g.groups.Rows[g.pos])
		}
		for i := range g.aggs {
			d, err := g.aggs[i].acc.result(g.pos)
			if err != nil {
				return err
			}
			row[len(g.keys)+i] = d
		}
	}
	return nil
}

// len returns how many groups there are: without keys one, even for no input.
func (g *vectorGroup) len() int {
	if g.scalar {
		return 1
	}
	return g.table.Len()
}

// fill reads the whole input.
func (g *vectorGroup) fill() error {
	if g.scalar {
		if err := g.grow(1); err != nil {
			return err
		}
	}
	for {
		if err := g.run.Canceled(); err != nil {
			return err
		}
		if err := g.src.Next(&g.batch); err != nil {
			return err
		}
		if g.batch.N == 0 {
			g.src.Close()
			return nil
		}
		if err := g.add(&g.batch); err != nil {
			return err
		}
	}
}

// HashMethod says how the groups went through temporary files, if they did: those that found memory at
// once are a batch too.
func (g *vectorGroup) HashMethod() plan.HashMethod {
	written, disk := g.later.Written()
	if written == 0 {
		return plan.HashMethod{}
	}
	return plan.HashMethod{Batches: written + 1, Memory: g.memory, Disk: disk}
}

// fillLater takes the next rows that found no memory into groups; false if there are none.
func (g *vectorGroup) fillLater() (bool, error) {
	g.memory = max(g.memory, g.used())
	rows, err := g.later.Next()
	if rows == nil || err != nil {
		return false, err
	}
	g.reset()
	r := rowcontainer.NewVectorReader(rows, g.fams)
	for {
		if err := g.run.Canceled(); err != nil {
			return false, err
		}
		if err := r.Next(&g.batch, g.run.BatchRows); err != nil || g.batch.N == 0 {
			return true, err
		}
		if err := g.add(&g.batch); err != nil {
			return false, err
		}
	}
}

// grow makes room for n groups.
func (g *vectorGroup) grow(n int) error {
	for i := range g.aggs {
		if err := g.aggs[i].acc.grow(n, &g.acc); err != nil {
			return err
		}
	}
	return nil
}

// add takes the rows of a batch into their groups.
func (g *vectorGroup) add(b *vector.Batch) error {
	if !g.scalar {
		if err := g.assign(b); err != nil {
			return err
		}
	}
	f, err := g.take(b)
	if err != nil {
		return err
	}
	return f.Err
}

// take hands the rows of b to the aggregates of their groups. The frame tells which row failed, if one did.
func (g *vectorGroup) take(b *vector.Batch) (f vecexpr.Frame, err error) {
	f = vecexpr.FrameOf(b)
	for i := range g.aggs {
		if err := g.aggs[i].add(&f, g.number[:], &g.acc); err != nil {
			return f, err
		}
	}
	return f, nil
}

// assign finds the group of each row of b.
func (g *vectorGroup) assign(b *vector.Batch) error {
	for i, k := range g.keys {
		g.cols[i] = b.Cols[k]
	}
	if !g.room(b) {
		return g.assignKnown(b)
	}
	fresh, err := g.table.Number(g.cols, b.Sel, g.number[:])
	if err != nil {
		return err
	}
	for _, i := range fresh {
		for c, v := range g.cols {
			g.row[c] = v.Datum(i)
		}
		if _, err := g.groups.Add(g.row); err != nil {
			return err
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	return g.grow(g.table.Len())
}

// room reports whether there is memory for the groups of a batch if all are new.
func (g *vectorGroup) room(b *vector.Batch) bool {
	used := g.used()
	switch {
	case g.later.Active() || g.table.Len() > 0 && g.run.Full(used):
		return false
	case used < growing:
		return true
	}
	// Tables and states double when they are full.
	need := used + 2*vector.SizeOf(g.cols, b.Sel)
	return !g.run.Refused(g.run.Mem.Room(need), used)
}

// growing is what groups take before it is found out for each batch whether there is room.
const growing = 64 << 10

// used is what the groups take.
func (g *vectorGroup) used() int64 { return g.table.Used() + g.groups.Acc.Used() + g.acc.Used() }

// assignKnown finds the group of each row of b that has one, and keeps the others for later.
func (g *vectorGroup) assignKnown(b *vector.Batch) error {
	if err := g.table.Find(g.cols, b.Sel, g.number[:]); err != nil {
		return err
	}
	known := g.known[:0]
	for _, i := range b.Sel {
		if g.number[i] >= 0 {
			known = append(known, i)
			continue
		}
		g.wide = rowcontainer.AppendRow(g.wide[:0], b.Cols, i)
		if err := g.later.Add(g.table.Hash(g.cols, i), g.wide); err != nil {
			return err
		}
	}
	b.Sel = known
	return nil
}

// add takes the rows of f into their groups.
func (c *vectorCall) add(f *vecexpr.Frame, groups []int32, acc *quota.Account) error {
	sel := f.Sel
	part := *f
	if c.filter != nil {
		sel = c.filter.Select(&part, sel, c.sel[:0])
		f.Join(&part)
		part = f.Only(f.Trim(sel))
	}
	for i, x := range c.args {
		c.vals[i] = x.Eval(&part)
	}
	f.Join(&part)
	return c.acc.add(f, part.Sel, groups, c.vals, acc)
}
