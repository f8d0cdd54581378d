package planner

import (
	"context"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/privilege"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Env is what planning depends on besides the statement.
type Env struct {
	Catalog catalog.Resolver
	// ParamTypes are the types the client declared for $1, $2, ...; nil entries
	// and missing ones are inferred.
	ParamTypes []*types.T
	// Format holds the settings that literals are read under; nil means the
	// defaults.
	Format *types.FormatContext
	// DefaultIntSize is 8 if INT means INT8, else 4 (0 is 4).
	DefaultIntSize int
	// Source says what a statement in FROM [...] yields: its columns, or a query
	// that stands for it. nil means that there is none in FROM.
	Source func(ast.Statement) (query *ast.Select, cols []plan.Column, err error)
	// RowKeys asks for the keys of the rows that a query reads, for WHERE CURRENT OF,
	// where it is plain enough: see plan.Prepared.RowTable.
	RowKeys bool
	// View is the view whose stored query is planned, if it is one: see catalog.View.
	View *catalog.View
	// Stored says that the statement is not run: it is part of a definition.
	Stored bool
	// Variables are what names stand for beside columns; nil for none.
	Variables *Variables
	// Notes, if not nil, take down how expressions and names are understood.
	Notes *Notes
	// Values are the parameters of the execution that is planned, nil if there is none yet.
	Values []types.Datum
	// FixedParams rejects parameters beyond ParamTypes.
	FixedParams bool
	// AnyLength leaves it to who stores a value to see whether it is too long for its column.
	AnyLength bool
	// Replica leaves the foreign keys to who wrote the rows first: session_replication_role.
	Replica bool
	// NoRowSecurity refuses to read or write what policies restrict: row_security is off.
	NoRowSecurity bool
	// As is whose privileges count, 0 for the session's user.
	As privilege.Role
}

// Plan plans a statement.
func Plan(ctx context.Context, stmt ast.Statement, env *Env) (*plan.Prepared, error) {
	p, err := planAs(ctx, stmt, env, false)
	if err == nil {
		return p, nil
	}
	if _, again := planAs(ctx, stmt, env, true); again != nil { // it says the same with the types' full names
		return nil, again
	}
	return nil, err
}

// planAs plans a statement; qualify says that types have their schema in their names
// where the search path does not lead to them.
func planAs(ctx context.Context, stmt ast.Statement, env *Env, qualify bool) (*plan.Prepared, error) {
	b := &builder{ctx: ctx, env: env, qualify: qualify, text: stmt, view: env.View, as: env.As}
	b.params = append(b.params, env.ParamTypes...)
	for i, t := range b.params {
		if t != nil {
			b.params[i] = b.shown(t)
		}
	}
	p := &plan.Prepared{Stmt: stmt}
	var err error
	if p.Root, p.Columns, err = b.statement(stmt); err != nil {
		return nil, err
	}
	if p.ParamTypes, err = b.finishParams(); err != nil {
		return nil, err
	}
	if b.refusal != nil {
		return nil, b.refusal
	}
	if env.RowKeys {
		addRowKey(p)
	}
	p.Deps, p.Uses = b.deps, b.allUses()
	p.Stored = b.env.Stored
	p.NextCol = b.nextCol + 1
	p.Modifies, p.Failed = b.modifies || b.callsVolatile, b.failed
	p.CallsRoutines, p.Procedure = b.callsRoutines, b.procedure
	p.Uncacheable, p.ByValues = b.uncacheable || b.byValues, b.byValues
	return p, nil
}

// store notes that the statement's query is not run, if that is so.
func (b *builder) store(yes bool) {
	env := *b.env
	env.Stored = env.Stored || yes
	b.env = &env
}

// statement plans any statement; the columns are those sent to the client.
func (b *builder) statement(stmt ast.Statement) (plan.Node, []plan.Column, error) {
	switch s := stmt.(type) {
	case *ast.Select:
		return b.topSelect(s)
	case *ast.Insert:
		source, with, err := hoistFrom(s.Source, s.With)
		if err != nil {
			return nil, nil, err
		}
		if with != s.With {
			c := *s
			c.Source, c.With = source, with
			s = &c
		}
		return b.dml(s.With, func(sc *scope) (plan.Node, error) { return b.insert(s, sc) })
	case *ast.Update:
		return b.dml(s.With, func(sc *scope) (plan.Node, error) { return b.update(s, sc) })
	case *ast.Delete:
		return b.dml(s.With, func(sc *scope) (plan.Node, error) { return b.delete(s, sc) })
	case *ast.Merge:
		return b.dml(s.With, func(sc *scope) (plan.Node, error) { return b.merge(s, sc) })
	case *ast.Explain:
		return b.explain(s)
	case *ast.Copy:
		return b.copyStmt(s)
	case *ast.CreateTableAs:
		if _, named := s.Query.(*ast.Execute); named {
			return &plan.Utility{Stmt: s}, nil, nil
		}
		b.store(!s.WithData)
		return b.withQuery(s, s.Query)
	case *ast.CreateView:
		b.store(true)
		return b.withQuery(s, s.Query)
	case *ast.DeclareCursor: // for its parameters
		_, _, err := b.statement(s.Query)
		return &plan.Utility{Stmt: s}, nil, err
	case *ast.Call:
		return b.callProcedure(s)
	case *ast.Unsupported:
		if s.IfExists != "" {
			break
		}
		return nil, nil, pgerr.Unsupported("%s is not supported", s.Feature).At(s.Pos)
	}
	if isDDL(stmt) {
		return &plan.DDL{Stmt: stmt}, nil, nil
	}
	return &plan.Utility{Stmt: stmt}, nil, nil
}

// topSelect plans a query whose rows go to the client.
func (b *builder) topSelect(s *ast.Select) (plan.Node, []plan.Column, error) {
	if s.Into != nil {
		q := *s
		q.Into = nil
		return b.withQuery(s, &q)
	}
	s, with, err := hoistFrom(s, s.With)
	if err != nil {
		return nil, nil, err
	}
	if with != s.With { // s is a copy
		s.With = with
	}
	q, err := b.query(s, b.rootScope(), queryOpts{})
	if err != nil {
		return nil, nil, err
	}
	return q.node, q.outputColumns(), nil
}

// dml plans a data-modifying statement with its WITH clause.
func (b *builder) dml(with *ast.With, f func(*scope) (plan.Node, error)) (plan.Node, []plan.Column, error) {
	b.modifies = true
	sc := b.rootScope()
	ctes, err := b.with(with, sc)
	if err != nil {
		return nil, nil, err
	}
	n, err := f(sc)
	if err != nil {
		return nil, nil, err
	}
	return wrapWith(n, ctes), n.Props().Cols, nil
}

func wrapWith(n plan.Node, ctes []*plan.CTE) plan.Node {
	if len(ctes) == 0 {
		return n
	}
	w := &plan.With{CTEs: ctes, Body: n}
	w.Cols = n.Props().Cols
	return w
}

// withQuery plans the query inside a DDL statement.
func (b *builder) withQuery(stmt ast.Statement, query ast.Statement) (plan.Node, []plan.Column, error) {
	root, cols, err := b.statement(query)
	if err != nil {
		return nil, nil, err
	}
	return &plan.DDL{Stmt: stmt, Query: &plan.Prepared{Stmt: query, Root: root, Columns: cols}}, nil, nil
}

func (b *builder) explain(s *ast.Explain) (plan.Node, []plan.Column, error) {
	root, _, err := b.statement(queryOf(s.Stmt))
	if err != nil {
		return nil, nil, err
	}
	e := &plan.Explain{Stmt: s, Input: root}
	e.Cols = []plan.Column{{ID: b.newCol(), Name: "QUERY PLAN", Type: types.Text}}
	return e, e.Cols, nil
}

// queryOf is what EXPLAIN shows of a statement that makes a relation or a cursor of the
// rows of a query: the query.
func queryOf(stmt ast.Statement) ast.Statement {
	switch s := stmt.(type) {
	case *ast.CreateTableAs:
		return s.Query
	case *ast.DeclareCursor:
		return s.Query
	case *ast.Select:
		if s.Into != nil {
			q := *s
			q.Into = nil
			return &q
		}
	}
	return stmt
}

// isDDL reports whether stmt changes the catalog.
func isDDL(stmt ast.Statement) bool {
	switch stmt.(type) {
	case *ast.CreateDatabase, *ast.DropDatabase, *ast.AlterDatabase, *ast.AlterRole, *ast.CreateSchema, *ast.AlterObject,
		*ast.Drop, *ast.CreateSequence, *ast.AlterSequence, *ast.RefreshView, *ast.CreateEnum,
		*ast.CreateExtension, *ast.UpdateExtension, *ast.CreateCollation, *ast.CreateTable, *ast.CreateIndex, *ast.AlterTable, *ast.Truncate,
		*ast.CreateRole, *ast.DropRole, *ast.Grant, *ast.AlterDefaultPrivileges, *ast.ReassignOwned, *ast.CreateRoutine, *ast.CreateAggregate, *ast.CreateOperator, *ast.AlterRoutine, *ast.DropRoutine,
		*ast.CreatePolicy, *ast.AlterPolicy, *ast.DropPolicy,
		*ast.CreateTrigger, *ast.DropTrigger, *ast.AlterTriggerStmt, *ast.CreateEventTrigger, *ast.AlterEventTrigger,
		*ast.CreateStatistics, *ast.AlterStatistics:
		return true
	}
	return false
}
