package planner

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
)

// onConflict plans ON CONFLICT of an INSERT in the scope outer; input produces
// the proposed rows.
func (b *builder) onConflict(st *ast.Insert, ch *changed, input plan.Node, outer *scope) (*plan.OnConflict, error) {
	oc := st.OnConflict
	arbiters, err := b.arbiters(oc, ch)
	if err != nil {
		return nil, err
	}
	for _, ix := range arbiters {
		if ix.Exclusion && !oc.DoNothing {
			b.fails(pgerr.New(pgerr.WrongObjectType, "ON CONFLICT DO UPDATE not supported with exclusion constraints"))
		}
	}
	c := &plan.OnConflict{Arbiters: arbiters}
	if oc.DoNothing {
		return c, nil
	}
	if len(oc.Target) == 0 && oc.Constraint == "" {
		return nil, noInference(oc)
	}
	c.Update = true
	c.Old = b.freshRow(ch.base)
	existing, err := b.row(ch, c.Old)
	if err != nil {
		return nil, err
	}
	excluded, err := b.row(ch, plan.IDs(input.Props().Cols))
	if err != nil {
		return nil, err
	}
	excluded.alias = "excluded"
	excluded.readsAs(nil) // which is no row of the table
	s := &scope{parent: outer.parent, bound: outer.bound, ctes: outer.ctes, items: []*item{existing, excluded}, clause: clauseUpdateSet}
	// Bare names in SET and WHERE mean the existing row or are ambiguous, as in
	// PostgreSQL; the targets of SET are the table's columns in any case.
	if c.Set, err = b.setClauses(oc.Set, ch, changeInsert, s); err != nil {
		return nil, err
	}
	if c.Set, err = b.withOnUpdate(ch.base, c.Set); err != nil {
		return nil, err
	}
	if oc.Where != nil {
		c.Where, err = b.boolExpr(oc.Where, "WHERE", s.in(clauseConflict))
	}
	return c, err
}

// noInference is 42601 for DO UPDATE that does not say of what.
func noInference(oc *ast.OnConflict) error {
	return pgerr.New(pgerr.SyntaxError, "ON CONFLICT DO UPDATE requires inference specification or constraint name").
		WithHint("For example, ON CONFLICT (column_name).").At(oc.Pos)
}

// noArbiter is 42P10 for an inference that finds no index.
func noArbiter() *pgerr.Error {
	return pgerr.New(pgerr.InvalidColumnReference, "there is no unique or exclusion constraint matching the ON CONFLICT specification")
}

// hasRowConstraint reports whether a foreign key or a CHECK constraint of t has a name.
func hasRowConstraint(t *catalog.Table, name ast.Name) bool {
	return slices.ContainsFunc(t.ForeignKeys, func(k catalog.ForeignKey) bool { return k.Name == name }) ||
		slices.ContainsFunc(t.Checks, func(k catalog.Check) bool { return k.Name == name })
}

