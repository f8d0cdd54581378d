package exec

import (
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// derivation computes what a table derives from its rows.
type derivation struct {
	cols  []setter // generated columns
	virt  []setter // expressions of indexes, columns that rows do not hold
	conds map[catalog.IndexID]expr.Pred
}

func (c *compiler) derivation(t *catalog.Table, d *plan.Derived) (*derivation, error) {
	if d == nil {
		return nil, nil
	}
	s := expr.Scope(d.Cols)
	out := &derivation{conds: map[catalog.IndexID]expr.Pred{}}
	needed := slices.DeleteFunc(slices.Clone(d.Columns), func(sc plan.SetCol) bool { return !computedOnWrite(t, &t.Columns[sc.Ord]) })
	set, err := c.setters(needed, s)
	if err != nil {
		return nil, err
	}
	for _, x := range set {
		if t.Columns[x.ord].Virtual {
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
// that rows do not hold only if indexes do, or if its value can be a wrong one.
func computedOnWrite(t *catalog.Table, c *catalog.Column) bool {
	return !c.Virtual || c.NotNull || c.Domain != nil || slices.ContainsFunc(t.Indexes, func(ix catalog.Index) bool {
		return slices.Contains(ix.Stored, c.ID) || slices.ContainsFunc(ix.Columns, func(k catalog.IndexColumn) bool { return k.Column == c.ID })
	})
}

func computeAll(list []setter, row types.Row) error {
	for i := range list {
		v, err := list[i].value(row)
		if err != nil {
			return err
		}
		row[list[i].ord] = v
	}
	return nil
}

// derive tells a writer what its table derives.
func (c *compiler) derive(w *TableWriter, d *plan.Derived) error {
	var err error
	if w.derived, err = c.derivation(w.table, d); err != nil || w.derived == nil {
		return err
	}
	for i := range w.indexes {
		w.indexes[i].cond = w.derived.conds[w.indexes[i].Desc.ID]
	}
	for i := range w.tokens {
		w.tokens[i].cond = w.derived.conds[w.tokens[i].Desc.ID]
	}
	return nil
}

// compute sets the generated columns of a row that is about to be stored.
func (w *TableWriter) compute(row types.Row) error {
	if w.derived == nil {
		return nil
	}
	if err := computeAll(w.derived.cols, row); err != nil {
		return err
	}
	return computeAll(w.derived.virt, row)
}

// computeOld sets what a stored row does not hold.
func (w *TableWriter) computeOld(row types.Row) error {
	if w.derived == nil {
		return nil
	}
	return computeAll(w.derived.virt, row)
}

// Deriver computes what a table derives from its rows, for callers that write rows
// by themselves.
type Deriver struct {
	run run
	d   *derivation
}

// NewDeriver returns a deriver; nil if nothing is derived.
func NewDeriver(t *catalog.Table, d *plan.Derived) (*Deriver, error) {
	if d == nil {
		return nil, nil
	}
	x := &Deriver{}
	var err error
	x.d, err = newCompiler(&x.run, nil).derivation(t, d)
	return x, err
}

// Start prepares for rows in an environment.
func (x *Deriver) Start(ctx context.Context, env *Env) {
	if x == nil {
		return
	}
	x.run.bind(ctx, env)
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
