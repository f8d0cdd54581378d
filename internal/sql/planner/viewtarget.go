package planner

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/privilege"
)

// Rows are changed through a simple view by changing those of the table below it: names
// mean what the view's query says of them, its conditions restrict the rows, and the
// columns that are columns of the table below can be assigned to.

// changed is the relation that a statement changes, under the name that it was given.
type changed struct {
	rel   *catalog.Table
	ref   *ast.TableRef
	alias string
	// view and below are of a view: its query, and what that selects from.
	view  *simpleView
	below *changed
	// base is the table whose rows change, ords are the positions there of the columns of
	// a view, -1 for those that nothing can be assigned to; see ord.
	base *catalog.Table
	ords []int
	// shown is the table under the names and with the defaults that the view gives its
	// columns; those that the view does not show have no name.
	shown *catalog.Table
	// given says by position in the table which defaults are a view's: rows get them as if the statement gave them.
	given []bool
	use   *use   // of rel
	guard *guard // of base, at the bottom
	// instead are the INSTEAD OF triggers of the view at the bottom that do what the statement asks for; nil for none.
	instead *plan.Triggers
}

// changeKind is what a statement does with the rows of a view.
type changeKind struct {
	verb       string // "cannot verb view"
	doing, why string // for the hint
	assigns    bool
}

var (
	changeInsert = changeKind{"insert into", "inserting into", "INSERT", true}
	changeUpdate = changeKind{"update", "updating", "UPDATE", true}
	changeDelete = changeKind{"delete from", "deleting from", "DELETE", false}
)

// changedTable is a table that is changed under its own name.
func changedTable(t *catalog.Table, ref *ast.TableRef) *changed {
	return &changed{rel: t, ref: ref, alias: aliasOf(ref), base: t, shown: t}
}

// ord returns the position in the table of column i of the relation, -1 if nothing can
// be assigned to it.
func (c *changed) ord(i int) int {
	if c.view == nil {
		return i
	}
	return c.ords[i]
}

// changeable resolves the target of INSERT, UPDATE or DELETE.
func (b *builder) changeable(ref *ast.TableRef, kind changeKind) (*changed, error) {
	if ref.Name.Schema == "" && b.transitionRow(ref.Name.Table) != nil {
		return nil, pgerr.Unsupported("relation \"%s\" cannot be the target of a modifying statement", ref.Name.Table)
	}
	t, err := b.resolveTable(ref.Name)
	if err != nil {
		return nil, err
	}
	if t.Kind != catalog.KindView {
		if err := checkWritable(t, ref.Name, kind.verb); err != nil {
			return nil, err
		}
		c := changedTable(t, ref)
		c.use = b.uses(t, kind.takes())
		c.guard, err = b.guards(t, ref.Name)
		return c, err
	}
	if err := b.enterQuery(); err != nil {
		return nil, err
	}
	defer b.leaveQuery()
	if firesInstead(t, kind) {
		return b.insteadOf(ref, t, kind)
	}
	return b.throughView(ref, t, kind)
}

// takes is the privilege that the statement takes.
func (k changeKind) takes() privilege.Bits {
	switch k {
	case changeInsert:
		return privilege.Insert
	case changeUpdate:
		return privilege.Update
	}
	return privilege.Delete
}

// refused is 55000 for a view whose rows are not those of one relation.
func (k changeKind) refused(v *catalog.Table, why string) error {
	return pgerr.New(pgerr.ObjectNotInPrerequisiteState, "cannot %s view \"%s\"", k.verb, v.Name).WithDetail("%s", why).
		WithHint("To enable %s the view, provide an INSTEAD OF %s trigger or an unconditional ON %s DO INSTEAD rule.", k.doing, k.why, k.why)
}

