package sql

import (
	"context"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/prepared"
	"github.com/lichendb/lichen/internal/sql/types"
)

// prepare executes PREPARE name (types) AS statement.
func (x *execution) prepare(ctx context.Context, st *ast.Prepare) error {
	ex := x.ex
	name := string(st.Name)
	p := &prepared.Statement{Name: name, Text: ex.current.Query(), Stmt: parser.Statement{
		AST: st.Stmt, SQL: ast.Format(st.Stmt), NumParams: st.NumParams,
	}}
	for _, tn := range st.Types {
		t, err := planner.FindType(ctx, tn, ex.vals.Fast.DefaultIntSize, ex.coll)
		if err != nil {
			return err
		}
		p.Declared = append(p.Declared, t.BaseType().WithTypmod(-1)) // as in PostgreSQL
		if t.OfDomain() {
			p.Domains = append(p.Domains, prepared.DomainParam{N: len(p.Declared) - 1, As: tn})
		}
	}
	ex.txn.Ensure()
	c, err := ex.planner.For(ctx, p, nil)
	if err != nil {
		return err
	}
	if err := ex.statements.Admit(name); err != nil {
		return err
	}
	p.Planned(c, ex.resultColumns(c.Prep))
	p.FixTypes()
	p.FromSQL = true
	return ex.statements.Keep(p)
}

// bindNamed makes the execution of a statement that names a prepared one that of what it stands for.
func (x *execution) bindNamed(ctx context.Context, stmt ast.Statement) error {
	switch st := stmt.(type) {
	case *ast.Execute:
		return x.bindExecute(ctx, st)
	case *ast.Explain:
		if named, ok := st.Stmt.(*ast.Execute); ok {
			return x.bindExplained(ctx, st, named)
		}
	case *ast.CreateTableAs:
		if named, ok := st.Query.(*ast.Execute); ok {
			return x.bindFilled(ctx, st, named)
		}
	}
	return nil
}

// bindExecute makes the execution of EXECUTE that of the statement it names.
func (x *execution) bindExecute(ctx context.Context, st *ast.Execute) error {
	ex := x.ex
	p, err := ex.statements.Find(string(st.Name))
	if err != nil {
		return err
	}
	if len(st.Args) != len(p.ParamTypes()) {
		return pgerr.New(pgerr.SyntaxError, "wrong number of parameters for prepared statement \"%s\"", p.Name).
			WithDetail("Expected %d parameters but got %d.", len(p.ParamTypes()), len(st.Args))
	}
	params := make([]types.Datum, len(st.Args))
	ex.txn.Ensure()
	for i, arg := range st.Args {
		arg = p.DomainArg(i, arg)
		if params[i], err = ex.eval.argument(ctx, i, arg, p.ParamTypes()[i]); err != nil {
			return err
		}
	}
	x.prepared, x.params = p, params
	return nil
}

// bindFilled makes the execution of CREATE TABLE AS EXECUTE that of CREATE TABLE AS with the query it names.
func (x *execution) bindFilled(ctx context.Context, st *ast.CreateTableAs, named *ast.Execute) error {
	if err := x.bindExecute(ctx, named); err != nil {
		return err
	}
	p := x.prepared
	if _, ok := p.Stmt.AST.(*ast.Select); !ok {
		return pgerr.New(pgerr.WrongObjectType, "prepared statement is not a SELECT")
	}
	c := *st
	c.Query = p.Stmt.AST
	filled := &prepared.Statement{Text: p.Text, Stmt: p.Stmt, Declared: p.ParamTypes(), NoParams: true, Apart: true}
	filled.Stmt.AST, filled.Stmt.SQL = &c, ast.Format(&c)
	x.prepared = filled
	return nil
}

// bindExplained makes the execution of EXPLAIN EXECUTE that of EXPLAIN of the statement it names,
// which is refused as its execution would be if its rows have changed.
func (x *execution) bindExplained(ctx context.Context, st *ast.Explain, named *ast.Execute) error {
	if err := x.bindExecute(ctx, named); err != nil {
		return err
	}
	if _, err := x.ex.planner.For(ctx, x.prepared, x.params); err != nil {
		return err
	}
	x.prepared = x.prepared.Explained(st)
	return nil
}
