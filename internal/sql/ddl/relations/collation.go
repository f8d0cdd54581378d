package relations

import (
	"context"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/ddl/storedtext"
)

// SortKeys makes a key column one of sort keys, where a language's collation orders it: then the
// index has rows in that order. The pattern operator classes ask for the order of bytes. That
// also serves unique indexes, unless the collation takes strings for equal that differ.
func SortKeys(ctx context.Context, e *statement.Env, t *catalog.Table, k *catalog.IndexColumn, unique bool) error {
	col, c := &t.Columns[t.ColumnByID(k.Column)], storedtext.KeyedBy(t, k)
	if c == nil || c.Bytewise() || unique && !c.Nondeterministic || col.Virtual || col.Type.Elem != nil || strings.HasSuffix(k.OpClass, "_pattern_ops") {
		return nil
	}
	key, err := expressionColumn(ctx, e, t, &ast.FuncCall{Name: ast.FuncName{Name: "collation_key"}, Args: []ast.Expr{
		&ast.ColumnRef{Column: col.Name}, &ast.StrLit{Val: c.Locale}, &ast.BoolLit{Val: !c.Nondeterministic},
	}})
	if err == nil {
		k.Column, k.SortKey = key.ID, true
	}
	return err
}