// throughView makes of a view the relation that is changed. What is refused of a view has the
// view's own columns.
func (b *builder) throughView(ref *ast.TableRef, t *catalog.Table, kind changeKind) (*changed, error) {
	refused := &changed{rel: t, ref: ref}
	refused.analyseOnly()
	v, err := readView(t)
	if err != nil {
		return nil, err
	}
	if v.why != "" {
		b.refuse(kind.refused(t, v.why))
		return refused, nil
	}
	end := b.trust()
	from, err := b.resolveTable(v.from.Name)
	end()
	if err != nil {
		return nil, withoutPosition(err)
	} else if from.Materialized() || from.Kind == catalog.KindSequence {
		b.refuse(kind.refused(t, whyNotOne))
		return refused, nil
	}
	u, as := b.uses(t, kind.takes()), b.as
	end = b.trust()
	b.as = viewOwner(t, as)
	below, err := b.changeable(v.from, kind)
	end()
	b.as = as
	if err != nil {
		return nil, withoutPosition(err)
	}
	c, err := viewChanged(ref, t, v, below, kind)
	if err != nil {
		b.refuse(err)
		return refused, nil
	}
	c.use = u
	if below.use != nil {
		below.use.of = u
	}
	return c, nil
}

// analyseOnly takes the view for a table with its columns, so that the rest of a statement
// that is refused can be analysed.
func (c *changed) analyseOnly() {
	t := *c.rel
	t.Kind = catalog.KindTable
	*c = *changedTable(&t, c.ref)
}

// viewChanged maps the columns of view t to those of the table at the bottom.
func viewChanged(ref *ast.TableRef, t *catalog.Table, v *simpleView, below *changed, kind changeKind) (*changed, error) {
	shown := *below.shown
	shown.Name, shown.Columns = t.Name, slices.Clone(shown.Columns)
	for i := range shown.Columns {
		shown.Columns[i].Name = ""
	}
	c := &changed{rel: t, ref: ref, alias: aliasOf(ref), view: v, below: below, base: below.base, shown: &shown, instead: below.instead}
	c.given = make([]bool, len(shown.Columns))
	copy(c.given, below.given)
	any := false
	for i := range t.Columns {
		ord, _ := v.column(i, below.rel)
		any = any || ord >= 0
		if ord >= 0 {
			ord = below.ord(ord)
		}
		c.ords = append(c.ords, ord)
		if ord < 0 {
			if kind == changeInsert && t.Columns[i].Default != "" { // which is a value to assign
				return nil, c.assignable(i, kind)
			}
			continue
		}
		if col := &shown.Columns[ord]; col.Name == "" {
			col.Name = t.Columns[i].Name
			if d := t.Columns[i].Default; d != "" {
				col.Default, c.given[ord] = d, true
			}
		}
	}
	if !any && kind.assigns {
		return nil, kind.refused(t, whyNoColumns)
	}
	return c, nil
}

// bottom is the table as the innermost view names it.
func (c *changed) bottom() *changed {
	for c.view != nil {
		c = c.below
	}
	return c
}

// column finds the position of a column of the relation by name.
func (c *changed) column(name string, pos int) (int, error) {
	at, ok := c.rel.ColumnByName(name)
	if !ok {
		return 0, c.rel.UndefinedColumn(name).At(pos)
	}
	return at, nil
}

// assigned is the column at position ord of the table as UPDATE sees it: DEFAULT is the
// default that a view has for its column at, and no other; that is a value for the table.
func (c *changed) assigned(at, ord int) (col *catalog.Column, defaults bool) {
	if c.view == nil {
		return &c.base.Columns[ord], true
	}
	shown := c.shown.Columns[ord]
	shown.Default, shown.Domain = c.rel.Columns[at].Default, nil
	return &shown, false
}

// sameColumn names a column that is assigned to twice, the second time under a name:
// under two names it is that of the table.
func (c *changed) sameColumn(name ast.Name, ord int) ast.Name {
	if c.shown.Columns[ord].Name == name {
		return name
	}
	return c.base.Columns[ord].Name
}

