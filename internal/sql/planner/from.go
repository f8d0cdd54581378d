package planner

import (
	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/privilege"
)

// fromItem is a planned item of FROM.
type fromItem struct {
	node  plan.Node
	items []*item
	// lateral are the columns of earlier items of the same FROM that node uses.
	lateral []plan.ColRef
}

// oneRow is the input of a SELECT without FROM: one row of no columns.
func oneRow() plan.Node { return &plan.Values{RowExprs: [][]plan.Expr{{}}} }

// fromClause plans a FROM list and puts its items into s.
func (b *builder) fromClause(list []ast.TableExpr, s *scope) (plan.Node, error) {
	if len(list) == 0 {
		return oneRow(), nil
	}
	var acc *fromItem
	for _, te := range list {
		f, err := b.tableExpr(te, s)
		if err != nil {
			return nil, err
		}
		if err := checkAliases(s.items, f.items); err != nil {
			return nil, err
		}
		s.items = append(s.items, f.items...)
		if acc == nil {
			acc = f
			continue
		}
		acc = crossJoin(acc, f)
	}
	return acc.node, nil
}

// checkAliases rejects two relations of one name.
func checkAliases(have, add []*item) error {
	for _, a := range add {
		if !a.relVisible || a.alias == "" {
			continue
		}
		for _, h := range have {
			if h.relVisible && h.alias == a.alias && (h.plain == nil || a.plain == nil || h.plain.ID == a.plain.ID) {
				return pgerr.New(pgerr.DuplicateAlias, "table name \"%s\" specified more than once", a.alias)
			}
		}
	}
	return nil
}

// tableExpr plans one item of FROM; s holds the items to its left.
func (b *builder) tableExpr(te ast.TableExpr, s *scope) (*fromItem, error) {
	f, err := b.fromItem(te, s)
	if err == nil {
		b.env.Notes.noteRelation(te, f)
	}
	return f, err
}

func (b *builder) fromItem(te ast.TableExpr, s *scope) (*fromItem, error) {
	switch te := te.(type) {
	case *ast.TableRef:
		return b.tableRef(te, s)
	case *ast.SubqueryRef:
		return b.subqueryRef(te, s)
	case *ast.Join:
		return b.joinExpr(te, s)
	case *ast.FuncRef:
		return b.funcRef(te, s)
	case *ast.StatementRef:
		return b.statementRef(te, s)
	}
	return nil, pgerr.Assertion("unknown table expression %T", te).At(te.Position())
}

// statementRef plans FROM [SHOW ...].
func (b *builder) statementRef(te *ast.StatementRef, s *scope) (*fromItem, error) {
	if _, ok := returningOf(te.Stmt); ok {
		return nil, pgerr.Unsupported("%s in FROM is only supported at the top level of a statement", te.Stmt.Tag()).At(te.Pos)
	}
	if b.env.Source == nil {
		return nil, pgerr.Unsupported("a statement in FROM is not supported here").At(te.Pos)
	}
	query, cols, err := b.env.Source(te.Stmt)
	if err != nil {
		return nil, pgerr.From(err).At(te.Pos)
	}
	if query != nil {
		return b.subqueryRef(&ast.SubqueryRef{Loc: te.Loc, Query: query, Alias: te.Alias}, s)
	}
	t := &catalog.Table{Name: te.Stmt.Tag(), Kind: catalog.KindVirtual}
	if te.Alias.Name != "" {
		t.Name = te.Alias.Name
	}
	for _, c := range cols {
		t.Columns = append(t.Columns, catalog.Column{Name: c.Name, Type: c.Type})
	}
	node := b.scan(t, t.Name)
	node.(*plan.VirtualScan).Stmt = te.Stmt
	it := colsItem(te.Alias.Name, node.Props().Cols)
	it.relVisible = te.Alias.Name != ""
	return &fromItem{node: node, items: []*item{it}}, renameCols(it, te.Alias.Cols)
}

