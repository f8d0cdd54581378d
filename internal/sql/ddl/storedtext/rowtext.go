package storedtext

import (
	"context"
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/types"
)

// rowUse is what an expression over the columns of a table is for.
type rowUse struct {
	// plural and singular name it in messages.
	plural, singular string
	// wholeRow is the error of a reference to the row as a whole, nil where it may stand.
	wholeRow *pgerr.Error
}

var (
	InCheck     = &rowUse{plural: "check constraints", singular: "check constraint"}
	InGenerated = &rowUse{
		plural: "column generation expressions", singular: "column generation expression",
		wholeRow: pgerr.New(pgerr.InvalidObjectDefinition, "cannot use whole-row variable in column generation expression").
			WithDetail("This would cause the generated column to depend on its own value."),
	}
	InIndexExpression = &rowUse{
		plural: "index expressions", singular: "index expression",
		wholeRow: pgerr.Unsupported("whole-row references in index expressions are not supported"),
	}
	InExpiry         = &rowUse{plural: "TTL expiration expressions", singular: "TTL expiration expression"}
	InIndexPredicate = &rowUse{
		plural: "index predicates", singular: "index predicate",
		wholeRow: pgerr.Unsupported("whole-row references in index predicates are not supported"),
	}
)

// RowText checks the form of an expression over the columns of t and returns the text to store
// with the columns that it names. Columns lose the name of the table, which may change; a
// reference to the row as a whole is stored as table.* and follows the name
// (RenameWholeRows). want is the type of the column that the expression is assigned to, if any.
func RowText(ctx context.Context, e *statement.Env, t *catalog.Table, x ast.Expr, want *types.T, use *rowUse) (string, []catalog.ColumnID, error) {
	r := rowReader{t: t, use: use}
	ast.Walk(x, func(n ast.Node) bool {
		if r.err == nil {
			r.read(n)
		}
		return r.err == nil
	})
	if r.err != nil {
		return "", nil, firstError(ctx, e, t, x, r.err)
	}
	text, err := pinnedText(ctx, e, x)
	if err != nil {
		return "", nil, err
	}
	return FixLiterals(ctx, e, text, t, nil, want), r.cols, nil
}

// firstError is what the analysis of an expression fails with in which a column is not found: an operator
// before that column may not exist either.
func firstError(ctx context.Context, e *statement.Env, t *catalog.Table, x ast.Expr, missing error) error {
	if pgerr.From(missing).Code != pgerr.UndefinedColumn {
		return missing
	}
	if _, _, err := planner.Annotate(ctx, PlannerEnv(e, e.Coll), x, t, nil, nil); err != nil && strings.HasPrefix(string(pgerr.From(err).Code), "42") {
		return err
	}
	return missing
}

// rowReader collects the columns that an expression names.
type rowReader struct {
	t    *catalog.Table
	use  *rowUse
	cols []catalog.ColumnID
	// fieldOf is the row of the (t).column that was read last.
	fieldOf *ast.ColumnRef
	err     error
}

func (r *rowReader) read(n ast.Node) {
	switch n := n.(type) {
	case *ast.ColumnRef:
		r.reference(n)
	case *ast.Row:
		r.expandStars(n)
	case *ast.FieldSelect:
		r.field(n)
	default:
		r.err = CheckExprNode(n, r.use.plural, r.use.singular)
	}
}

// reference makes a reference one that outlives a renaming of the table.
func (r *rowReader) reference(ref *ast.ColumnRef) {
	if ref.Table != "" && ref.Table != r.t.Name {
		r.err = pgerr.New(pgerr.UndefinedTable, "missing FROM-clause entry for table \"%s\"", ref.Table).At(ref.Pos)
		return
	}
	if r.isWholeRow(ref) {
		r.wholeRow(ref)
		return
	}
	c := r.column(ref.Column)
	switch {
	case c != nil:
		r.note(c)
		ref.Catalog, ref.Schema, ref.Table = "", "", ""
	case ref.Star:
		r.err = pgerr.New(pgerr.SyntaxError, "row expansion via \"*\" is not supported here").At(ref.Pos)
	case ref.Table != "":
		r.err = pgerr.New(pgerr.UndefinedColumn, "column %s.%s does not exist", ref.Table, ref.Column).At(ref.Pos)
	default:
		r.err = pgerr.New(pgerr.UndefinedColumn, "column \"%s\" does not exist", ref.Column).At(ref.Pos)
	}
}