// arbiters finds the unique indexes that ON CONFLICT refers to; nil means any.
func (b *builder) arbiters(oc *ast.OnConflict, c *changed) ([]*catalog.Index, error) {
	t := c.base
	if oc.Constraint != "" {
		for i := range c.rel.Indexes {
			ix := &c.rel.Indexes[i]
			if ix.Constraint && ix.ConstraintName == oc.Constraint && ix.DeclaredUnique() && !ix.WriteOnly {
				for j := range ix.Columns {
					c.use.read(c.rel.DeclaredOrd(ix, j))
				}
				return []*catalog.Index{ix}, nil
			}
		}
		if hasRowConstraint(c.rel, oc.Constraint) {
			b.fails(pgerr.New(pgerr.WrongObjectType, "constraint in ON CONFLICT clause has no associated index"))
			return nil, nil
		}
		return nil, pgerr.New(pgerr.UndefinedObject, "constraint \"%s\" for table \"%s\" does not exist", oc.Constraint, c.rel.Name)
	}
	if len(oc.Target) == 0 {
		return nil, nil
	}
	row := b.freshRow(t)
	want, err := b.inference(oc, c, row)
	if err != nil {
		return nil, err
	}
	var given []plan.Expr
	if oc.TargetWhere != nil {
		it, err := b.row(c, row)
		if err != nil {
			return nil, err
		}
		cond, err := b.boolExpr(oc.TargetWhere, "WHERE", &scope{clause: clauseIndexWhere, items: []*item{it}})
		if err != nil {
			return nil, err
		}
		given = plan.Conjuncts(cond, nil)
	}
	preds, err := b.predicates(t, row)
	if err != nil {
		return nil, err
	}
	fits := func(ix *catalog.Index) bool {
		return ix.DeclaredUnique() && !ix.WriteOnly && !ix.Exclusion && infers(t, t.Declared(ix), want)
	}
	var out, partial []*catalog.Index
	for i := range t.Indexes {
		if ix := &t.Indexes[i]; !fits(ix) {
			continue
		} else if ix.Total() || slices.ContainsFunc(preds, func(p plan.IndexPredicate) bool { return p.Index == ix.ID && b.implies(given, p.Cond) }) {
			out = append(out, ix)
		} else {
			partial = append(partial, ix)
		}
	}
	if len(out) == 0 && (len(partial) == 0 || !b.byValues || b.env.Values != nil) {
		b.fails(noArbiter())
	}
	return out, nil
}

// implies reports whether a condition of ON CONFLICT implies that of an index, for the values
// of the execution at hand where it has parameters.
func (b *builder) implies(given []plan.Expr, cond plan.Expr) bool {
	if plan.Implies(given, cond) {
		return true
	}
	any := false
	bound := make([]plan.Expr, len(given))
	for i, g := range given {
		bound[i] = plan.MapExpr(g, func(x plan.Expr) plan.Expr {
			p, ok := x.(*plan.Param)
			any = any || ok
			if !ok || p.Index >= len(b.env.Values) {
				return x
			}
			return plan.NewConst(p.T, b.env.Values[p.Index])
		})
	}
	b.byValues = b.byValues || any
	return any && b.env.Values != nil && plan.Implies(bound, cond)
}

// has reports whether the item has a column of the name.
func (it *item) has(column ast.Name) bool {
	return slices.ContainsFunc(it.cols, func(c scopeCol) bool { return c.name == column && column != "" })
}

// indexedColumn finds the column of t that is x, or the one by which an index on that
// expression knows it.
func (b *builder) indexedColumn(t *catalog.Table, row []plan.ColID, x plan.Expr) (catalog.ColumnID, error) {
	if r, ok := x.(*plan.ColRef); ok {
		if ord := slices.Index(row, r.Col); ord >= 0 {
			return t.Columns[ord].ID, nil
		}
	}
	computed, err := b.computedColumns(t, row, true)
	if err != nil {
		return 0, err
	}
	for _, c := range computed {
		if plan.ExprEqual(c.Value, x) {
			return t.Columns[c.Ord].ID, nil
		}
	}
	b.fails(noArbiter())
	return 0, nil
}

func containsID(list []catalog.ColumnID, id catalog.ColumnID) bool {
	for _, v := range list {
		if v == id {
			return true
		}
	}
	return false
}

// upsert is the conflict action of UPSERT: the row with the same primary key
// takes the given values.
func (b *builder) upsert(t *catalog.Table, targets []int, input plan.Node) (*plan.OnConflict, error) {
	c := &plan.OnConflict{Arbiters: []*catalog.Index{t.Primary()}, Update: true, Old: b.freshRow(t)}
	if pk := t.PrimaryKey(); pk != nil && pk.Deferrable {
		c.Arbiters[0] = pk // which the executor refuses, as PostgreSQL does in ON CONFLICT
	}
	in := input.Props().Cols
	for _, ord := range targets {
		key := false
		for _, k := range t.Primary().Columns {
			key = key || k.Column == t.Columns[ord].ID
		}
		if !key {
			c.Set = append(c.Set, plan.SetCol{Ord: ord, Value: plan.Ref(in[ord])})
		}
	}
	if len(c.Set) == 0 {
		c.Update = false // nothing to change
		return c, nil
	}
	var err error
	c.Set, err = b.withOnUpdate(t, c.Set)
	return c, err
}
