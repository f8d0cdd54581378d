package ddl

import (
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/deparse"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/types"
)

// printedChecks are the checks of the table that read columns which commands change, as PostgreSQL
// prints them: with casts to the types that the columns have so far. The others, and what only Lichen
// knows and does not print, are "".
func (a *alteration) printedChecks(ctx context.Context, cmds []*ast.AlterCmd) []string {
	changes := func(id catalog.ColumnID) bool {
		name := a.columnByID(id).Name
		return slices.ContainsFunc(cmds, func(c *ast.AlterCmd) bool { return c.Name == name })
	}
	texts := make([]string, len(a.t.Checks))
	for i := range a.t.Checks {
		if k := &a.t.Checks[i]; slices.ContainsFunc(k.Columns, changes) {
			texts[i], _ = a.e.deparser(ctx).Expr(ctx, k.Expr, a.t, nil, types.Bool, deparse.Layout{})
		}
	}
	return texts
}

// defineChecks defines checks anew by the texts of printedChecks, as ALTER COLUMN TYPE does in
// PostgreSQL: c < 50 of a numeric column still compares numeric values once c is an integer.
func (a *alteration) defineChecks(ctx context.Context, texts []string) error {
	for i, text := range texts {
		if text == "" {
			continue
		}
		x, err := parser.ParseExpr(text)
		if err != nil {
			return err
		}
		k := &a.t.Checks[i]
		if k.Expr, _, err = a.e.rowText(ctx, a.t, x, nil, inCheck); err != nil {
			return err
		}
	}
	return nil
}

// deparser prints expressions so that this session reads them as what they are.
func (e *Env) deparser(ctx context.Context) *deparse.Env {
	planning := e.plannerEnv(e.Coll)
	planning.Stored = true
	relation := func(t *catalog.Table) string { return e.displayName(ctx, t) }
	return &deparse.Env{
		Planner:  planning,
		TypeName: func(t *types.T) *types.T { return catalog.Qualified(ctx, e.Coll, t) },
		FuncName: func(schema, name string) string { return ast.QuoteIdent(schema) + "." + ast.QuoteIdent(name) },
		CollationName: func(c *types.Collation) string {
			name := e.collationRef(ctx, c)
			return ast.QuoteIdent(name[0]) + "." + ast.QuoteIdent(name[len(name)-1])
		},
		RelationName: relation, FullName: relation,
		Format: e.neutralFormat(),
	}
}
