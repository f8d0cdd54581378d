package planner

import (
	"github.com/lichendb/lichen/internal/sql/access"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/builtin"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/privilege"
)

// Which privileges a statement takes is noted where names are resolved: a relation when it is found, its
// columns when something refers to them. Who runs the statement is not known here; see access.Check.

// use is what the statement does with a relation.
type use struct {
	access.Use
	// of is the use of the view through which the relation is changed: it takes the same privileges on both,
	// and reads what the view does.
	of *use
}

// uses notes that the statement uses a relation.
func (b *builder) uses(t *catalog.Table, needs privilege.Bits) *use {
	u := &use{Use: access.Use{Table: t, As: b.as, Needs: needs}}
	b.used = append(b.used, u)
	return u
}

// calls notes that the statement calls a routine, which takes its user's privilege even where a view or a default does.
func (b *builder) calls(fn *call.Overload) {
	t := fn.Routine.(*catalog.Table)
	b.noteTable(t)
	for _, u := range b.used {
		if u.Table == t {
			return
		}
	}
	b.uses(t, privilege.Execute).As = 0
}

// callsBuiltIn notes that the statement calls a function of the system, if that is not everybody's.
func (b *builder) callsBuiltIn(fn *call.Overload) {
	if fn.Routine != nil || !fn.Restricted && b.builtInACLs() == nil {
		return
	}
	if fn = builtin.Privileged(fn); fn != nil {
		b.takesExecute(access.BuiltIn{Oid: fn.Oid, Name: fn.Name, Restricted: fn.Restricted})
	}
}

// callsAggregate is callsBuiltIn for an aggregate, which windows call like any other function.
func (b *builder) callsAggregate(a *call.Aggregate, window bool) {
	if b.builtInACLs() != nil {
		b.takesExecute(access.BuiltIn{Oid: a.Oid, Name: a.Name, Aggregate: !window})
	}
}

// callsWindow is callsBuiltIn for a window function.
func (b *builder) callsWindow(name string, args int) {
	if b.builtInACLs() != nil {
		b.takesExecute(access.BuiltIn{Oid: builtin.WindowFunctionOid(name, args), Name: name})
	}
}

// builtInACLs are the lists of what is built into the database. A plan that found none is made anew when there are some: the database has
// another version then.
func (b *builder) builtInACLs() []privilege.SystemACL {
	if db := b.env.Catalog.CurrentDatabase(); db != nil {
		return db.ACLs
	}
	return nil
}

func (b *builder) takesExecute(f access.BuiltIn) {
	if !f.Restricted && privilege.FindSystemACL(b.builtInACLs(), privilege.Function, f.Oid) == nil {
		return
	}
	for _, u := range b.used {
		if u.BuiltIn != nil && u.BuiltIn.Oid == f.Oid {
			return
		}
	}
	b.used = append(b.used, &use{Use: access.Use{BuiltIn: &f}})
}

// read notes that the statement reads a column.
func (u *use) read(i int) {
	if u == nil {
		return
	}
	u.Selects.Add(i)
	if u.of == nil {
		u.Needs |= privilege.Select
	}
}

// readsAs attaches the columns of an item to the use of its relation.
func (it *item) readsAs(u *use) {
	for i := range it.cols {
		it.cols[i].use, it.cols[i].useAt = u, int32(i)
	}
	it.use = u
}

// reads reports whether the statement reads the relation, as far as it is planned.
func (u *use) reads() bool {
	for u.of != nil {
		u = u.of
	}
	return u.Needs&privilege.Select != 0
}

// allUses returns what the statement does with relations.
func (b *builder) allUses() []*access.Use {
	out := make([]*access.Use, len(b.used))
	for i, u := range b.used {
		if u.of != nil { // which comes before
			u.Needs = u.of.Needs
		}
		out[i] = &u.Use
	}
	return out
}

// viewOwner is the role whose privileges count for what the query of view t reads, where as is that for the view.
func viewOwner(t *catalog.Table, as privilege.Role) privilege.Role {
	if t.View.SecurityInvoker() {
		return as
	}
	return t.Owner.Role()
}

// writes notes that the statement gives column i of the relation a value; those of a view stand for columns of
// the table below.
func (c *changed) writes(i int, how privilege.Bits) {
	for c != nil && c.use != nil && i >= 0 {
		if how == privilege.Insert {
			c.use.Inserts.Add(i)
		} else {
			c.use.Updates.Add(i)
		}
		c.use.Needs |= how
		if c.view == nil {
			return
		}
		i, _ = c.view.column(i, c.below.rel)
		c = c.below
	}
}

// inserts notes to which columns an INSERT gives values.
func (c *changed) inserts(st *ast.Insert) {
	if c.use == nil {
		return
	}
	for _, target := range st.Cols {
		if i, ok := c.rel.ColumnByName(target.Column); ok {
			c.writes(i, privilege.Insert)
		}
	}
	given := len(c.rel.Columns)
	switch {
	case len(st.Cols) > 0 || st.Source == nil: // DEFAULT VALUES
		return
	case len(st.Source.Values) > 0:
		given = len(st.Source.Values[0])
	}
	for i := range c.rel.Columns {
		if c.rel.Columns[i].InStar() && given > 0 {
			c.writes(i, privilege.Insert)
			given--
		}
	}
}

// baseUse is what the statement does with the table whose rows change.
func (c *changed) baseUse() *access.Use {
	for c.below != nil {
		c = c.below
	}
	if c.use == nil {
		return nil
	}
	return &c.use.Use
}

// upserts notes what UPSERT changes of rows that are there.
func (c *changed) upserts(oc *plan.OnConflict) {
	if c.use == nil || c.view != nil {
		return
	}
	for i := range oc.Set {
		c.writes(oc.Set[i].Ord, privilege.Update)
	}
}

// locks notes that rows of the item are locked, which takes UPDATE.
func (it *item) locks() {
	if it.use != nil {
		it.use.Needs |= privilege.Update
	}
}

// trust has the names of what is stored looked up in all schemas, until the end: who may use a view need not be able
// to look up what it reads.
func (b *builder) trust() (end func()) {
	if c, ok := b.env.Catalog.(interface{ Trust() (end func()) }); ok {
		return c.Trust()
	}
	return func() {}
}
