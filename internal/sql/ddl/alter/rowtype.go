package alter

import (
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/backfill"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/ddl/storedtext"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// PutRelation stores the changed form of a locked relation. What uses the type of its rows
// follows.
func PutRelation(ctx context.Context, e *statement.Env, t *catalog.Table) error {
	old, err := e.Coll.TableByID(ctx, t.ID)
	if err != nil {
		return err
	}
	if err := e.RowArrays(ctx, t); err != nil {
		return err
	}
	if !t.HasRows() || sameRowType(old, t) {
		return e.Coll.Put(ctx, t)
	}
	if err := unusedRows(ctx, e, t); err != nil {
		return err
	}
	n, r := len(catalog.RowType(old).Fields()), rowReshape(old, t)
	x := &restatement{u: catalog.RowType(t), fields: renamedColumns(old, t)}
	if r.Changes(n) {
		x.reshape = r
	}
	if err := restateFields(ctx, e, old, x); err != nil {
		return err
	}
	if err := e.Coll.Put(ctx, t); err != nil {
		return err
	}
	users, err := retypeUsers(ctx, e, t, catalog.RowType(t))
	if err != nil || len(users) == 0 {
		return err
	}
	for i := range old.Columns {
		c := &old.Columns[i]
		if t.ColumnByID(c.ID) >= 0 || !c.InStar() {
			continue
		}
		if err := unread(ctx, e, t.Database, c.Name, "column "+ast.QuoteIdent(c.Name)+" of "+e.Describe(ctx, t), false); err != nil {
			return err
		}
	}
	return reshapeUsers(ctx, e, users, r, n)
}

// unusedRows has a statement settle if anything is made of the type of a table's rows, which is about to change, and fails
// if there is once it has settled otherwise: what others make of the type meanwhile is of its old form.
func unusedRows(ctx context.Context, e *statement.Env, t *catalog.Table) error {
	if !e.Sharing() {
		return nil
	}
	users, err := usersOfType(ctx, e, t)
	if err != nil {
		return err
	}
	if len(users) > 0 {
		return e.Settle(ctx)
	}
	return e.CheckAgain(ctx, func(ctx context.Context) error {
		if users, err := usersOfType(ctx, e, t); err != nil || len(users) == 0 {
			return err
		}
		return &kvpb.RetryError{Reason: "could not serialize access due to a concurrent change of the schema"}
	})
}

// sameRowType reports whether copies of the row type of one form of a relation serve for
// the other.
func sameRowType(a, b *catalog.Table) bool {
	if a.Name != b.Name || a.RowArrayOid != b.RowArrayOid {
		return false
	}
	return slices.EqualFunc(a.Columns, b.Columns, func(x, y catalog.Column) bool {
		return x.Name == y.Name && x.Type == y.Type && x.Domain == y.Domain && x.InStar() == y.InStar()
	})
}

// rowReshape says where the fields of rows of t were in those of its old form.
func rowReshape(old, t *catalog.Table) *types.Reshape {
	r := &types.Reshape{Oid: t.Oid, Fields: catalog.RowType(t).Fields()}
	had := map[catalog.ColumnID]int{}
	for i := range old.Columns {
		if c := &old.Columns[i]; c.InStar() {
			had[c.ID] = len(had)
		}
	}
	for i := range t.Columns {
		if c := &t.Columns[i]; c.InStar() {
			from, ok := had[c.ID]
			if !ok {
				from = -1
			}
			r.From = append(r.From, from)
		}
	}
	return r
}

// renamedColumns are the new names of the columns of t.
func renamedColumns(old, t *catalog.Table) storedtext.FieldNames {
	out := storedtext.FieldNames{}
	for i := range old.Columns {
		c := &old.Columns[i]
		if at := t.ColumnByID(c.ID); at >= 0 && t.Columns[at].Name != c.Name {
			out[c.Name] = t.Columns[at].Name
		}
	}
	return out
}

// user is a relation or a type that holds copies of a type.
type user struct {
	*Alteration
	columns map[catalog.ColumnID]bool // that have a copy
}

// retypeUsers gives everything that holds a copy of type u, which t defines, the present one, and returns what that is. Stored
// values still have the fields of their time.
func retypeUsers(ctx context.Context, e *statement.Env, t *catalog.Table, u *types.T) ([]*user, error) {
	found, err := usersOfType(ctx, e, t)
	if err != nil {
		return nil, err
	}
	users := make([]*user, len(found))
	for i, o := range found {
		if users[i], err = retypeUser(ctx, e, o.ID, u); err != nil {
			return nil, err
		}
	}
	return users, retypeRoutines(ctx, e, t, u)
}

// retypeRoutines gives the routines with type u in their signatures the present one.
func retypeRoutines(ctx context.Context, e *statement.Env, t *catalog.Table, u *types.T) error {
	all, err := e.TablesOf(ctx, t.Database)
	if err != nil {
		return err
	}
	for _, o := range all {
		r := o.Routine
		if r == nil || !catalog.UsesType(r.Returns, u.Oid) && (r.Aggregate == nil || !catalog.UsesType(r.Aggregate.State, u.Oid)) &&
			!slices.ContainsFunc(r.Params, func(p catalog.RoutineParam) bool { return catalog.UsesType(p.Type, u.Oid) }) {
			continue
		}
		c, err := e.LockByID(ctx, o.ID)
		if err != nil {
			return err
		}
		r = c.Routine
		r.Returns, r.Params = catalog.ReplaceType(r.Returns, u), slices.Clone(r.Params)
		for i := range r.Params {
			r.Params[i].Type = catalog.ReplaceType(r.Params[i].Type, u)
		}
		if r.Aggregate != nil {
			a := *r.Aggregate
			a.State = catalog.ReplaceType(a.State, u)
			r.Aggregate = &a
		}
		if err := e.Coll.Put(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

func retypeUser(ctx context.Context, e *statement.Env, id catalog.ID, u *types.T) (*user, error) {
	if err := e.Coll.LockExclusive(ctx, id); err != nil {
		return nil, err
	}
	old, err := e.Coll.TableByID(ctx, id)
	if err != nil {
		return nil, err
	}
	a := &user{Alteration: &Alteration{E: e, found: old, Old: old, T: old.Clone()}, columns: map[catalog.ColumnID]bool{}}
	for i := range a.T.Columns {
		c := &a.T.Columns[i]
		if !usesType(c, u.Oid) {
			continue
		}
		c.Type, c.Domain = catalog.ReplaceType(c.Type, u), catalog.ReplaceType(c.Domain, u)
		a.columns[c.ID] = true
	}
	a.T.UserType = catalog.ReplaceType(a.T.UserType, u)
	return a, e.Coll.Put(ctx, a.T)
}

// reshapeUsers gives stored values the fields of r, unless those are the n ones that they have.
func reshapeUsers(ctx context.Context, e *statement.Env, users []*user, r *types.Reshape, n int) error {
	if !r.Changes(n) {
		return nil
	}
	for _, a := range users {
		a.T = a.T.Clone()
		if err := a.reshape(ctx, r, a.columns); err != nil {
			return err
		}
		if err := e.Coll.Put(ctx, a.T); err != nil {
			return err
		}
	}
	return nil
}

// reshape builds what holds columns with values of a changed type again.
func (a *Alteration) reshape(ctx context.Context, r *types.Reshape, changes map[catalog.ColumnID]bool) error {
	if a.T.UserType != nil && inRange(a.T.UserType, r.Oid) {
		return pgerr.Unsupported("cannot change the fields of a type that range type \"%s\" is made of", a.T.Name)
	}
	if a.T.Kind != catalog.KindTable {
		return nil
	}
	if len(changes) == 0 {
		return nil
	}
	if err := storedtext.CheckExprs(ctx, a.E, a.T); err != nil {
		return pgerr.New(pgerr.DependentObjectsStillExist, "cannot change the fields of a type because other objects depend on it").
			WithDetail("Expressions of %s read them: %s", a.E.Describe(ctx, a.T), pgerr.From(err).Message)
	}
	spec := backfill.Spec{Old: a.Old, Table: a.T, Reshape: r}
	var err error
	if spec.Indexes, err = a.renewHolding(ctx, func(id catalog.ColumnID) bool { return changes[id] }); err != nil {
		return err
	}
	a.E.NextCommand()
	return backfill.Build(ctx, a.E, spec)
}

// inRange reports whether t is a range type over what is made of the type with an oid.
func inRange(t *types.T, oid uint32) bool {
	return t.Def != nil && t.Def.Kind == types.DefRange && catalog.UsesType(t.Def.Base, oid)
}

// storedIn returns the first column of a relation, arrays before others, whose rows hold
// values of a type; nil if there is none.
func storedIn(ctx context.Context, e *statement.Env, t *catalog.Table) (*catalog.Table, *catalog.Column, error) {
	users, err := usersOfType(ctx, e, t)
	if err != nil {
		return nil, nil, err
	}
	var table *catalog.Table
	var column *catalog.Column
	for _, u := range users {
		for i := range u.Columns {
			c := &u.Columns[i]
			if u.Kind != catalog.KindTable || !usesType(c, t.Oid) {
				continue
			}
			if array := c.Type.Elem != nil; array || column == nil {
				table, column = u, c
				if array {
					return table, column, nil
				}
			}
		}
	}
	return table, column, nil
}

// unstoredRows refuses to change the type of rows that a relation has a column of.
func (a *Alteration) unstoredRows(ctx context.Context) error {
	t := a.T
	return a.E.CheckAgain(ctx, func(ctx context.Context) error {
		u, c, err := storedIn(ctx, a.E, t)
		if err != nil || u == nil {
			return err
		}
		return pgerr.Unsupported("cannot alter table \"%s\" because column \"%s.%s\" uses its row type", t.Name, u.Name, c.Name)
	})
}

// notMember refuses a column of t's own row type, or of one that is made of it.
func notMember(t *catalog.Table, typ *types.T) error {
	if !catalog.UsesType(typ, t.Oid) {
		return nil
	}
	return pgerr.New(pgerr.InvalidTableDefinition, "composite type %s cannot be made a member of itself", t.Name)
}

// unread fails if something stored in a database, whose texts have the name of a field, can't
// be planned since the field was dropped or renamed. What is how errors call the field.
func unread(ctx context.Context, e *statement.Env, db catalog.ID, field, what string, renamed bool) error {
	e.NextCommand()
	all, err := e.TablesOf(ctx, db)
	if err != nil {
		return err
	}
	for _, t := range all {
		if !storedtext.Mentions(t, field) || planStored(ctx, e, t) == nil {
			continue
		}
		if renamed {
			return pgerr.Unsupported("renaming %s is not supported while %s uses it as a field", what, e.Describe(ctx, t))
		}
		return pgerr.New(pgerr.DependentObjectsStillExist, "cannot drop %s because other objects depend on it", what).
			WithDetail("%s depends on %s", e.Describe(ctx, t), what).
			WithHint("Drop the dependent objects first.")
	}
	return nil
}

// planStored plans the stored expressions and the query of t.
func planStored(ctx context.Context, e *statement.Env, t *catalog.Table) error {
	switch {
	case t.View != nil:
		st, err := parser.ParseStored(t.View.Query)
		if err == nil {
			_, err = storedtext.PlanQuery(ctx, e, st.AST)
		}
		return err
	case t.Kind == catalog.KindTable:
		return storedtext.CheckExprs(ctx, e, t)
	case t.UserType != nil && t.UserType.IsDomain():
		return CheckDomain(ctx, e, t, t.UserType.Def)
	}
	return nil
}

// usedTypes are the oids of the user-defined types that the columns and types in a list are
// made of.
func usedTypes(all []*catalog.Table) map[uint32]bool {
	used := map[uint32]bool{}
	var note func(*types.T)
	note = func(t *types.T) {
		switch {
		case t == nil:
			return
		case t.Def == nil:
			if t.Extension() != "" {
				used[t.Oid] = true
			}
			note(t.Elem)
			note(t.Domain())
			return
		case used[t.Oid]:
			return
		}
		used[t.Oid] = true
		parts(t, note)
	}
	for _, t := range all {
		if !t.UserTypes {
			continue
		}
		for i := range t.Columns {
			note(t.Columns[i].Type)
			note(t.Columns[i].Domain)
		}
		if t.UserType != nil {
			for _, c := range t.UserType.Def.Casts {
				used[c.From], used[c.To] = true, true
			}
			parts(t.UserType, note)
		}
	}
	return used
}

// parts passes the types that a user-defined type is made of to f.
func parts(t *types.T, f func(*types.T)) {
	f(t.Def.Base)
	for _, field := range t.Def.Fields {
		f(field.Type)
	}
}

// displayField is how errors call a field of a composite type.
func displayField(t *catalog.Table, name string) string {
	return "column " + name + " of composite type " + ast.QuoteIdent(t.Name)
}
