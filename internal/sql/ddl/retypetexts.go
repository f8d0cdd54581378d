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

// printedTexts are the checks, index expressions and predicates of the table that read columns which
// commands change, as PostgreSQL prints them: with casts to the types that the columns have so far. The
// other stored texts, and what only Lichen knows and does not print, are "".
func (a *alteration) printedTexts(ctx context.Context, cmds []*ast.AlterCmd) []string {
	var names []ast.Name
	for _, c := range cmds {
		names = append(names, c.Name)
	}
	var texts []string
	_ = eachStored(a.t.Clone(), func(s storedText) (string, error) {
		text := ""
		if s.table != nil && s.want == nil && namesColumn(s.text, names) {
			text, _ = a.e.deparser(ctx).Expr(ctx, s.text, a.t, nil, nil, deparse.Layout{})
		}
		texts = append(texts, text)
		return s.text, nil
	})
	return texts
}

// namesColumn reports whether an expression names one of some columns.
func namesColumn(text string, names []ast.Name) (found bool) {
	x, err := parser.ParseExpr(text)
	if err != nil {
		return false
	}
	ast.Walk(x, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ColumnRef:
			found = found || slices.Contains(names, n.Column)
		case *ast.FieldSelect:
			found = found || slices.Contains(names, n.Field)
		}
		return !found
	})
	return found
}

// defineTexts defines expressions anew by the texts of printedTexts, as ALTER COLUMN TYPE does in
// PostgreSQL: c < 50 of a numeric column still compares numeric values once c is an integer.
func (a *alteration) defineTexts(ctx context.Context, texts []string) error {
	i := 0
	return eachStored(a.t, func(s storedText) (string, error) {
		i++
		if texts[i-1] == "" {
			return s.text, nil
		}
		x, err := parser.ParseExpr(texts[i-1])
		if err != nil {
			return "", err
		}
		text, _, err := a.e.rowText(ctx, a.t, x, nil, inCheck)
		return text, err
	})
}

// retypeExpressions gives the expressions of indexes the types that they have now, and reports whether
// one's values are stored in another way than before.
func (a *alteration) retypeExpressions(ctx context.Context) (changed bool, err error) {
	for i := range a.t.Columns {
		c := &a.t.Columns[i]
		if !c.IndexExpression() {
			continue
		}
		value, err := a.e.expressionType(ctx, a.t, c.Generated)
		if err != nil {
			return false, a.e.placed(err)
		}
		from := c.Type
		changed, c.Type = changed || !sameStorage(from, value.Type), value.Type
		if err := checkClasses(a.t, c, from); err != nil {
			return false, err
		}
	}
	return changed, nil
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