// tableRef plans a table, view or CTE.
func (b *builder) tableRef(te *ast.TableRef, s *scope) (*fromItem, error) {
	if te.Name.Schema == "" && te.Name.Catalog == "" {
		if c := s.findCTE(te.Name.Table); c != nil {
			if te.Sample != nil {
				return nil, errSample(te)
			}
			return b.cteRef(te, c, s)
		}
		if row := b.transitionRow(te.Name.Table); row != nil {
			return b.transitionRef(te, row)
		}
	}
	t, err := b.resolveTable(te.Name)
	if err != nil {
		return nil, err
	}
	switch t.Kind {
	case catalog.KindView:
		if te.Sample != nil {
			return nil, errSample(te)
		}
		return b.viewRef(te, t, s)
	case catalog.KindSequence:
		if len(t.Columns) == 0 {
			return nil, pgerr.Unsupported("reading a sequence as a table is not supported").At(te.Pos)
		}
	}
	if t.Materialized() && t.View.Unpopulated && !b.env.Stored {
		return nil, pgerr.New(pgerr.ObjectNotInPrerequisiteState, "materialized view \"%s\" has not been populated", t.Name).
			WithHint("Use the REFRESH MATERIALIZED VIEW command.")
	}
	node := b.scan(t, aliasOf(te))
	if sc, ok := node.(*plan.Scan); ok {
		if err := b.noteDerived(sc); err != nil {
			return nil, err
		}
	}
	if err := b.indexHint(te, node); err != nil {
		return nil, err
	}
	it := tableItem(t, aliasOf(te), node.Props().Cols, node)
	if err := b.computeItem(it); err != nil {
		return nil, err
	}
	it.hideLater(b.view, t)
	it.named(te, t)
	it.readsAs(b.uses(t, privilege.Select))
	if err := renameCols(it, te.Alias.Cols); err != nil {
		return nil, err
	}
	if te.Sample != nil {
		if node, err = b.tableSample(te.Sample, it, node, s); err != nil {
			return nil, err
		}
	}
	if node, err = b.readGuarded(it, node, te.Name); err != nil {
		return nil, err
	}
	return &fromItem{node: node, items: []*item{it}}, nil
}

func errSample(te *ast.TableRef) error {
	return pgerr.New(pgerr.FeatureNotSupported, "TABLESAMPLE clause can only be applied to tables and materialized views").At(te.Pos)
}

func aliasOf(te *ast.TableRef) string {
	if te.Alias.Name != "" {
		return te.Alias.Name
	}
	return te.Name.Table
}

// resolveTable finds a relation and records the dependency.
func (b *builder) resolveTable(n ast.TableName) (*catalog.Table, error) {
	t, err := b.env.Catalog.ResolveTable(b.ctx, n.Catalog, n.Schema, n.Table)
	if err != nil {
		return nil, pgerr.From(err).At(n.Pos)
	}
	b.noteTable(t)
	return t, nil
}

// scan makes the canonical read of a table: all columns, all rows.
func (b *builder) scan(t *catalog.Table, alias string) plan.Node {
	cols := make([]plan.Column, len(t.Columns))
	ords := make([]int, len(t.Columns))
	for i := range t.Columns {
		c := &t.Columns[i]
		cols[i] = plan.Column{ID: b.newCol(), Name: c.Name, Type: b.shown(c.ValueType()), TableOid: t.Oid, Attnum: c.Attnum, NotNull: c.NotNull}
		ords[i] = i
	}
	if len(t.Indexes) == 0 {
		v := &plan.VirtualScan{Table: t, Alias: alias, Ords: ords}
		v.Cols = cols
		return v
	}
	n := &plan.Scan{Table: t, Index: t.Primary(), Alias: alias, Ords: ords}
	n.Cols = cols
	return n
}

// indexHint notes the index that t@index asks for.
func (b *builder) indexHint(te *ast.TableRef, n plan.Node) error {
	if te.IndexHint == "" {
		return nil
	}
	sc, ok := n.(*plan.Scan)
	if !ok {
		return pgerr.New(pgerr.WrongObjectType, "\"%s\" has no indexes", te.Name.Table).At(te.Pos)
	}
	name := te.IndexHint
	if name == "primary" {
		name = sc.Table.Primary().Name
	}
	ix := sc.Table.IndexByName(name)
	if ix == nil || ix.WriteOnly {
		return pgerr.New(pgerr.UndefinedObject, "index \"%s\" not found", te.IndexHint).At(te.Pos)
	}
	sc.Hint = ix
	return nil
}

// renameCols applies the column names of an alias.
func renameCols(it *item, names []ast.Name) error {
	i := 0
	for _, n := range names {
		for i < len(it.cols) && it.cols[i].hidden {
			i++
		}
		if i >= len(it.cols) {
			visible := 0
			for j := range it.cols {
				if !it.cols[j].hidden {
					visible++
				}
			}
			what := "table"
			if it.join {
				what = "join expression"
			}
			return pgerr.New(pgerr.InvalidColumnReference, "%s \"%s\" has %d columns available but %d columns specified",
				what, it.alias, visible, len(names))
		}
		it.cols[i].name = n
		i++
	}
	return nil
}

