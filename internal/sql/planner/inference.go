package planner

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// inferred is what an element of ON CONFLICT (...) asks a key column of an index to be.
type inferred struct {
	column    catalog.ColumnID
	class     ast.Name         // "" for any
	collation *types.Collation // nil for any
}

// inference resolves the elements of ON CONFLICT (...).
func (b *builder) inference(oc *ast.OnConflict, c *changed, row []plan.ColID) ([]inferred, error) {
	it, err := b.row(c, row)
	if err != nil {
		return nil, err
	}
	want := make([]inferred, len(oc.Target))
	for i := range oc.Target {
		if want[i], err = b.infer(&oc.Target[i], c, it, row); err != nil {
			return nil, err
		}
	}
	return want, nil
}

func (b *builder) infer(e *ast.IndexElem, c *changed, it *item, row []plan.ColID) (w inferred, err error) {
	switch {
	case e.Dir != ast.DirDefault:
		return w, pgerr.New(pgerr.InvalidColumnReference, "ASC/DESC is not allowed in ON CONFLICT clause").At(e.Pos)
	case e.Nulls != ast.NullsDefault:
		return w, pgerr.New(pgerr.InvalidColumnReference, "NULLS FIRST/LAST is not allowed in ON CONFLICT clause").At(e.Pos)
	}
	x := e.X
	if x == nil {
		x = &ast.ColumnRef{Loc: ast.Loc{Pos: e.Pos}, Column: e.Column}
	}
	if ref, ok := x.(*ast.ColumnRef); ok && !it.has(ref.Column) {
		return w, pgerr.New(pgerr.UndefinedColumn, "column \"%s\" does not exist", ref.Column).At(e.Pos)
	}
	v, err := b.expr(x, &scope{clause: clauseIndexWhere, items: []*item{it}})
	if err != nil {
		return w, err
	}
	if w.collation, err = b.inferredCollation(e); err != nil {
		return w, err
	}
	if len(e.OpClass) > 0 {
		w.class = e.OpClass[len(e.OpClass)-1]
		if !types.IsOperatorClass(w.class) {
			return w, pgerr.New(pgerr.UndefinedObject, "operator class \"%s\" does not exist for access method \"btree\"", w.class)
		}
	}
	w.column, err = b.indexedColumn(c.base, row, ownCollation(v))
	return w, err
}

func (b *builder) inferredCollation(e *ast.IndexElem) (*types.Collation, error) {
	if e.Collate == nil {
		return nil, nil
	}
	c, d, err := FindCollation(b.ctx, e.Collate, b.env.Catalog)
	if err != nil {
		return nil, pgerr.From(err).At(e.Pos)
	}
	if d != nil {
		b.noteTable(d)
	}
	return c, nil
}

// ownCollation strips a COLLATE clause that names the collation which x has without it.
func ownCollation(x plan.Expr) plan.Expr {
	arg := uncollated(x)
	if own := collationOf(arg); own.is != nil && x.Type().Collation() != nil && own.is.Oid == x.Type().Collation().Oid {
		return arg
	}
	return x
}

// infers reports whether elements of ON CONFLICT mean ix, an index of t: each is one of its keys,
// and each key is one of them.
func infers(t *catalog.Table, ix *catalog.Index, want []inferred) bool {
	for _, k := range ix.Columns {
		if !slices.ContainsFunc(want, func(w inferred) bool { return w.column == k.Column }) {
			return false
		}
	}
	for _, w := range want {
		if !slices.ContainsFunc(ix.Columns, func(k catalog.IndexColumn) bool { return w.fits(t, &k) }) {
			return false
		}
	}
	return true
}

// fits reports whether a key column of an index of t is as an element asks.
func (w *inferred) fits(t *catalog.Table, k *catalog.IndexColumn) bool {
	if w.column != k.Column {
		return false
	}
	typ := t.Columns[t.ColumnByID(k.Column)].Type
	class, collation := k.OpClass, k.Collate
	if class == "" {
		class = types.OperatorClass(typ)
	}
	if collation == nil {
		collation = typ.Collation()
	}
	return (w.class == "" || types.SameOperatorClass(w.class, class)) && (w.collation == nil || collation != nil && collation.Oid == w.collation.Oid)
}
