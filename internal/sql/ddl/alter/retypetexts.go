package alter

import (
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/relations"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/ddl/storedtext"
	"github.com/lichendb/lichen/internal/sql/deparse"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/types"
)

// printedTexts are the checks, index expressions and predicates of the table that read columns which
// commands change, as PostgreSQL prints them: with casts to the types that the columns have so far. The
// other stored texts, and what only Lichen knows and does not print, are "".
func (a *Alteration) printedTexts(ctx context.Context, cmds []*ast.AlterCmd) []string {
	var names []ast.Name
	for _, c := range cmds {
		names = append(names, c.Name)
	}
	var texts []string
	_ = storedtext.EachStored(a.T.Clone(), func(s storedtext.Text) (string, error) {
		text := ""
		if s.Table != nil && s.Want == nil && namesColumn(s.Text, names) {
			text, _ = deparser(ctx, a.E).Expr(ctx, s.Text, a.T, nil, nil, deparse.Layout{})
		}
		texts = append(texts, text)
		return s.Text, nil
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
func (a *Alteration) defineTexts(ctx context.Context, texts []string) error {
	i := 0
	return storedtext.EachStored(a.T, func(s storedtext.Text) (string, error) {
		i++
		if texts[i-1] == "" {
			return s.Text, nil
		}
		x, err := parser.ParseExpr(texts[i-1])
		if err != nil {
			return "", err
		}
		text, _, err := storedtext.RowText(ctx, a.E, a.T, x, nil, storedtext.InCheck)
		return text, err
	})
}

// readIndexTexts makes sure that the expressions and the predicates of indexes can be computed.
func (a *Alteration) readIndexTexts(ctx context.Context) error {
	var texts []string
	for i := range a.T.Columns {
		if c := &a.T.Columns[i]; c.IndexExpression() {
			texts = append(texts, c.Generated)
		}
	}
	for i := range a.T.Indexes {
		if where := a.T.Indexes[i].Where; where != "" {
			texts = append(texts, where)
		}
	}
	for _, text := range texts {
		if _, err := relations.ExpressionType(ctx, a.E, a.T, text); err != nil {
			return storedtext.Placed(a.E, err)
		}
	}
	return nil
}

// retypeExpressions gives the expressions of indexes the types that they have now, and reports whether
// one's values are stored in another way than before.
func (a *Alteration) retypeExpressions(ctx context.Context) (changed bool, err error) {
	for i := range a.T.Columns {
		c := &a.T.Columns[i]
		if !c.IndexExpression() {
			continue
		}
		value, err := relations.ExpressionType(ctx, a.E, a.T, c.Generated)
		if err != nil {
			return false, storedtext.Placed(a.E, err)
		}
		from := c.Type
		changed, c.Type = changed || !sameStorage(from, value.Type), value.Type
		if err := relations.CheckClasses(a.T, c, from); err != nil {
			return false, err
		}
	}
	return changed, nil
}

// deparser prints expressions so that this session reads them as what they are.
func deparser(ctx context.Context, e *statement.Env) *deparse.Env {
	planning := storedtext.PlannerEnv(e, e.Coll)
	planning.Stored = true
	relation := func(t *catalog.Table) string { return e.DisplayName(ctx, t) }
	return &deparse.Env{
		Planner:  planning,
		TypeName: func(t *types.T) *types.T { return catalog.Qualified(ctx, e.Coll, t) },
		FuncName: func(schema, name string) string { return ast.QuoteIdent(schema) + "." + ast.QuoteIdent(name) },
		CollationName: func(c *types.Collation) string {
			name := storedtext.CollationRef(ctx, e, c)
			return ast.QuoteIdent(name[0]) + "." + ast.QuoteIdent(name[len(name)-1])
		},
		RelationName: relation, FullName: relation,
		Format: storedtext.NeutralFormat(e),
	}
}
