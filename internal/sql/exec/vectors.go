package exec

import (
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/exec/gather"
	"github.com/lichendb/lichen/internal/sql/exec/join"
	"github.com/lichendb/lichen/internal/sql/exec/operator"
	"github.com/lichendb/lichen/internal/sql/exec/rowcontainer"
	"github.com/lichendb/lichen/internal/sql/exec/scan"
	"github.com/lichendb/lichen/internal/sql/exec/vecexpr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/vector"
)

// compileVectors compiles a node to an operator that hands up columns, and measures it if there is a
// profile; a node without such an operator is read row by row.
func (c *compiler) compileVectors(n plan.Node) (operator.VectorOperator, error) {
	if err := c.Enter(); err != nil {
		return nil, err
	}
	defer c.Leave()
	op, err := c.bareVectors(n)
	if err == nil && op == nil {
		return c.vectorsOfRows(n)
	}
	if c.profile != nil && err == nil {
		op = c.profile.measureVectors(n, op)
	}
	return op, err
}

// bareVectors compiles a node to an operator that nothing measures; nil if there is none for it.
func (c *compiler) bareVectors(n plan.Node) (operator.VectorOperator, error) {
	switch n := n.(type) {
	case *plan.Scan:
		if scan.Vectorizable(n) {
			return scan.CompileVectors(c.Compiler, n)
		}
	case *plan.IndexJoin:
		if scan.VectorizableIndexJoin(n) {
			return scan.CompileVectorIndexJoin(c.Compiler, n)
		}
	case *plan.Filter:
		if once, _ := scan.SplitOneTime(n.Cond, n.Input.Props().Cols); once == nil {
			return c.vectorFilter(n)
		}
	case *plan.Project:
		return c.vectorProject(n)
	case *plan.Gather:
		return gather.Compile(c.Compiler, n)
	case *plan.Join:
		if join.Vectorizable(n) {
			return join.CompileVectors(c.Compiler, n)
		}
	}
	return nil, nil
}

// vectorCompiler compiles expressions over the columns of n.
func (c *compiler) vectorCompiler(n plan.Node) vecexpr.Compiler {
	return vecexpr.Compiler{Rows: &c.Compiler.Compiler, Scope: expr.ScopeOf(n.Props().Cols)}
}

// vectorFilter drops rows.
type vectorFilter struct {
	operator.VectorOperator
	cond vecexpr.Pred
	sel  [vector.BatchRows]uint16
}

func (c *compiler) vectorFilter(n *plan.Filter) (operator.VectorOperator, error) {
	input, err := c.compileVectors(n.Input)
	if err != nil {
		return nil, err
	}
	cond, err := c.vectorCompiler(n.Input).Pred(n.Cond)
	return &vectorFilter{VectorOperator: input, cond: cond}, err
}

// Next implements VectorOperator.
func (o *vectorFilter) Next(b *vector.Batch) error {
	if err := o.VectorOperator.Next(b); err != nil {
		return err
	}
	vecexpr.Select(b, o.cond, o.sel[:0])
	return nil
}

// vectorProject computes expressions.
type vectorProject struct {
	operator.VectorOperator
	exprs []vecexpr.Expr
	cols  []*vector.Vector
}

func (c *compiler) vectorProject(n *plan.Project) (operator.VectorOperator, error) {
	input, err := c.compileVectors(n.Input)
	if err != nil {
		return nil, err
	}
	o := &vectorProject{VectorOperator: input, cols: make([]*vector.Vector, len(n.Exprs))}
	vc := c.vectorCompiler(n.Input)
	for _, e := range n.Exprs {
		x, err := vc.Expr(e)
		if err != nil {
			return nil, err
		}
		o.exprs = append(o.exprs, x)
	}
	return o, nil
}

// Next implements VectorOperator.
func (o *vectorProject) Next(b *vector.Batch) error {
	if err := o.VectorOperator.Next(b); err != nil || b.N == 0 {
		return err
	}
	f := vecexpr.FrameOf(b)
	for i, e := range o.exprs {
		o.cols[i] = e.Eval(&f)
	}
	b.Sel, b.Err, b.Cols = f.Sel, f.Err, o.cols
	return nil
}

// rowsOfVectors hands up the rows of an operator over columns.
type rowsOfVectors struct {
	run   *operator.Run
	src   operator.VectorOperator
	batch vector.Batch
	pos   int // in batch.Sel
}

func newRowsOfVectors(r *operator.Run, src operator.VectorOperator) *rowsOfVectors {
	return &rowsOfVectors{run: r, src: src}
}

// Open implements Operator.
func (o *rowsOfVectors) Open() error {
	o.batch.Sel, o.batch.Err, o.pos = nil, nil, 0
	return o.src.Open()
}

// HashMethod is that of the operator over columns, if it has one.
func (o *rowsOfVectors) HashMethod() plan.HashMethod {
	if r, ok := o.src.(hashReporter); ok {
		return r.HashMethod()
	}
	return plan.HashMethod{}
}

// Close implements Operator.
func (o *rowsOfVectors) Close() { o.src.Close() }

// Next implements Operator.
func (o *rowsOfVectors) Next(b *rowcontainer.Batch) error {
	b.Clear()
	for o.pos >= len(o.batch.Sel) {
		if o.batch.Err != nil {
			return o.batch.Err
		}
		if err := o.run.Canceled(); err != nil {
			return err
		}
		if err := o.src.Next(&o.batch); err != nil {
			return err
		}
		if o.pos = 0; o.batch.N == 0 {
			return nil
		}
	}
	for ; o.pos < len(o.batch.Sel) && !b.Full(); o.pos++ {
		row, i := b.Add(), o.batch.Sel[o.pos]
		for c, v := range o.batch.Cols {
			row[c] = v.Datum(i)
		}
	}
	return nil
}

// vectorsOfRows reads an operator row by row.
type vectorsOfRows struct {
	src  *operator.Source
	fams []plan.Column
	cols []*vector.Vector
}

func (c *compiler) vectorsOfRows(n plan.Node) (operator.VectorOperator, error) {
	src, _, err := c.Input(n)
	if err != nil {
		return nil, err
	}
	o := &vectorsOfRows{src: src, fams: n.Props().Cols}
	for range o.fams {
		o.cols = append(o.cols, &vector.Vector{})
	}
	return o, nil
}

// Open implements VectorOperator.
func (o *vectorsOfRows) Open() error { return o.src.Start() }

// Close implements VectorOperator.
func (o *vectorsOfRows) Close() { o.src.Stop() }

// Next implements VectorOperator.
func (o *vectorsOfRows) Next(b *vector.Batch) error {
	b.N, b.Sel, b.Cols, b.Err = 0, nil, o.cols, nil
	ok, err := o.src.Fetch(vector.BatchRows)
	if !ok {
		return err
	}
	in := &o.src.Batch
	b.N, b.Sel, b.Err = in.Len(), vector.All(in.Len()), in.Err
	for c, v := range o.cols {
		v.Reset(o.fams[c].Type.Family, b.N)
		for i := range b.N {
			v.Set(uint16(i), in.Row(i)[c])
		}
	}
	return nil
}
