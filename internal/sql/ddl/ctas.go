package ddl

import (
	"context"
	"strconv"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/types"
)

// planQuery plans a query that is part of the statement.
func (e *Env) planQuery(ctx context.Context, q ast.Statement) (*plan.Prepared, error) {
	return e.planQueryWith(ctx, q, nil, false)
}

// planQueryWith plans a query with parameters of the given types; stored is planner.Env.Stored.
func (e *Env) planQueryWith(ctx context.Context, q ast.Statement, params []*types.T, stored bool) (*plan.Prepared, error) {
	env := e.plannerEnv(e.Coll)
	env.ParamTypes, env.Stored = params, stored
	prep, err := planner.Plan(ctx, q, env)
	if err == nil && prep.Columns == nil {
		return nil, pgerr.Unsupported("%s is not supported as the query of this statement", q.Tag())
	}
	return prep, err
}

// createTableAs is CREATE TABLE AS.
func (e *Env) createTableAs(ctx context.Context, st *ast.CreateTableAs) (tag string, err error) {
	if st.Persistence == ast.Unlogged {
		e.ignore(noUnlogged)
	}
	if err := checkTableMethod(st.Using); err != nil {
		return "", err
	}
	options, err := e.tableOptions(st.With)
	if err != nil {
		return "", err
	}
	if st.Materialized && len(e.ParamTypes) > 0 {
		return "", pgerr.Unsupported("materialized views may not be defined using bound parameters")
	}
	q, err := e.planQueryWith(ctx, st.Query, e.ParamTypes, !st.WithData)
	if err != nil {
		return "", err
	}
	b, err := e.newTable(ctx, st.Name, st.Persistence, st.IfNotExists)
	if err != nil || b == nil {
		return st.Tag(), err
	}
	if b.taken != nil {
		return "", b.taken
	}
	b.t.Options = options
	if err := e.onCommit(b.t, b.schema.Temp != nil, st.OnCommit, st.Pos); err != nil {
		return "", err
	}
	if !st.Materialized {
		return e.fillFrom(ctx, b, q, st.Cols, st.Tablespace, st.WithData)
	}
	if err := e.materialize(ctx, b, st, q); err != nil {
		return "", err
	}
	if tag, err = e.fillFrom(ctx, b, q, st.Cols, st.Tablespace, st.WithData); !st.WithData {
		tag = st.Tag()
	}
	return tag, err
}

// selectInto is SELECT INTO.
func (e *Env) selectInto(ctx context.Context, st *ast.Select) (tag string, err error) {
	if st.Into == nil {
		return "", pgerr.Assertion("SELECT without INTO is not DDL")
	}
	plain := *st
	plain.Into = nil
	q, err := e.planQueryWith(ctx, &plain, e.ParamTypes, false)
	if err != nil {
		return "", err
	}
	b, err := e.newTable(ctx, st.Into.Name, st.Into.Persistence, false)
	if err == nil {
		err = b.taken
	}
	if err != nil {
		return "", err
	}
	return e.fillFrom(ctx, b, q, nil, "", true)
}

// fillFrom gives the new table the columns of the query, and its rows.
func (e *Env) fillFrom(ctx context.Context, b *tableBuilder, q *plan.Prepared, names []ast.Name, tablespace string, data bool) (string, error) {
	if err := queryColumns(b.t, q, names); err != nil {
		return "", err
	}
	ts, err := b.choosePlace(ctx, tablespace)
	if err != nil {
		return "", err
	}
	if err := b.create(ctx); err != nil {
		return "", err
	}
	if err := e.placeTable(ctx, b.t, ts); err != nil {
		return "", err
	}
	if !data {
		return "CREATE TABLE AS", nil
	}
	n, err := e.buildRows(ctx, buildSpec{table: b.t, indexes: []int{0}, query: q})
	return "SELECT " + strconv.FormatInt(n, 10), err
}

// queryColumns gives t the columns of a query, under the names given for the
// first of them.
func queryColumns(t *catalog.Table, q *plan.Prepared, names []ast.Name) error {
	if len(names) > len(q.Columns) {
		return pgerr.New(pgerr.SyntaxError, "too many column names were specified")
	}
	for i := range q.Columns {
		typ := q.Columns[i].Type
		c := catalog.Column{Name: q.Columns[i].Name, Type: typ.WithDomain(nil), Domain: typ.Domain()}
		if i < len(names) {
			c.Name = names[i]
		}
		if c.Type.Is(types.Unknown) {
			c.Type = types.Text
		}
		if err := checkColumnType(c.Name, c.Type); err != nil {
			return err
		}
		if c.Type.Declared() == types.NoCollation {
			return errNoCollation(t, &c)
		}
		if err := appendColumn(t, &c); err != nil {
			return err
		}
	}
	return nil
}
