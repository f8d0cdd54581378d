package backfill

import (
	"context"
	"maps"
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
)

// together is a rewrite that waits until all commands of a statement have changed the catalog, so that rows are written once
// for all of them.
type together struct {
	e    *statement.Env
	spec Spec
}

// Build implements statement.Rewrite.
func (t *together) Build(ctx context.Context) error {
	b, program, err := prepare(ctx, t.e, t.spec)
	if err != nil {
		return err
	}
	_, err = b.build(ctx, program)
	return err
}

// waits has a rewrite wait for later commands, or joins what a command does to a rewrite that waits. It returns false if the
// command must see to the rows itself; then nothing waits any more.
func waits(ctx context.Context, e *statement.Env, spec *Spec) (bool, error) {
	if e.Later == nil {
		return false, nil
	}
	before, _ := e.Later.Rewrite().(*together)
	switch {
	case before != nil && before.spec.joins(spec) && !(e.Later.Verifies() && slices.Contains(spec.Indexes, 0)): // it reads what the rewrite makes
		e.Later.SetRewrite(&together{e, before.spec.with(spec)})
		return true, nil
	case before != nil:
		if err := e.WriteRows(ctx); err != nil {
			return false, err
		}
	}
	if spec.InTurn || spec.Reshape != nil || spec.Query != nil || !slices.Contains(spec.Indexes, 0) {
		return false, nil
	}
	e.Later.SetRewrite(&together{e, *spec})
	return true, nil
}

// joins reports whether what comes later can be done with a rewrite. Expressions of later commands are about what the rewrite
// makes, which must be what it reads then.
func (s *Spec) joins(later *Spec) bool {
	if later.Old == nil || later.Table.ID != s.Table.ID || later.Query != nil || later.Reshape != nil {
		return false
	}
	for _, x := range later.Values {
		if !s.keepsAllOf(later.Old, x) {
			return false
		}
	}
	return true
}

// keepsAllOf reports whether an expression over what the rewrite makes means the same over what it reads: it has nothing but
// columns whose values, types and names stay.
func (s *Spec) keepsAllOf(made *catalog.Table, x ast.Expr) bool {
	same := true
	ast.Walk(x, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Select, *ast.Subquery:
			same = false
		case *ast.ColumnRef:
			ord, ok := made.ColumnByName(n.Column)
			if same = same && ok && !n.Star; !same {
				return false
			}
			c := &made.Columns[ord]
			old := s.Old.ColumnByID(c.ID)
			same = old >= 0 && s.Values[c.ID] == nil && s.Old.Columns[old].Name == c.Name && s.Old.Columns[old].Type.Is(c.Type)
		}
		return same
	})
	return same
}

// with is a rewrite with what comes later.
func (s *Spec) with(later *Spec) Spec {
	out := Spec{Old: s.Old, Table: later.Table, Values: maps.Clone(s.Values), Enforced: s.Enforced && later.Enforced}
	filled := func(i int) bool {
		id := later.Table.Indexes[i].ID
		return slices.Contains(later.Indexes, i) || slices.ContainsFunc(s.Indexes, func(j int) bool { return s.Table.Indexes[j].ID == id })
	}
	for i := range later.Table.Indexes {
		if filled(i) {
			out.Indexes = append(out.Indexes, i)
		}
	}
	out.Checks = append(slices.Clone(s.Checks), later.Checks...)
	for _, id := range append(slices.Clone(s.NotNull), later.NotNull...) {
		if later.Table.ColumnByID(id) >= 0 && !slices.Contains(out.NotNull, id) {
			out.NotNull = append(out.NotNull, id)
		}
	}
	for id, x := range later.Values {
		if out.Values == nil {
			out.Values = map[catalog.ColumnID]ast.Expr{}
		}
		out.Values[id] = x
	}
	maps.DeleteFunc(out.Values, func(id catalog.ColumnID, _ ast.Expr) bool { return later.Table.ColumnByID(id) < 0 })
	return out
}
