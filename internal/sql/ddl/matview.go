package ddl

import (
	"context"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/planner"
)

// materialize makes the table that is being built a materialized view of a query: a table that
// nobody writes but REFRESH, with the query of a view in its descriptor.
func (e *Env) materialize(ctx context.Context, b *tableBuilder, st *ast.CreateTableAs, q *plan.Prepared) error {
	sel, ok := st.Query.(*ast.Select)
	if !ok {
		return pgerr.Unsupported("%s is not supported as the query of a materialized view", st.Query.Tag()).At(st.Pos)
	}
	if planner.ChangesRows(sel) {
		return pgerr.Unsupported("materialized views must not use data-modifying statements in WITH")
	}
	var err error
	if b.t.View, err = e.viewQuery(ctx, sel, q); err != nil {
		return err
	}
	if uses, err := e.usesTemp(ctx, b.t.View); err != nil || uses {
		if err == nil {
			err = pgerr.Unsupported("materialized views must not use temporary tables or views").At(st.Pos)
		}
		return err
	}
	b.t.View.Unpopulated = !st.WithData
	return nil
}

// refreshView is REFRESH MATERIALIZED VIEW: the rows of its query, in fresh indexes.
func (e *Env) refreshView(ctx context.Context, st *ast.RefreshView) error {
	old, index, err := e.lockRelation(ctx, st.Name)
	switch {
	case err != nil:
		return err
	case old == nil:
		return e.undefinedRelation(ctx, st.Name)
	case index || !old.Materialized():
		return pgerr.Unsupported("\"%s\" is not a materialized view", st.Name.Table)
	case st.Concurrently && !st.WithData:
		return pgerr.New(pgerr.SyntaxError, "REFRESH options CONCURRENTLY and WITH NO DATA cannot be used together").At(st.Pos)
	case st.Concurrently && old.View.Unpopulated:
		return pgerr.Unsupported("CONCURRENTLY cannot be used when the materialized view is not populated")
	case st.Concurrently && !hasWholeUnique(old):
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "cannot refresh materialized view \"%s\" concurrently", old.Name).
			WithHint("Create a unique index with no WHERE clause on one or more columns of the materialized view.")
	}
	if err := e.checkUnused(old, "REFRESH MATERIALIZED VIEW"); err != nil {
		return err
	}
	e.ignoreConcurrently(st.Concurrently)
	a := &alteration{e: e, old: old, t: old.Clone()}
	spec := buildSpec{table: a.t}
	for i := range a.t.Indexes {
		if err := a.renewAlike(ctx, i); err != nil {
			return err
		}
		spec.indexes = append(spec.indexes, i)
	}
	a.t.View.Unpopulated = !st.WithData
	if st.WithData {
		if e.Alone { // whoever has read the old rows has read nothing later than the new ones
			if err := e.Coll.Freshen(ctx); err != nil {
				return err
			}
		}
		if spec.query, err = e.planView(ctx, a.t.View); err != nil {
			return err
		}
		if err := e.build(ctx, spec); err != nil {
			return err
		}
	}
	return a.put(ctx)
}

// hasWholeUnique reports whether one of t's indexes is a unique one of columns, for every
// row. The primary key of a materialized view is hidden.
func hasWholeUnique(t *catalog.Table) bool {
	for i := range t.Indexes {
		if ix := &t.Indexes[i]; i > 0 && ix.Unique && ix.Total() && !t.Expressions(ix) {
			return true
		}
	}
	return false
}

// objectKind is the kind of object that a relation is for DROP and ALTER.
func objectKind(t *catalog.Table) ast.ObjectKind {
	switch {
	case t.Materialized():
		return ast.ObjMaterializedView
	case t.Kind == catalog.KindView:
		return ast.ObjView
	case t.Kind == catalog.KindSequence:
		return ast.ObjSequence
	case t.IsComposite():
		return ast.ObjType
	}
	return ast.ObjTable
}
