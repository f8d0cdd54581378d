package planner

import (
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// rewriteSchema is where DDL resolves the tables it rewrites: there rows keep the
// values of their generated columns.
const rewriteSchema = "\x01ddl"

// codeGeneratedAlways is 428C9, for values given for GENERATED ALWAYS columns.
const codeGeneratedAlways pgerr.Code = "428C9"

// insert plans INSERT and UPSERT.
func (b *builder) insert(st *ast.Insert, s *scope) (plan.Node, error) {
	c, err := b.changeable(st.Table, changeInsert)
	if err != nil {
		return nil, err
	}
	targets, err := insertTargets(st, c)
	if err != nil {
		return nil, err
	}
	c.inserts(st)
	input, err := b.insertSource(st, c, targets, s)
	if err != nil {
		return nil, err
	}
	if c.instead != nil {
		return b.insertInstead(st, c, input, s)
	}
	t := c.base // of a view that is refused, not the one below it
	n := &plan.Insert{Table: t, Input: input, Upsert: st.Upsert, New: plan.IDs(input.Props().Cols), Use: c.baseUse()}
	switch {
	case st.Upsert && st.OnConflict != nil:
		return nil, pgerr.New(pgerr.SyntaxError, "UPSERT cannot be combined with ON CONFLICT").At(st.OnConflict.Pos)
	case st.Upsert:
		if n.OnConflict, err = b.upsert(t, targets, input); err != nil {
			return nil, err
		}
		c.upserts(n.OnConflict)
	case st.OnConflict != nil:
		if n.OnConflict, err = b.onConflict(st, c, input, s); err != nil {
			return nil, err
		}
	}
	if n.OnConflict != nil && n.OnConflict.Update {
		n.New = b.freshRow(t)
	}
	if len(st.Returning) > 0 {
		it, err := b.row(c, n.New)
		if err != nil {
			return nil, err
		}
		if !st.Upsert && it.table != nil {
			it.xmax = insertXmax(n)
		}
		rs := *s
		if st.OnConflict != nil && n.OnConflict.Update {
			rs.beside = []*item{{alias: "excluded"}}
		}
		if n.Cols, n.Returning, err = b.returning(st.Returning, []*item{it}, &rs); err != nil {
			return nil, err
		}
	}
	if b.refusal != nil { // there may be no table to complete n for
		return n, nil
	}
	if n.Checks, err = b.rowChecks(c, n.New); err != nil {
		return nil, err
	}
	policies, err := b.writtenGuarded(c.bottom(), ast.PolicyInsert, plan.IDs(input.Props().Cols))
	if err != nil {
		return nil, err
	}
	n.Checks = append(n.Checks, policies...)
	if err := b.conflictGuarded(c, n); err != nil {
		return nil, err
	}
	return n, b.finishInsert(n)
}

// insertXmax is xmax in RETURNING of INSERT: 0 of a row that is new. Statements tell so
// what ON CONFLICT DO UPDATE has inserted.
func insertXmax(n *plan.Insert) plan.Expr {
	zero := plan.NewConst(types.Xid, types.NewInt(0))
	if n.OnConflict == nil || !n.OnConflict.Update {
		return zero
	}
	if len(n.Table.Indexes) == 0 { // a view that is refused
		return zero
	}
	pk := n.Table.ColumnByID(n.Table.Primary().Columns[0].Column)
	c := &n.Table.Columns[pk]
	old := &plan.ColRef{Col: n.OnConflict.Old[pk], T: c.Type, Name: c.Name}
	updated := plan.When{Cond: &plan.Is{Arg: old, Kind: plan.IsNotNull}, Result: plan.NewConst(types.Xid, types.NewInt(1))}
	return &plan.Case{Whens: []plan.When{updated}, Else: zero, T: types.Xid}
}

// checkWritable refuses changes of what is neither a table nor a view.
func checkWritable(t *catalog.Table, name ast.TableName, verb string) error {
	switch t.Kind {
	case catalog.KindTable:
		if t.Materialized() && name.Schema != rewriteSchema {
			return pgerr.New(pgerr.WrongObjectType, "cannot change materialized view \"%s\"", t.Name)
		}
		return nil
	case catalog.KindVirtual:
		return pgerr.New(pgerr.InsufficientPrivilege, "permission denied: \"%s\" is a system catalog", t.Name)
	}
	return pgerr.New(pgerr.WrongObjectType, "cannot %s \"%s\"", verb, t.Name).At(name.Pos)
}

// insertTargets returns the positions of the columns that are given values. Those of a
// view that nothing can be assigned to are -1: see checkTargets.
func insertTargets(st *ast.Insert, c *changed) ([]int, error) {
	var out, named []int
	if len(st.Cols) == 0 {
		for i := range c.rel.Columns {
			if c.rel.Columns[i].InStar() {
				out = append(out, c.ord(i))
			}
		}
		return out, nil
	}
	for i := range st.Cols {
		tc := &st.Cols[i]
		at, err := c.column(tc.Column, tc.Pos)
		switch {
		case err != nil:
			return nil, err
		case len(tc.Path) > 0 && !wholeBefore(st.Cols[:i], tc.Column): // parts of one value
		case containsInt(named, at):
			return nil, pgerr.New(pgerr.DuplicateColumn, "column \"%s\" specified more than once", tc.Column).At(tc.Pos)
		}
		named, out = append(named, at), append(out, c.ord(at))
	}
	return out, nil
}

// checkTargets refuses values for columns of a view that are not columns of the table, or not
// different ones. What is left of the statement is then analysed for the view's own columns.
func (b *builder) checkTargets(st *ast.Insert, c *changed, targets []int) {
	if c.view == nil {
		return
	}
	var refused error
	for i, ord := range targets {
		switch {
		case ord < 0:
			refused = c.assignable(c.named(st, i), changeInsert)
		case (len(st.Cols) == 0 || len(st.Cols[i].Path) == 0) && containsInt(targets[:i], ord):
			refused = pgerr.New(pgerr.SyntaxError, "multiple assignments to same column \"%s\"", c.base.Columns[ord].Name)
		}
		if refused != nil {
			break
		}
	}
	if refused == nil {
		return
	}
	b.refuse(refused)
	for i := range targets {
		targets[i] = c.named(st, i)
	}
	c.analyseOnly()
}

// named is the position in the relation of the column that value i of INSERT is for.
func (c *changed) named(st *ast.Insert, i int) int {
	if i < len(st.Cols) {
		at, _ := c.rel.ColumnByName(st.Cols[i].Column)
		return at
	}
	for at := range c.rel.Columns {
		if !c.rel.Columns[at].InStar() {
			continue
		}
		if i == 0 {
			return at
		}
		i--
	}
	return -1
}

// wholeBefore reports whether targets name a column, and not a part of it.
func wholeBefore(targets []ast.Target, column ast.Name) bool {
	for i := range targets {
		if targets[i].Column == column && len(targets[i].Path) == 0 {
			return true
		}
	}
	return false
}

// insertTarget returns the part of the column that value i of INSERT is for, or nil
// for all of it.
func insertTarget(st *ast.Insert, i int) *ast.Target {
	if i < len(st.Cols) && len(st.Cols[i].Path) > 0 {
		return &st.Cols[i]
	}
	return nil
}

// insertPart puts a value into a part of what a column has got so far, which is NULL to
// begin with.
func (b *builder) insertPart(target *ast.Target, c *catalog.Column, old plan.Expr, s *scope,
	value func(c *catalog.Column) (plan.Expr, error)) (plan.Expr, error) {
	if old == nil {
		old = plan.NewNull(c.Type)
	}
	return b.partValue(target, c, old, s, value)
}

// freshRow allocates identifiers for a row of t.
func (b *builder) freshRow(t *catalog.Table) []plan.ColID {
	ids := make([]plan.ColID, len(t.Columns))
	for i := range ids {
		ids[i] = b.newCol()
	}
	return ids
}

// rowItem makes the item through which names refer to a row of t with the
// given identifiers.
func (b *builder) rowItem(t *catalog.Table, alias string, ids []plan.ColID) (*item, error) {
	it := storedItem(t, alias, ids)
	for i := range it.cols {
		it.cols[i].col.Type = b.shown(it.cols[i].col.Type)
	}
	return it, b.computeItem(it)
}

// storedItem is a rowItem without the columns that are computed.
func storedItem(t *catalog.Table, alias string, ids []plan.ColID) *item {
	cols := make([]plan.Column, len(ids))
	for i := range ids {
		c := &t.Columns[i]
		cols[i] = plan.Column{ID: ids[i], Name: c.Name, Type: c.ValueType(), TableOid: t.Oid, Attnum: c.Attnum, NotNull: c.NotNull}
	}
	return tableItem(t, alias, cols, nil)
}

// insertSource plans the rows to insert: complete rows of the table.
func (b *builder) insertSource(st *ast.Insert, c *changed, targets []int, s *scope) (plan.Node, error) {
	q := st.Source
	if q == nil {
		return b.insertValues(st, c, nil, [][]ast.Expr{nil}, s)
	}
	if q.Values != nil && q.With == nil && len(q.OrderBy) == 0 && q.Limit == nil && q.Offset == nil {
		return b.insertValues(st, c, targets, q.Values, s)
	}
	inner := &scope{parent: s.parent, bound: s.bound, ctes: s.ctes}
	p, err := b.query(q, inner, queryOpts{keepUnknown: true})
	if err != nil {
		return nil, err
	}
	if err := checkCount(st, len(targets), len(p.targets), targetPos(p, len(targets), q.Pos)); err != nil {
		return nil, err
	}
	b.checkTargets(st, c, targets[:len(p.targets)])
	t := c.shown
	for i := range p.targets {
		b.checkGenerated(st, c.base, targets[i])
		typ := t.Columns[targets[i]].Type
		if part := insertTarget(st, i); part != nil {
			if typ = partType(typ, part.Path); typ == nil {
				continue
			}
		}
		if _, err := b.convertLiteral(p.node, &p.targets[i], typ); err != nil {
			return nil, err
		}
	}
	n := &plan.Project{Input: p.node}
	for ord := range t.Columns {
		x, err := b.insertColumn(st, c, targets, ord, p, s)
		if err != nil {
			return nil, err
		}
		n.Cols = append(n.Cols, plan.Column{ID: b.newCol(), Name: t.Columns[ord].Name, Type: t.Columns[ord].Type})
		n.Exprs = append(n.Exprs, x)
	}
	return n, nil
}

// insertColumn is the value of column ord in INSERT ... SELECT: the query's target for
// it or those for parts of it, or the default.
func (b *builder) insertColumn(st *ast.Insert, ch *changed, targets []int, ord int, p *queryPlan, s *scope) (plan.Expr, error) {
	var x plan.Expr
	c := &ch.shown.Columns[ord]
	if ignoresValue(st, ch, ord) {
		return b.defaultExpr(&ch.base.Columns[ord])
	}
	for i := range p.targets {
		if targets[i] != ord {
			continue
		}
		value := func(c *catalog.Column) (plan.Expr, error) {
			return b.assign(p.targets[i].ref(), c, p.targets[i].pos)
		}
		part := insertTarget(st, i)
		if part == nil {
			return value(c)
		}
		var err error
		if x, err = b.insertPart(part, c, x, s, value); err != nil {
			return nil, err
		}
	}
	if x == nil {
		return b.insertDefault(st, ch, ord)
	}
	return x, nil
}

func indexOf(list []int, x int) int {
	for i, v := range list {
		if v == x {
			return i
		}
	}
	return -1
}

// checkCount compares the number of values and of target columns.
func checkCount(st *ast.Insert, targets, values, pos int) error {
	switch {
	case values > targets:
		return pgerr.New(pgerr.SyntaxError, "INSERT has more expressions than target columns").At(pos)
	case values < targets && len(st.Cols) > 0:
		return pgerr.New(pgerr.SyntaxError, "INSERT has more target columns than expressions").At(st.Cols[values].Pos)
	}
	return nil
}

// insertValues plans INSERT ... VALUES as a Values node of complete rows.
func (b *builder) insertValues(st *ast.Insert, c *changed, targets []int, rows [][]ast.Expr, s *scope) (plan.Node, error) {
	vs := s.in(clauseValues)
	outer := b.rowSets
	b.rowSets, vs.takesRowSets = nil, len(rows) == 1
	defer func() { b.rowSets = outer }()
	n := &plan.Values{RowExprs: make([][]plan.Expr, len(rows))}
	var values []assignment
	var defaults, all []plan.Expr
	width := 0
	for r := range rows {
		var err error
		if values, err = b.rowValues(values[:0], rows[r], vs); err != nil {
			return nil, err
		}
		if r == 0 {
			width = len(values)
		}
		if len(values) != width {
			return nil, pgerr.New(pgerr.SyntaxError, "VALUES lists must all be the same length").At(valuesPos(values, st.Pos))
		}
		if width > len(targets) {
			return nil, checkCount(st, len(targets), width, values[len(targets)].pos)
		}
		if err := checkCount(st, len(targets), width, st.Pos); err != nil && st.Source != nil {
			return nil, err
		}
		if r == 0 {
			b.checkTargets(st, c, targets[:width])
			n.Cols = b.storedColumns(c.shown)
			defaults, all = make([]plan.Expr, len(n.Cols)), make([]plan.Expr, len(rows)*len(n.Cols))
		}
		out := all[:len(n.Cols):len(n.Cols)]
		all = all[len(n.Cols):]
		for i := range values {
			if out[targets[i]], err = b.insertItem(st, c, targets, i, &values[i], out[targets[i]], vs); err != nil {
				return nil, err
			}
		}
		if err := b.fillIn(st, c, out, defaults); err != nil {
			return nil, err
		}
		n.RowExprs[r] = out
	}
	if len(b.rowSets) > 0 {
		p := &plan.Project{Input: projectSets(oneRow(), b.rowSets), Exprs: n.RowExprs[0]}
		p.Cols = n.Cols
		return p, nil
	}
	return n, nil
}

// rowValues analyses the expressions of a row of VALUES and appends them to out.
func (b *builder) rowValues(out []assignment, row []ast.Expr, s *scope) ([]assignment, error) {
	row, err := b.spread(row, s)
	if err != nil {
		return nil, err
	}
	for _, x := range row {
		a, err := b.assignment(nil, x, s)
		if err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	return out, nil
}

// valuesPos is where a row of VALUES begins, pos if it is empty.
func valuesPos(row []assignment, pos int) int {
	if len(row) > 0 {
		return row[0].pos
	}
	return pos
}

// storedColumns are the columns of new rows of t.
func (b *builder) storedColumns(t *catalog.Table) []plan.Column {
	cols := make([]plan.Column, len(t.Columns))
	for ord := range cols {
		c := &t.Columns[ord]
		cols[ord] = plan.Column{ID: b.newCol(), Name: c.Name, Type: c.Type}
	}
	return cols
}

// fillIn puts the defaults into a row where it has no values; defaults keeps those that are
// planned.
func (b *builder) fillIn(st *ast.Insert, c *changed, row, defaults []plan.Expr) error {
	for ord := range row {
		if row[ord] != nil {
			continue
		}
		if defaults[ord] != nil {
			row[ord] = plan.CopyExpr(defaults[ord])
			continue
		}
		d, err := b.insertDefault(st, c, ord)
		if err != nil {
			return err
		}
		row[ord], defaults[ord] = d, d
	}
	return nil
}

// insertDefault plans the default for column ord of a new row. That of a view is a value for the table.
func (b *builder) insertDefault(st *ast.Insert, c *changed, ord int) (plan.Expr, error) {
	if ord >= len(c.given) || !c.given[ord] {
		return b.defaultExpr(&c.shown.Columns[ord])
	}
	if ignoresValue(st, c, ord) {
		return b.defaultExpr(&c.base.Columns[ord])
	}
	b.checkGenerated(st, c.base, ord)
	return b.defaultExpr(&c.shown.Columns[ord])
}

// ignoresValue reports whether the default of the table stands for any value: OVERRIDING USER VALUE demands it
// for identity columns.
func ignoresValue(st *ast.Insert, c *changed, ord int) bool {
	return st.Overriding == ast.OverridingUser && c.base.Columns[ord].Identity != 0
}

// insertItem plans value i of a row; nil stands for the default. old is what the column
// has got from values before it, for parts of it.
func (b *builder) insertItem(st *ast.Insert, c *changed, targets []int, i int, a *assignment, old plan.Expr, s *scope) (plan.Expr, error) {
	ord, part := targets[i], insertTarget(st, i)
	switch {
	case part != nil && a.value == nil:
		return nil, noPartDefault(part)
	case part != nil:
		return b.insertPart(part, &c.shown.Columns[ord], old, s, func(c *catalog.Column) (plan.Expr, error) {
			return b.assign(a.value, c, a.pos)
		})
	case a.value == nil:
		return nil, nil
	}
	return b.insertValue(st, c, ord, a)
}

// insertValue plans one value.
func (b *builder) insertValue(st *ast.Insert, ch *changed, ord int, a *assignment) (plan.Expr, error) {
	c := &ch.shown.Columns[ord]
	if ignoresValue(st, ch, ord) {
		return b.defaultExpr(&ch.base.Columns[ord])
	}
	b.checkGenerated(st, ch.base, ord)
	return b.assign(a.value, c, a.pos)
}

// checkGenerated refuses values for GENERATED ALWAYS columns.
func (b *builder) checkGenerated(st *ast.Insert, t *catalog.Table, ord int) {
	c := &t.Columns[ord]
	if st.Table.Name.Schema != rewriteSchema {
		if err := checkGeneratedValue(c); err != nil {
			b.refuse(err)
		}
	}
	if c.Identity == 'a' && st.Overriding == ast.OverridingNone {
		b.refuse(pgerr.New(codeGeneratedAlways, "cannot insert a non-DEFAULT value into column \"%s\"", c.Name).
			WithDetail("Column \"%s\" is an identity column defined as GENERATED ALWAYS.", c.Name).
			WithHint("Use OVERRIDING SYSTEM VALUE to override."))
	}
}

// defaultExpr plans a column's default, NULL if it has none.
func (b *builder) defaultExpr(c *catalog.Column) (plan.Expr, error) {
	text := c.DefaultText()
	if text == "" {
		return plan.NewNull(c.Type), nil
	}
	return b.storedExpr(text, func(e ast.Expr) (plan.Expr, error) {
		x, err := b.expr(e, &scope{clause: clauseDefault})
		if err != nil {
			return nil, err
		}
		return b.assign(x, c, 0)
	})
}

// withoutPosition drops a position that points into a stored text.
func withoutPosition(err error) error {
	if err == nil {
		return nil
	}
	e := *pgerr.From(err)
	e.Position = 0
	return &e
}

// rowChecks plans what a new row of the relation has to fulfil.
func (b *builder) rowChecks(c *changed, row []plan.ColID) ([]plan.CheckExpr, error) {
	list, err := b.checks(c.base, row)
	if err != nil {
		return nil, err
	}
	views, err := b.viewChecks(c, row)
	return append(list, views...), err
}

// checks plans the CHECK constraints of t over a row.
func (b *builder) checks(t *catalog.Table, row []plan.ColID) ([]plan.CheckExpr, error) {
	it, err := b.rowItem(t, t.Name, row)
	if err != nil {
		return nil, err
	}
	s := &scope{clause: clauseCheck, items: []*item{it}}
	out := make([]plan.CheckExpr, 0, len(t.Checks))
	for i := range t.Checks {
		x, err := b.storedExpr(t.Checks[i].Expr, func(e ast.Expr) (plan.Expr, error) { return b.boolExpr(e, "CHECK", s) })
		if err != nil {
			return nil, err
		}
		out = append(out, plan.CheckExpr{Name: t.Checks[i].Name, Cond: x})
	}
	slices.SortFunc(out, func(a, b plan.CheckExpr) int { return strings.Compare(a.Name, b.Name) }) // as they are tried in PostgreSQL
	domains, err := b.domainChecks(t, row)
	return append(out, domains...), err
}

// returning plans a RETURNING list over items.
func (b *builder) returning(list []ast.SelectItem, items []*item, s *scope) ([]plan.Column, *plan.Returning, error) {
	rs := &scope{parent: s.parent, bound: s.bound, ctes: s.ctes, items: items, beside: s.beside, clause: clauseReturning}
	ts, err := b.targetList(list, rs)
	if err != nil {
		return nil, nil, err
	}
	ret := &plan.Returning{}
	cols := make([]plan.Column, 0, len(ts))
	for i := range ts {
		x, err := b.coerceText(ts[i].expr, ts[i].pos)
		if err != nil {
			return nil, nil, err
		}
		c := plan.Column{ID: b.newCol(), Name: ts[i].name, Type: x.Type()}
		if r, ok := x.(*plan.ColRef); ok {
			for _, it := range items {
				for j := range it.cols {
					if it.cols[j].col.ID == r.Col {
						c.TableOid, c.Attnum = it.cols[j].col.TableOid, it.cols[j].col.Attnum
					}
				}
			}
		}
		cols, ret.Exprs = append(cols, c), append(ret.Exprs, x)
	}
	return cols, ret, nil
}