// assignable refuses assignments to column i of a view that is no column of the table.
func (c *changed) assignable(i int, kind changeKind) error {
	if c.ord(i) >= 0 {
		return nil
	}
	ord, why := c.view.column(i, c.below.rel)
	if ord >= 0 {
		return c.below.assignable(ord, kind)
	}
	return pgerr.New(pgerr.FeatureNotSupported, "cannot %s column \"%s\" of view \"%s\"", kind.verb, c.rel.Columns[i].Name, c.rel.Name).
		WithDetail("%s", why)
}

// row makes the item through which names refer to the relation's row, where the row of
// the table has the given identifiers.
func (b *builder) row(c *changed, ids []plan.ColID) (*item, error) {
	it, err := b.unnamedRow(c, ids)
	if err == nil {
		it.named(c.ref, c.rel)
	}
	return it, err
}

func (b *builder) unnamedRow(c *changed, ids []plan.ColID) (*item, error) {
	if c.view == nil {
		it, err := b.rowItem(c.rel, c.alias, ids)
		if err == nil && c.use != nil {
			it.readsAs(c.use)
		}
		return it, err
	}
	it, err := b.row(c.below, ids)
	if err != nil {
		return nil, err
	}
	return b.viewRow(c, it)
}

// viewRow makes the item of a view's row from that of the row below.
func (b *builder) viewRow(c *changed, below *item) (*item, error) {
	s, err := c.view.scope(c.rel.View, below, c.below.rel)
	if err != nil {
		return nil, err
	}
	leave := b.enterView(c.rel, c.view.query)
	ts, err := b.targetList(c.view.query.Items, s)
	leave()
	if err != nil {
		return nil, withoutPosition(err)
	}
	it := &item{alias: c.alias, relVisible: true, colsVisible: true, sub: true, view: c.rel}
	for i := range ts {
		x, err := b.coerceText(ts[i].expr, 0)
		if err != nil {
			return nil, err
		}
		vc := &c.rel.Columns[i]
		sc := scopeCol{name: vc.Name, col: plan.Column{Name: vc.Name, Type: x.Type(), TableOid: c.rel.Oid, Attnum: vc.Attnum}}
		if r, ok := x.(*plan.ColRef); ok {
			sc.col.ID = r.Col
		} else {
			sc.expr = x
		}
		it.cols = append(it.cols, sc)
	}
	if c.use != nil {
		it.readsAs(c.use)
	}
	return it, nil
}

// quals returns the conditions of the views over a row of the table, the innermost first.
func (b *builder) quals(c *changed, ids []plan.ColID) ([]plan.Expr, error) {
	if c.view == nil {
		return nil, nil
	}
	out, err := b.quals(c.below, ids)
	if err != nil || c.view.query.Where == nil {
		return out, err
	}
	x, err := b.viewQual(c, ids)
	return append(out, x), err
}

// viewQual plans the condition of one view over a row of the table.
func (b *builder) viewQual(c *changed, ids []plan.ColID) (plan.Expr, error) {
	it, err := b.row(c.below, ids)
	if err != nil {
		return nil, err
	}
	s, err := c.view.scope(c.rel.View, it, c.below.rel)
	if err != nil {
		return nil, err
	}
	leave := b.enterView(c.rel, c.view.query)
	x, err := b.boolExpr(c.view.query.Where, "WHERE", s.in(clauseWhere))
	leave()
	return x, withoutPosition(err)
}

// viewChecks plans WITH CHECK OPTION of the views over a new row, the innermost first: a
// view checks its own condition, and with CASCADED those of all below have to hold.
func (b *builder) viewChecks(c *changed, row []plan.ColID) ([]plan.CheckExpr, error) {
	var out []plan.CheckExpr
	cascaded := false
	for ; c.view != nil; c = c.below {
		option := c.rel.View.CheckOption()
		cascaded = cascaded || option == catalog.CheckCascaded
		if !cascaded && option == "" || c.view.query.Where == nil {
			continue
		}
		x, err := b.viewQual(c, row)
		if err != nil {
			return nil, err
		}
		out = append(out, plan.CheckExpr{View: c.rel.Name, Cond: x})
	}
	slices.Reverse(out)
	return out, nil
}
