package ddl

import (
	"context"

	"github.com/lichendb/lichen/internal/sql/ddl/noeffect"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/ddl/relations"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/ddl/storedtext"
	"github.com/lichendb/lichen/internal/sql/pgerr"
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
	if st.Materialized && len(e.ParamTypes) > 0 {
		return "", pgerr.Unsupported("materialized views may not be defined using bound parameters")
	}
	q, err := storedtext.PlanQueryWith(ctx, e, st.Query, e.ParamTypes, !st.WithData)
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

// selectInto is SELECT INTO.
func selectInto(ctx context.Context, e *statement.Env, st *ast.Select) (tag string, err error) {
	if st.Into == nil {
		return "", pgerr.Assertion("SELECT without INTO is not DDL")
	}
	plain := *st
	plain.Into = nil
	q, err := storedtext.PlanQueryWith(ctx, e, &plain, e.ParamTypes, false)
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