// viewQuery reads the query of a view.
func viewQuery(t *catalog.Table) (*ast.Select, error) {
	st, err := parser.ParseStored(t.View.Query)
	if err != nil {
		return nil, err
	}
	q, ok := st.AST.(*ast.Select)
	if !ok {
		return nil, pgerr.New(pgerr.DataCorrupted, "the definition of view \"%s\" is not a query", t.Name)
	}
	return q, nil
}

// viewRef expands a view.
func (b *builder) viewRef(te *ast.TableRef, t *catalog.Table, s *scope) (*fromItem, error) {
	q, err := viewQuery(t)
	if err != nil {
		return nil, err
	}
	u := b.uses(t, privilege.Select)
	leave := b.enterView(t, q)
	p, err := b.relation(s.locked(q, aliasOf(te)), b.rootScope())
	leave()
	if err != nil {
		e := *pgerr.From(err)
		e.Position = 0 // it would point into another text
		return nil, &e
	}
	cols := columnsOf(p.targets, nil)
	for i := range cols {
		if i < len(t.Columns) {
			cols[i].Name, cols[i].TableOid, cols[i].Attnum = t.Columns[i].Name, t.Oid, t.Columns[i].Attnum
		}
	}
	out := p.node.Props().Cols // results are described as the view's columns
	for i := range cols {
		if k := plan.FindCol(out, cols[i].ID); k >= 0 {
			out[k].TableOid, out[k].Attnum = cols[i].TableOid, cols[i].Attnum
		}
	}
	it := colsItem(aliasOf(te), cols)
	it.sub, it.view = true, t
	it.readsAs(u)
	it.hideLater(b.view, t)
	it.named(te, t)
	if err := renameCols(it, te.Alias.Cols); err != nil {
		return nil, err
	}
	if t.View.SecurityBarrier() {
		p.node = barrier(p.node)
	}
	return &fromItem{node: p.node, items: []*item{it}}, nil
}

// barrier has the conditions above n wait for it.
func barrier(n plan.Node) *plan.Barrier {
	out := &plan.Barrier{Input: n}
	out.Cols = n.Props().Cols
	return out
}

// enterView makes the builder read a stored query of view t, until leave is called.
func (b *builder) enterView(t *catalog.Table, q ast.Node) (leave func()) {
	env, text, names, view, as := b.env, b.text, b.rowNames, b.view, b.as
	b.text, b.rowNames, b.view, b.as = q, nil, t.View, viewOwner(t, as)
	b.env = env.unnoted() // they are of the query around it
	end := b.trust()
	return func() { end(); b.env, b.text, b.rowNames, b.view, b.as = env, text, names, view, as }
}

// hideLater hides the columns that t got after the query of view v was stored.
func (it *item) hideLater(v *catalog.View, t *catalog.Table) {
	if v == nil {
		return
	}
	for i := range t.Columns {
		if c := &it.cols[i]; i < len(it.cols) && !v.Sees(t, &t.Columns[i]) && !plant.On(plant.LaterColumnSeen) {
			c.later, c.name, c.hidden = !c.hidden, "", true
		}
	}
}

// subqueryRef plans a query in FROM.
func (b *builder) subqueryRef(te *ast.SubqueryRef, s *scope) (*fromItem, error) {
	outer := s
	if !te.Lateral { // it sees what encloses the query, not its neighbours
		outer = &scope{parent: s.parent, bound: s.bound, ctes: s.ctes, clause: clauseFrom, beside: s.items}
	}
	inner := outer.child()
	p, err := b.relation(s.locked(te.Query, te.Alias.Name), inner)
	if err != nil {
		return nil, err
	}
	it := colsItem(te.Alias.Name, columnsOf(p.targets, nil))
	it.relVisible, it.sub = te.Alias.Name != "", true
	if err := renameCols(it, te.Alias.Cols); err != nil {
		return nil, err
	}
	f := &fromItem{node: p.node, items: []*item{it}}
	if te.Lateral {
		f.lateral = localRefs(inner.outer(), s)
	}
	return f, nil
}

// localRefs returns those of refs that belong to items of s itself.
func localRefs(refs []plan.ColRef, s *scope) []plan.ColRef {
	var out []plan.ColRef
	for _, r := range refs {
		if s.owns(r.Col) {
			out = append(out, r)
		}
	}
	return out
}

// owns reports whether a column belongs to an item of s.
func (s *scope) owns(id plan.ColID) bool {
	for _, it := range s.items {
		for i := range it.cols {
			if it.cols[i].col.ID == id && it.cols[i].expr == nil {
				return true
			}
		}
	}
	return false
}
