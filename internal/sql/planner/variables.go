package planner

import (
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Conflict says what a name means that a column and a variable have.
type Conflict uint8

// The answers.
const (
	ColumnFirst Conflict = iota
	VariableFirst
	ConflictIsError
)

// Variables are what names stand for beside columns: the parameters of a function, the variables of a block.
type Variables struct {
	// Find returns the parameter, or a part of one, that a name means; nil if it means none. parts are its
	// one to three words.
	Find     func(parts []ast.Name) (plan.Expr, error)
	Conflict Conflict
	// Rows returns the type of the rows of a table that only the function knows, by its name; nil if there is none. A
	// nil Rows knows none.
	Rows func(name ast.Name) *types.T
}

// variable returns what a name stands for among the variables, nil if there is none.
func (b *builder) variable(e *ast.ColumnRef) (plan.Expr, error) {
	v := b.env.Variables
	if v == nil {
		return nil, nil
	}
	parts := make([]ast.Name, 0, 3)
	for _, p := range [...]ast.Name{e.Schema, e.Table, e.Column} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	x, err := v.Find(parts)
	if err != nil {
		return nil, pgerr.From(err).At(e.Pos)
	}
	return x, nil
}

// nameRef resolves a name that may be a column's or a variable's.
func (b *builder) nameRef(e *ast.ColumnRef, s *scope) (plan.Expr, error) {
	v, err := b.variable(e)
	if err != nil {
		return nil, err
	}
	if v != nil && b.env.Variables.Conflict == VariableFirst {
		return v, nil
	}
	c, err := b.column(e, s)
	switch code := pgerr.CodeOf(err); {
	case v == nil:
		return c, err
	case err == nil && b.env.Variables.Conflict == ConflictIsError:
		return nil, pgerr.From(ambiguousColumn(e.Column, e.Pos)).
			WithDetail("It could refer to either a PL/pgSQL variable or a table column.")
	case err == nil:
		return c, nil
	case code == pgerr.UndefinedColumn || code == pgerr.UndefinedTable:
		return v, nil
	}
	return nil, err
}

// variableStar plans v.* of a variable that is a row; nil if there is no such variable.
func (b *builder) variableStar(e *ast.ColumnRef) ([]target, error) {
	x, err := b.variable(&ast.ColumnRef{Loc: e.Loc, Table: e.Schema, Column: e.Table})
	if err != nil || x == nil {
		return nil, err
	}
	fields := b.fieldsOf(x)
	if fields == nil {
		return nil, nil
	}
	var out []target
	for i, f := range fields {
		out = append(out, target{name: f.name, expr: &plan.FieldSelect{Arg: x, Field: i, Name: f.name, T: f.typ}, pos: e.Pos})
	}
	return out, nil
}