// column finds a column by the name of a reference, nil if there is none.
func (r *rowReader) column(name ast.Name) *catalog.Column {
	ord, ok := r.t.ColumnByName(name)
	if !ok || r.t.Columns[ord].IndexExpression() {
		return nil
	}
	return &r.t.Columns[ord]
}

func (r *rowReader) note(c *catalog.Column) {
	if !slices.Contains(r.cols, c.ID) {
		r.cols = append(r.cols, c.ID)
	}
}

// isWholeRow reports whether a reference is t.*, or the name of t where no column has it.
func (r *rowReader) isWholeRow(ref *ast.ColumnRef) bool {
	if ref.Star {
		return ref.Table != ""
	}
	return ref.Table == "" && ref.Column == r.t.Name && r.column(ref.Column) == nil
}

func (r *rowReader) wholeRow(ref *ast.ColumnRef) {
	if r.use.wholeRow != nil && ref != r.fieldOf {
		at := *r.use.wholeRow
		r.err = at.At(ref.Pos)
		return
	}
	*ref = ast.ColumnRef{Loc: ref.Loc, Table: r.t.Name, Star: true}
}

// expandStars puts the columns that the table has now in the place of *, t.* and (t).* within ROW(…).
func (r *rowReader) expandStars(row *ast.Row) {
	var elems []ast.Expr
	for _, x := range row.Elems {
		if !r.isStar(x) {
			elems = append(elems, x)
			continue
		}
		for i := range r.t.Columns {
			if c := &r.t.Columns[i]; c.InStar() {
				elems = append(elems, &ast.ColumnRef{Loc: ast.Loc{Pos: x.Position()}, Column: c.Name})
			}
		}
	}
	row.Elems = elems
}

func (r *rowReader) isStar(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.ColumnRef:
		return x.Star && (x.Table == "" || x.Table == r.t.Name)
	case *ast.FieldSelect:
		ref, ok := x.X.(*ast.ColumnRef)
		return ok && x.Star && r.isWholeRow(ref)
	}
	return false
}

// field notes the column that (t).column names: of the row nothing else is read.
func (r *rowReader) field(f *ast.FieldSelect) {
	ref, ok := f.X.(*ast.ColumnRef)
	if !ok || f.Star || !r.isWholeRow(ref) {
		return
	}
	if c := r.column(f.Field); c != nil {
		r.note(c)
		r.fieldOf = ref
	}
}

// RenameInExpr renames a column in the text of an expression.
func RenameInExpr(text, from, to string) (string, error) {
	x, err := parser.ParseExpr(text)
	if err != nil {
		return "", err
	}
	ast.Walk(x, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ColumnRef:
			if n.Column == from {
				n.Column = to
			}
		case *ast.FieldSelect:
			if ref, ok := n.X.(*ast.ColumnRef); ok && ref.Star && n.Field == from {
				n.Field = to
			}
		}
		return true
	})
	return ast.Format(x), nil
}

// RenameWholeRows makes the expressions of t call its rows by its present name.
func RenameWholeRows(t *catalog.Table, from ast.Name) error {
	return EachStored(t, func(s Text) (string, error) {
		if s.Table == nil || !HasWholeRow(s.Text) {
			return s.Text, nil
		}
		x, err := parser.ParseExpr(s.Text)
		if err != nil {
			return "", err
		}
		ast.Walk(x, func(n ast.Node) bool {
			if ref, ok := n.(*ast.ColumnRef); ok && ref.Star && ref.Table == from {
				ref.Table = t.Name
			}
			return true
		})
		return ast.Format(x), nil
	})
}

// HasWholeRow reports whether a stored expression reads the row as a whole.
func HasWholeRow(text string) bool {
	if !strings.Contains(text, ".*") {
		return false
	}
	x, err := parser.ParseExpr(text)
	found := false
	if err == nil {
		ast.Walk(x, func(n ast.Node) bool {
			ref, ok := n.(*ast.ColumnRef)
			found = found || ok && ref.Star
			return !found
		})
	}
	return found
}
