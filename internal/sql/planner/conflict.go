package planner

import (
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
)

// onConflict plans ON CONFLICT; input produces the proposed rows.
func (b *builder) onConflict(st *ast.Insert, t *catalog.Table, input plan.Node) (*plan.OnConflict, error) {
	oc := st.OnConflict
	arbiters, err := b.arbiters(oc, t)
	if err != nil {
		return nil, err
	}
	for _, ix := range arbiters {
		if ix.Exclusion && !oc.DoNothing {
			return nil, pgerr.New(pgerr.WrongObjectType, "ON CONFLICT DO UPDATE not supported with exclusion constraints")
		}
	}
	c := &plan.OnConflict{Arbiters: arbiters}
	if oc.DoNothing {
		return c, nil
	}
	if len(oc.Target) == 0 && oc.Constraint == "" {
		return nil, pgerr.New(pgerr.SyntaxError, "ON CONFLICT DO UPDATE requires inference specification or constraint name").
			WithHint("For example, ON CONFLICT (column_name).").At(oc.Pos)
	}
	c.Update = true
	c.Old = b.freshRow(t)
	existing := rowItem(t, aliasOf(st.Table), c.Old)
	excluded := rowItem(t, "excluded", plan.IDs(input.Props().Cols))
	s := &scope{items: []*item{existing, excluded}, clause: clauseUpdateSet}
	// Bare names in SET and WHERE mean the existing row or are ambiguous, as in
	// PostgreSQL; the targets of SET are the table's columns in any case.
	if c.Set, err = b.setClauses(oc.Set, t, s); err != nil {
		return nil, err
	}
	if oc.Where != nil {
		c.Where, err = b.boolExpr(oc.Where, "WHERE", s.in(clauseConflict))
	}
	return c, err
}

// noArbiter is 42P10 for an inference that finds no index.
func noArbiter() *pgerr.Error {
	return pgerr.New(pgerr.InvalidColumnReference, "there is no unique or exclusion constraint matching the ON CONFLICT specification")
}

// arbiters finds the unique indexes that ON CONFLICT refers to; nil means any.
func (b *builder) arbiters(oc *ast.OnConflict, t *catalog.Table) ([]*catalog.Index, error) {
	if oc.Constraint != "" {
		for i := range t.Indexes {
			ix := &t.Indexes[i]
			if ix.Constraint && ix.ConstraintName == oc.Constraint && ix.DeclaredUnique() && !ix.WriteOnly {
				return []*catalog.Index{ix}, nil
			}
		}
		return nil, pgerr.New(pgerr.UndefinedObject, "constraint \"%s\" for table \"%s\" does not exist", oc.Constraint, t.Name)
	}
	if len(oc.Target) == 0 {
		return nil, nil
	}
	row := b.freshRow(t)
	want, err := b.conflictColumns(oc, t, row)
	if err != nil {
		return nil, err
	}
	var given []plan.Expr
	if oc.TargetWhere != nil {
		s := &scope{clause: clauseIndexWhere, items: []*item{rowItem(t, t.Name, row)}}
		cond, err := b.boolExpr(oc.TargetWhere, "WHERE", s)
		if err != nil {
			return nil, err
		}
		given = plan.Conjuncts(cond, nil)
	}
	preds, err := b.predicates(t, row)
	if err != nil {
		return nil, err
	}
	var out []*catalog.Index
	for i := range t.Indexes {
		ix := &t.Indexes[i]
		if !ix.DeclaredUnique() || ix.WriteOnly || ix.Exclusion || !sameColumns(ix, want) {
			continue
		}
		implied := ix.Total()
		for _, p := range preds {
			implied = implied || p.Index == ix.ID && plan.Implies(given, p.Cond)
		}
		if implied {
			out = append(out, ix)
		}
	}
	if len(out) == 0 {
		return nil, noArbiter()
	}
	return out, nil
}

// conflictColumns resolves the columns and expressions of an inference.
func (b *builder) conflictColumns(oc *ast.OnConflict, t *catalog.Table, row []plan.ColID) ([]catalog.ColumnID, error) {
	var want []catalog.ColumnID
	for i := range oc.Target {
		e := &oc.Target[i]
		name := e.Column
		ref, ok := e.X.(*ast.ColumnRef)
		if ok {
			name = ref.Column
		}
		var id catalog.ColumnID
		if e.X != nil && !ok {
			computed, err := b.computedColumns(t, row, true)
			if err != nil {
				return nil, err
			}
			x, err := b.expr(e.X, &scope{clause: clauseIndexWhere, items: []*item{rowItem(t, t.Name, row)}})
			if err != nil {
				return nil, err
			}
			for _, c := range computed {
				if plan.ExprEqual(c.Value, x) {
					id = t.Columns[c.Ord].ID
				}
			}
			if id == 0 {
				return nil, noArbiter()
			}
		} else {
			ord, ok := t.ColumnByName(name)
			if !ok || t.Columns[ord].Virtual {
				return nil, pgerr.New(pgerr.UndefinedColumn, "column \"%s\" does not exist", name).At(e.Pos)
			}
			id = t.Columns[ord].ID
		}
		if !containsID(want, id) {
			want = append(want, id)
		}
	}
	return want, nil
}

func containsID(list []catalog.ColumnID, id catalog.ColumnID) bool {
	for _, v := range list {
		if v == id {
			return true
		}
	}
	return false
}

// sameColumns reports whether ix has exactly the given key columns.
func sameColumns(ix *catalog.Index, want []catalog.ColumnID) bool {
	if len(ix.Columns) != len(want) {
		return false
	}
	for _, c := range ix.Columns {
		if !containsID(want, c.Column) {
			return false
		}
	}
	return true
}

// upsert is the conflict action of UPSERT: the row with the same primary key
// takes the given values.
func (b *builder) upsert(t *catalog.Table, targets []int, input plan.Node) *plan.OnConflict {
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
	}
	return c
}
