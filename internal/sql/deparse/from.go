package deparse

import (
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/types"
)

// from prints the FROM clause.
func (d *deparser) from(list []ast.TableExpr) {
	for i, te := range list {
		if i == 0 {
			d.keyword(" FROM ", -indentStep, indentStep, 2)
			d.fromItem(te)
			continue
		}
		d.w(", ")
		text := d.apart(func() { d.fromItem(te) })
		if strings.HasPrefix(text, "\n") {
			d.trimSpaces()
		} else if d.lineLen()+len(text) > d.layout.Wrap {
			d.keyword("", -indentStep, indentStep, indentVar)
		}
		d.w(text)
	}
}

// fromItem prints an item of FROM.
func (d *deparser) fromItem(te ast.TableExpr) {
	switch te := te.(type) {
	case *ast.TableRef:
		d.tableRef(te)
	case *ast.SubqueryRef:
		d.lateral(te.Lateral)
		d.w("(")
		d.nested(te.Query, true)
		d.w(")")
		d.alias(te, te.Alias.Cols)
	case *ast.FuncRef:
		d.funcRef(te)
	case *ast.Join:
		d.join(te)
	default:
		d.unsupported(te)
	}
}

func (d *deparser) lateral(yes bool) {
	if yes {
		d.w("LATERAL ")
	}
}

// itemName prints the name of an item that has to have one; false if it has none.
func (d *deparser) itemName(te ast.TableExpr) (r *planner.Relation, ok bool) {
	r = d.notes.Relations[te]
	name, ok := d.names.of(r)
	if !ok {
		d.unsupported(te)
		return nil, false
	}
	d.w(" ", ast.QuoteIdent(name))
	return r, true
}

// alias prints the name of an item, with its columns if they have others.
func (d *deparser) alias(te ast.TableExpr, cols []ast.Name) {
	r, ok := d.itemName(te)
	if !ok {
		return
	}
	if names := d.columnsOf(r); len(cols) > 0 || !slices.Equal(names, r.Columns) {
		d.columnList(names)
	}
}

func (d *deparser) tableRef(te *ast.TableRef) {
	r := d.notes.Relations[te]
	if r == nil {
		d.unsupported(te)
		return
	}
	own := te.Name.Table
	if te.Only {
		d.w("ONLY ")
	}
	if r.View != nil {
		own = r.View.Name
		d.w(d.relationName(r.View))
	} else {
		d.w(ast.QuoteIdent(own))
	}
	name, _ := d.names.of(r)
	columns := d.columnsOf(r)
	renamed := !slices.Equal(columns, d.ownColumns(te, r))
	if te.Alias.Name != "" || name != own || renamed {
		d.w(" ", ast.QuoteIdent(name))
	}
	if renamed {
		d.columnList(columns)
	}
	if s := te.Sample; s != nil {
		d.w(" TABLESAMPLE ", ast.QuoteIdent(s.Method.Name), " (")
		for i, x := range s.Args {
			if i > 0 {
				d.w(", ")
			}
			d.expr(d.coerce(d.resolve(x), types.Float4), false)
		}
		d.w(")")
		if s.Repeatable != nil {
			d.w(" REPEATABLE (")
			d.expr(d.coerce(d.resolve(s.Repeatable), types.Float8), false)
			d.w(")")
		}
	}
}

// ownColumns are the names that the columns of an item have without an alias list, nil if the list
// is to be printed: that of a WITH query always is.
func (d *deparser) ownColumns(te *ast.TableRef, r *planner.Relation) []ast.Name {
	switch {
	case len(te.Alias.Cols) == 0:
		return r.Columns
	case r.View == nil:
		return nil
	}
	out := slices.Clone(r.Columns)
	for i, s := range r.Sources {
		at := slices.IndexFunc(r.View.Columns, func(c catalog.Column) bool { return c.Attnum == s.Attnum })
		if at >= 0 {
			out[i] = r.View.Columns[at].Name
		}
	}
	return out
}

// relationName is how a relation is found here: a query of WITH may hide its plain name.
func (d *deparser) relationName(t *catalog.Table) string {
	for n := d.names; n != nil; n = n.outer {
		if n.with[t.Name] {
			return d.env.FullName(t)
		}
	}
	return d.env.RelationName(t)
}

