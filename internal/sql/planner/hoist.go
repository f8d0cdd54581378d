package planner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// hoister turns FROM [INSERT ... RETURNING ...] at the top of a statement into references
// to names of a WITH clause, which does what such a statement is to do: it runs once,
// whether or not its rows are read.
type hoister struct {
	with *ast.With
	n    int
}

// query returns q with references in place of the statements in its FROM lists, not of
// those of its subqueries.
func (h *hoister) query(q *ast.Select) (*ast.Select, error) {
	if !hoists(q) {
		return q, nil
	}
	out := *q
	var err error
	if q.Op != ast.SetNone {
		if out.L, err = h.query(q.L); err == nil {
			out.R, err = h.query(q.R)
		}
		return &out, err
	}
	out.From = slices.Clone(q.From)
	for i := range out.From {
		if out.From[i], err = h.table(out.From[i]); err != nil {
			return nil, err
		}
	}
	return &out, nil
}

// hoists reports whether a query has statements in its FROM lists that change rows.
func hoists(q *ast.Select) bool {
	if q.Op != ast.SetNone {
		return hoists(q.L) || hoists(q.R)
	}
	return slices.ContainsFunc(q.From, modifyingTable)
}

// ChangesRows reports whether a query has statements that change rows, in WITH or in FROM.
func ChangesRows(q *ast.Select) bool {
	return hoists(q) || q.With != nil && slices.ContainsFunc(q.With.CTEs, func(c *ast.CTE) bool {
		_, ok := c.Stmt.(*ast.Select)
		return !ok
	})
}

func modifyingTable(te ast.TableExpr) bool {
	switch te := te.(type) {
	case *ast.Join:
		return modifyingTable(te.L) || modifyingTable(te.R)
	case *ast.StatementRef:
		_, ok := returningOf(te.Stmt)
		return ok
	}
	return false
}

// returningOf returns the RETURNING list of a statement that changes rows.
func returningOf(stmt ast.Statement) (list []ast.SelectItem, ok bool) {
	switch s := stmt.(type) {
	case *ast.Insert:
		return s.Returning, true
	case *ast.Update:
		return s.Returning, true
	case *ast.Delete:
		return s.Returning, true
	}
	return nil, false
}

func (h *hoister) table(te ast.TableExpr) (ast.TableExpr, error) {
	switch te := te.(type) {
	case *ast.Join:
		out := *te
		var err error
		if out.L, err = h.table(te.L); err == nil {
			out.R, err = h.table(te.R)
		}
		return &out, err
	case *ast.StatementRef:
		list, ok := returningOf(te.Stmt)
		if !ok {
			break
		}
		if len(list) == 0 {
			return nil, pgerr.New(pgerr.SyntaxError, "%s in FROM needs a RETURNING clause", te.Stmt.Tag()).At(te.Pos)
		}
		h.n++
		name := fmt.Sprintf("[%s %d]", strings.ToLower(te.Stmt.Tag()), h.n)
		h.with.CTEs = append(h.with.CTEs, &ast.CTE{Loc: te.Loc, Name: name, Stmt: te.Stmt})
		return &ast.TableRef{Loc: te.Loc, Name: ast.TableName{Loc: te.Loc, Table: name}, Alias: te.Alias}, nil
	}
	return te, nil
}

// hoistFrom takes the statements that change rows out of the FROM lists of a query into the
// WITH clause of the statement that it is, or is the source of.
func hoistFrom(q *ast.Select, with *ast.With) (*ast.Select, *ast.With, error) {
	if q == nil || !hoists(q) {
		return q, with, nil
	}
	h := &hoister{with: &ast.With{Loc: q.Loc}}
	if with != nil {
		h.with.Recursive, h.with.CTEs = with.Recursive, slices.Clone(with.CTEs)
	}
	q, err := h.query(q)
	return q, h.with, err
}
