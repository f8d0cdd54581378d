package ddl

import (
	"context"

	"github.com/lichendb/lichen/internal/sql/ddl/noeffect"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/ddl/relations"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/ddl/storedtext"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
)

// createTableAs is CREATE TABLE AS.
func createTableAs(ctx context.Context, e *statement.Env, st *ast.CreateTableAs) (tag string, err error) {
	if st.Persistence == ast.Unlogged {
		e.Ignore(noeffect.Unlogged)
	}
	if err := relations.CheckTableMethod(st.Using); err != nil {
		return "", err
	}
	options, err := relations.TableOptions(e, st.With)
	if err != nil {
		return "", err
	}
	q, err := filling(ctx, e, st)
	if err != nil {
		return "", err
	}
	b, err := relations.NewTable(ctx, e, st.Name, st.Persistence, st.IfNotExists)
	if err != nil || b == nil {
		return st.Tag(), err
	}
	if b.Taken != nil {
		return "", b.Taken
	}
	b.T.Options = options
	if err := relations.OnCommit(e, b.T, b.Schema.Temp != nil, st.OnCommit, st.Pos); err != nil {
		return "", err
	}
	if !st.Materialized {
		return relations.FillFrom(ctx, e, b, q, st.Cols, st.Tablespace, st.WithData)
	}
	if err := materialize(ctx, e, b, st, q); err != nil {
		return "", err
	}
	if tag, err = relations.FillFrom(ctx, e, b, q, st.Cols, st.Tablespace, st.WithData); !st.WithData {
		tag = st.Tag()
	}
	return tag, err
}

// filling plans the query of CREATE TABLE AS. What a materialized view keeps can't have parameters.
func filling(ctx context.Context, e *statement.Env, st *ast.CreateTableAs) (*plan.Prepared, error) {
	if !st.Materialized {
		return storedtext.PlanQueryWith(ctx, e, st.Query, !st.WithData)
	}
	free := *e
	free.ParamTypes, free.Variables = nil, nil
	q, err := storedtext.PlanQueryWith(ctx, &free, st.Query, !st.WithData)
	if err == nil || len(e.ParamTypes) == 0 {
		return q, err
	}
	if _, bound := storedtext.PlanQueryWith(ctx, e, st.Query, true); bound == nil {
		return nil, pgerr.Unsupported("materialized views may not be defined using bound parameters")
	}
	return nil, err
}

// selectInto is SELECT INTO.
func selectInto(ctx context.Context, e *statement.Env, st *ast.Select) (tag string, err error) {
	if st.Into == nil {
		return "", pgerr.Assertion("SELECT without INTO is not DDL")
	}
	plain := *st
	plain.Into = nil
	q, err := storedtext.PlanQueryWith(ctx, e, &plain, false)
	if err != nil {
		return "", err
	}
	b, err := relations.NewTable(ctx, e, st.Into.Name, st.Into.Persistence, false)
	if err == nil {
		err = b.Taken
	}
	if err != nil {
		return "", err
	}
	return relations.FillFrom(ctx, e, b, q, nil, "", true)
}