// funcRef prints functions in FROM, with the names of all their columns.
func (d *deparser) funcRef(te *ast.FuncRef) {
	d.lateral(te.Lateral || d.usesNeighbours(te))
	switch arrays := unnested(te); {
	case arrays != nil:
		d.w("UNNEST(")
		d.exprs(d.list(arrays))
		d.w(")")
	case len(te.Funcs) == 1 && !keepsDecls(te):
		d.expr(d.settle(d.resolve(te.Funcs[0].Call)), true)
	default:
		d.w("ROWS FROM(")
		for i, f := range te.Funcs {
			if i > 0 {
				d.w(", ")
			}
			d.expr(d.settle(d.resolve(f.Call)), true)
			if f.Cols != nil {
				d.w(" AS ")
				d.columnDecls(f.Cols)
			}
		}
		d.w(")")
	}
	if te.Ordinality {
		d.w(" WITH ORDINALITY")
	}
	r, ok := d.itemName(te)
	if !ok {
		return
	}
	decls := te.Cols
	if decls == nil && len(te.Funcs) == 1 {
		decls = te.Funcs[0].Cols
	}
	if decls != nil && !keepsDecls(te) {
		d.columnDecls(decls)
		return
	}
	d.columnList(d.columnsOf(r))
}

// keepsDecls reports whether the columns that a single function declares in ROWS FROM have to be
// declared there, as they have other names outside or a number beside them. PostgreSQL declares
// the outer names, by which a function like jsonb_to_recordset would read other values.
func keepsDecls(te *ast.FuncRef) bool {
	return te.Funcs[0].Cols != nil && (te.Ordinality || len(te.Alias.Cols) > 0)
}

// unnested are the arrays of several calls of unnest side by side, which may be one with
// several arguments; nil if te is something else.
func unnested(te *ast.FuncRef) []ast.Expr {
	var out []ast.Expr
	for _, f := range te.Funcs {
		c, ok := f.Call.(*ast.FuncCall)
		if !ok || c.Name.Name != "unnest" || f.Cols != nil || len(te.Funcs) > 1 && len(c.Args) != 1 {
			return nil
		}
		out = append(out, c.Args...)
	}
	if len(out) < 2 {
		return nil
	}
	return out
}

// usesNeighbours reports whether functions use columns of the same FROM.
func (d *deparser) usesNeighbours(te *ast.FuncRef) (found bool) {
	for _, f := range te.Funcs {
		ast.Walk(f.Call, func(n ast.Node) bool {
			if ref, ok := n.(*ast.ColumnRef); ok {
				_, here := d.names.names[d.notes.Columns[ref].Relation]
				found = found || here
			}
			return !found
		})
	}
	return found
}

// joinAlias prints the name of a join, with its columns if they have others than in its sides.
func (d *deparser) joinAlias(j *ast.Join) {
	r, ok := d.itemName(j)
	if !ok {
		return
	}
	if names := d.columnsOf(r); !slices.Equal(names, d.joinColumns(j)) {
		d.columnList(names)
	}
}

// columnDecls prints a column definition list.
func (d *deparser) columnDecls(list []ast.ColumnDecl) {
	d.w("(")
	for i, c := range list {
		if i > 0 {
			d.w(", ")
		}
		t, err := planner.FindType(d.ctx, c.Type, d.env.Planner.DefaultIntSize, d.env.Planner.Catalog)
		if err != nil {
			d.fail(err)
			return
		}
		d.w(ast.QuoteIdent(c.Name), " ", d.typeText(t))
	}
	d.w(")")
}

func (d *deparser) join(j *ast.Join) {
	named := j.Alias.Name != ""
	around := !d.layout.Pretty || named
	if around {
		d.w("(")
	}
	d.fromItem(j.L)
	word := [...]string{ast.JoinInner: " JOIN ", ast.JoinLeft: " LEFT JOIN ", ast.JoinRight: " RIGHT JOIN ", ast.JoinFull: " FULL JOIN ", ast.JoinCross: " CROSS JOIN "}[j.Kind]
	using := d.using[j]
	if j.Natural && len(using) == 0 && j.Kind == ast.JoinInner {
		word = " CROSS JOIN "
	}
	d.keyword(word, -indentStep, indentStep, indentJoin)
	right, isJoin := j.R.(*ast.Join)
	paren := d.layout.Pretty && isJoin && right.Alias.Name == ""
	if paren {
		d.w("(")
	}
	d.fromItem(j.R)
	if paren {
		d.w(")")
	}
	switch {
	case len(using) > 0:
		d.w(" USING (", identList(using), ")")
		if j.UsingAlias != "" {
			d.w(" AS ", ast.QuoteIdent(j.UsingAlias))
		}
	case j.On != nil:
		d.w(" ON ")
		d.open()
		d.expr(d.coerce(d.resolve(j.On), types.Bool), false)
		d.close()
	case j.Natural && j.Kind != ast.JoinInner:
		d.w(" ON TRUE")
	}
	if around {
		d.w(")")
	}
	if named {
		d.joinAlias(j)
	}
}
