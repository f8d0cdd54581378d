package ddl

import (
	"context"

	"github.com/lichendb/lichen/internal/sql/access"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/alter"
	"github.com/lichendb/lichen/internal/sql/ddl/backfill"
	"github.com/lichendb/lichen/internal/sql/ddl/relations"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/planner"
)

// materialize makes the table that is being built a materialized view of a query: a table that
// nobody writes but REFRESH, with the query of a view in its descriptor.
func materialize(ctx context.Context, e *statement.Env, b *relations.TableBuilder, st *ast.CreateTableAs, q *plan.Prepared) error {
	sel, ok := st.Query.(*ast.Select)
	if !ok {
		return pgerr.Unsupported("%s is not supported as the query of a materialized view", st.Query.Tag()).At(st.Pos)
	}
	if planner.ChangesRows(sel) {
		return pgerr.Unsupported("materialized views must not use data-modifying statements in WITH")
	}
	var err error
	if b.T.View, err = relations.ViewQuery(ctx, e, sel, q); err != nil {
		return err
	}
	if uses, err := relations.UsesTemp(ctx, e, b.T.View); err != nil || uses {
		if err == nil {
			err = pgerr.Unsupported("materialized views must not use temporary tables or views").At(st.Pos)
		}
		return err
	}
	b.T.View.Unpopulated = !st.WithData
	return nil
}

// refreshView is REFRESH MATERIALIZED VIEW: the rows of its query, in fresh indexes.
func refreshView(ctx context.Context, e *statement.Env, st *ast.RefreshView) error {
	old, index, err := e.LockRelation(ctx, st.Name)
	switch {
	case err != nil:
		return err
	case old == nil:
		return e.UndefinedRelation(ctx, st.Name)
	case index || !old.Materialized():
		return pgerr.Unsupported("\"%s\" is not a materialized view", st.Name.Table)
	case st.Concurrently && !st.WithData:
		return pgerr.New(pgerr.SyntaxError, "REFRESH options CONCURRENTLY and WITH NO DATA cannot be used together").At(st.Pos)
	case st.Concurrently && old.View.Unpopulated:
		return pgerr.Unsupported("CONCURRENTLY cannot be used when the materialized view is not populated")
	case st.Concurrently && !hasWholeUnique(old):
		return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "cannot refresh materialized view \"%s\" concurrently", statement.QualifiedName(ctx, e.Coll, old)).
			WithHint("Create a unique index with no WHERE clause on one or more columns of the materialized view.")
	}
	if err := e.CheckUnused(old, "REFRESH MATERIALIZED VIEW"); err != nil {
		return err
	}
	e.IgnoreConcurrently(st.Concurrently)
	a := &alter.Alteration{E: e, Old: old, T: old.Clone()}
	spec := backfill.Spec{Table: a.T}
	for i := range a.T.Indexes {
		if err := a.RenewAlike(ctx, i); err != nil {
			return err
		}
		spec.Indexes = append(spec.Indexes, i)
	}
	a.T.View.Unpopulated = !st.WithData
	if st.WithData {
		if e.Alone { // whoever has read the old rows has read nothing later than the new ones
			if err := e.Coll.Freshen(ctx); err != nil {
				return err
			}
		}
		if err := e.AsOwner(a.T, func() error { return refill(ctx, e, spec) }); err != nil {
			return err
		}
	}
	return a.Put(ctx)
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

// refill runs the query of a materialized view.
func refill(ctx context.Context, e *statement.Env, spec backfill.Spec) (err error) {
	if spec.Query, err = relations.PlanView(ctx, e, spec.Table.View); err != nil {
		return err
	}
	if err := access.Check(e.Coll, spec.Query.Uses); err != nil {
		return err
	}
	return backfill.Build(ctx, e, spec)
}
