package tableaccess

import (
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// derivation computes what a table derives from its rows.
type derivation struct {
	cols  []Setter // generated columns
	virt  []Setter // expressions of indexes, columns that rows do not hold
	conds map[catalog.IndexID]expr.Pred
}

func newDerivation(c *expr.Compiler, t *catalog.Table, d *plan.Derived) (*derivation, error) {
	if d == nil {
		return nil, nil
	}
	s := expr.Scope(d.Cols)
	out := &derivation{conds: map[catalog.IndexID]expr.Pred{}}
	needed := slices.DeleteFunc(slices.Clone(d.Columns), func(sc plan.SetCol) bool { return !computedOnWrite(t, &t.Columns[sc.Ord]) })
	set, err := CompileSetters(c, needed, s)
	if err != nil {
		return nil, err
	}
	for _, x := range set {
		if t.Columns[x.Ord].Virtual {
			out.virt = append(out.virt, x)
		} else {
			out.cols = append(out.cols, x)
		}
	}
	for _, p := range d.Predicates {
		if out.conds[p.Index], err = c.Pred(p.Cond, s); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// computedOnWrite reports whether a generated column is computed when a row is written: one
// that rows do not hold only if indexes do, or if its value can be a wrong one, or triggers may read it.
func computedOnWrite(t *catalog.Table, c *catalog.Column) bool {
	return !c.Virtual || len(t.Triggers) > 0 || c.NotNull || c.Domain != nil || slices.ContainsFunc(t.Indexes, func(ix catalog.Index) bool {
		return slices.Contains(ix.Stored, c.ID) || slices.ContainsFunc(ix.Columns, func(k catalog.IndexColumn) bool { return k.Column == c.ID })
	})
}

func computeAll(list []Setter, row types.Row) error {
	for i := range list {
		v, err := list[i].Value(row)
		if err != nil {
			return err
		}
		row[list[i].Ord] = v
	}
	return nil
}

// Derive tells the writer what its table derives.
func (w *Writer) Derive(c *expr.Compiler, d *plan.Derived) error {
	var err error
	if w.derived, err = newDerivation(c, w.table, d); err != nil || w.derived == nil {
		return err
	}
	for i := range w.Indexes {
		w.Indexes[i].cond = w.derived.conds[w.Indexes[i].Desc.ID]
	}
	for i := range w.tokens {
		w.tokens[i].cond = w.derived.conds[w.tokens[i].Desc.ID]
	}
	return nil
}

// Compute sets the generated columns of a row that is about to be stored.
func (w *Writer) Compute(row types.Row) error {
	if w.derived == nil {
		return nil
	}
	if err := computeAll(w.derived.cols, row); err != nil {
		return err
	}
	return computeAll(w.derived.virt, row)
}

// ComputeOld sets what a stored row does not hold.
func (w *Writer) ComputeOld(row types.Row) error {
	if w.derived == nil {
		return nil
	}
	return computeAll(w.derived.virt, row)
}

// Deriver computes what a table derives from its rows, for callers that write rows
// by themselves.
type Deriver struct {
	state expr.State
	d     *derivation
}

// NewDeriver returns a deriver; nil if nothing is derived.
func NewDeriver(t *catalog.Table, d *plan.Derived) (*Deriver, error) {
	if d == nil {
		return nil, nil
	}
	x := &Deriver{}
	var err error
	c := expr.NewCompiler(&x.state, nil)
	x.d, err = newDerivation(&c, t, d)
	return x, err
}

// Start prepares for rows; functions are computed in the context b.
func (x *Deriver) Start(ctx context.Context, b *call.Context, mem *quota.Pool) {
	if x != nil {
		x.state.Bind(ctx, b, nil, mem)
	}
}

// Compute sets the generated columns of a row of the table.
func (x *Deriver) Compute(row types.Row) error {
	if x == nil {
		return nil
	}
	if err := computeAll(x.d.cols, row); err != nil {
		return err
	}
	return computeAll(x.d.virt, row)
}

// Has reports whether an index has an entry for a row.
func (x *Deriver) Has(ix *catalog.Index, row types.Row) (bool, error) {
	if x == nil || ix.Total() {
		return true, nil
	}
	return x.d.conds[ix.ID](row)
}

// Setter assigns to a column.
type Setter struct {
	Ord   int
	Value expr.Func
}

// CompileSetters compiles assignments over the columns of s.
func CompileSetters(c *expr.Compiler, list []plan.SetCol, s expr.Scope) ([]Setter, error) {
	out := make([]Setter, len(list))
	for i, sc := range list {
		f, err := c.Expr(sc.Value, s)
		if err != nil {
			return nil, err
		}
		out[i] = Setter{sc.Ord, f}
	}
	return out, nil
}
