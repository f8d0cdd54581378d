package roles

import (
	"context"
	"slices"
	"strconv"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/alter"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/privilege"
)

// mentions reports whether an access control list of a descriptor has a role.
func mentions(d catalog.Descriptor, r privilege.Role) bool {
	switch d := d.(type) {
	case *catalog.Database:
		return d.ACL.Mentions(r)
	case *catalog.Schema:
		return d.ACL.Mentions(r)
	case *catalog.Table:
		return d.ACL.Mentions(r) || slices.ContainsFunc(d.Columns, func(c catalog.Column) bool { return c.ACL.Mentions(r) }) ||
			len(policiesFor(d, r)) > 0
	case *catalog.Role:
		return slices.ContainsFunc(d.Defaults, func(x catalog.DefaultPrivileges) bool { return x.ACL.Mentions(r) || d.Oid == r })
	}
	return false
}

// grants reports whether somebody has granted a role something on a relation, or it somebody.
func grants(d catalog.Descriptor, r privilege.Role) bool {
	t, ok := d.(*catalog.Table)
	if !ok {
		return mentions(d, r)
	}
	plain := *t
	plain.Policies = nil
	return mentions(&plain, r)
}

// policiesFor names the policies of a table that are for a role itself.
func policiesFor(t *catalog.Table, r privilege.Role) (names []string) {
	for i := range t.Policies {
		if slices.Contains(t.Policies[i].Roles, r) {
			names = append(names, t.Policies[i].Name)
		}
	}
	return names
}

// withoutRoles takes roles out of policies; those for nobody else go.
func withoutRoles(list []catalog.Policy, of []*catalog.Role) (kept []catalog.Policy) {
	for _, p := range list {
		roles := slices.DeleteFunc(slices.Clone(p.Roles), func(r privilege.Role) bool {
			return slices.ContainsFunc(of, func(o *catalog.Role) bool { return o.Oid == r })
		})
		if p.Roles = roles; len(roles) > 0 {
			kept = append(kept, p)
		}
	}
	return kept
}

// databaseOf is the database that a descriptor is in, 0 for those of the cluster.
func databaseOf(d catalog.Descriptor) catalog.ID {
	switch d := d.(type) {
	case *catalog.Schema:
		return d.Database
	case *catalog.Table:
		return d.Database
	}
	return 0
}

// dependents describes what depends on a role: what it owns and what it was granted.
func dependents(ctx context.Context, e *statement.Env, r privilege.Role) (out []string, err error) {
	all, err := e.Coll.Descriptors(ctx)
	if err != nil {
		return nil, err
	}
	elsewhere := map[catalog.ID]int{}
	here := e.Coll.CurrentDatabase().ID
	for _, d := range all {
		_, isRole := d.(*catalog.Role)
		owns := !isRole && d.Ident().Owner == r
		if !owns && !mentions(d, r) {
			continue
		}
		if db := databaseOf(d); db != 0 && db != here {
			elsewhere[db]++
			continue
		}
		what := describe(ctx, e, d)
		var policies []string
		if t, ok := d.(*catalog.Table); ok {
			policies = policiesFor(t, r)
		}
		for _, p := range policies {
			out = append(out, "target of policy "+p+" on "+what)
		}
		switch {
		case owns:
			out = append(out, "owner of "+what)
		case policies == nil || grants(d, r):
			out = append(out, "privileges for "+what)
		}
	}
	for _, d := range all {
		if n := elsewhere[d.Ident().ID]; n == 1 {
			out = append(out, "1 object in database "+d.Ident().Name)
		} else if n > 1 {
			out = append(out, strconv.Itoa(n)+" objects in database "+d.Ident().Name)
		}
	}
	return out, nil
}

// describe names a descriptor in messages.
func describe(ctx context.Context, e *statement.Env, d catalog.Descriptor) string {
	switch d := d.(type) {
	case *catalog.Database:
		return "database " + d.Name
	case *catalog.Schema:
		return "schema " + d.Name
	case *catalog.Table:
		return e.Describe(ctx, d)
	case *catalog.Role:
		return "default privileges on new objects belonging to role " + d.Name
	}
	return d.Ident().Name
}

// Reassign is REASSIGN OWNED and DROP OWNED.
func Reassign(ctx context.Context, e *statement.Env, st *ast.ReassignOwned) error {
	var of []*catalog.Role
	for i := range st.Roles {
		r, err := e.RoleOf(&st.Roles[i], false)
		switch {
		case err != nil:
			return err
		case !e.Coll.Me().Has(r.Oid) && st.Drop:
			return denied("permission denied to drop objects")
		case !e.Coll.Me().Has(r.Oid):
			return denied("permission denied to reassign objects")
		case r.BuiltIn() && !st.Drop:
			return pgerr.New(pgerr.DependentObjectsStillExist,
				"cannot reassign ownership of objects owned by role %s because they are required by the database system", r.Name)
		case r.BuiltIn():
			return pgerr.New(pgerr.DependentObjectsStillExist,
				"cannot drop objects owned by role %s because they are required by the database system", r.Name)
		}
		of = append(of, r)
	}
	if st.Drop {
		return dropOwned(ctx, e, of, st.Cascade)
	}
	to, err := e.RoleOf(&st.To, false)
	if err != nil {
		return err
	}
	if !e.Coll.Me().Has(to.Oid) {
		return denied("permission denied to reassign objects")
	}
	return reassign(ctx, e, of, catalog.Owner(to.Oid))
}

// ownedBy reports whether one of some roles owns a descriptor.
func ownedBy(d catalog.Descriptor, of []*catalog.Role) bool {
	_, isRole := d.(*catalog.Role)
	return !isRole && slices.ContainsFunc(of, func(r *catalog.Role) bool { return d.Ident().Owner == r.Oid })
}

// reassign gives what roles own in the database, and the databases that they own, another owner.
func reassign(ctx context.Context, e *statement.Env, of []*catalog.Role, to catalog.Owner) error {
	all, err := e.Coll.Descriptors(ctx)
	if err != nil {
		return err
	}
	for _, d := range all {
		if db := databaseOf(d); !ownedBy(d, of) || db != 0 && db != e.Coll.CurrentDatabase().ID {
			continue
		}
		if err := e.Coll.LockExclusive(ctx, d.Ident().ID); err != nil {
			return err
		}
		if d, err = e.Coll.Peek(ctx, d.Ident().ID); err != nil {
			return err
		}
		var changed catalog.Descriptor
		switch d := d.(type) {
		case *catalog.Database:
			n := *d
			n.SetOwner(to)
			changed = &n
		case *catalog.Schema:
			n := *d
			n.SetOwner(to)
			changed = &n
		case *catalog.Table:
			n := d.Clone()
			n.SetOwner(to)
			changed = n
		default:
			continue
		}
		if err := e.Coll.Put(ctx, changed); err != nil {
			return err
		}
	}
	return nil
}

// dropOwned drops what roles own in the database, and revokes what they were granted there and on databases.
func dropOwned(ctx context.Context, e *statement.Env, of []*catalog.Role, cascade bool) error {
	for _, kind := range []ast.ObjectKind{ast.ObjView, ast.ObjMaterializedView, ast.ObjTable, ast.ObjSequence, ast.ObjType, ast.ObjSchema} {
		if err := dropOwnedOf(ctx, e, of, kind, cascade); err != nil {
			return err
		}
		if kind != ast.ObjMaterializedView {
			continue
		}
		// Views may call routines, and routines have parameters of the types of tables.
		if err := dropOwnedRoutines(ctx, e, of, cascade); err != nil {
			return err
		}
	}
	return withdraw(ctx, e, of)
}

func dropOwnedRoutines(ctx context.Context, e *statement.Env, of []*catalog.Role, cascade bool) error {
	var ids []catalog.ID
	for _, t := range e.Coll.Listing().Routines {
		if ownedBy(t, of) {
			ids = append(ids, t.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	e.NextCommand()
	return alter.DropRoutinesByID(ctx, e, ids, cascade)
}

// dropOwnedOf drops what roles own of one kind, by one statement.
func dropOwnedOf(ctx context.Context, e *statement.Env, of []*catalog.Role, kind ast.ObjectKind, cascade bool) error {
	all, err := e.Coll.Descriptors(ctx)
	if err != nil {
		return err
	}
	st := &ast.Drop{Kind: kind, Cascade: cascade}
	for _, d := range all {
		if databaseOf(d) != e.Coll.CurrentDatabase().ID || !ownedBy(d, of) {
			continue
		}
		switch d := d.(type) {
		case *catalog.Schema:
			if kind == ast.ObjSchema {
				st.Names = append(st.Names, ast.TableName{Table: d.Name})
			}
		case *catalog.Table:
			if d.Kind != catalog.KindRoutine && dropKind(d) == kind {
				st.Names = append(st.Names, e.NameOf(ctx, d))
			}
		}
	}
	if len(st.Names) == 0 {
		return nil
	}
	e.NextCommand()
	switch kind {
	case ast.ObjSchema:
		return alter.DropSchemas(ctx, e, st)
	case ast.ObjType:
		return alter.DropTypes(ctx, e, st)
	}
	return alter.DropRelations(ctx, e, st)
}

// dropKind is the kind by which DROP OWNED drops a relation or type; sequences of columns go with their tables.
func dropKind(t *catalog.Table) ast.ObjectKind {
	switch {
	case t.Kind == catalog.KindSequence && t.Sequence.OwnerTable != 0:
		return ast.ObjColumn
	case t.Kind == catalog.KindType:
		return ast.ObjType
	case t.Kind == catalog.KindCollation:
		return ast.ObjCollation
	}
	return statement.ObjectKind(t)
}

// withdraw takes roles out of the access control lists of the database and of the cluster.
func withdraw(ctx context.Context, e *statement.Env, of []*catalog.Role) error {
	all, err := e.Coll.Descriptors(ctx)
	if err != nil {
		return err
	}
	for _, d := range all {
		db := databaseOf(d)
		found := slices.ContainsFunc(of, func(r *catalog.Role) bool { return mentions(d, r.Oid) })
		if !found || db != 0 && db != e.Coll.CurrentDatabase().ID {
			continue
		}
		if err := withdrawFrom(ctx, e, d.Ident().ID, of); err != nil {
			return err
		}
	}
	return nil
}

func withdrawFrom(ctx context.Context, e *statement.Env, id catalog.ID, of []*catalog.Role) error {
	if err := e.Coll.LockExclusive(ctx, id); err != nil {
		return err
	}
	d, err := e.Coll.Peek(ctx, id)
	if err != nil {
		return err
	}
	without := func(list privilege.ACL, owner catalog.Owner) privilege.ACL {
		for _, r := range of {
			list = list.Without(owner.Role(), r.Oid)
		}
		return list
	}
	switch d := d.(type) {
	case *catalog.Database:
		n := *d
		n.ACL = without(d.ACL, d.Owner)
		return e.Coll.Put(ctx, &n)
	case *catalog.Schema:
		n := *d
		n.ACL = without(d.Privileges(), d.Owner)
		return e.Coll.Put(ctx, &n)
	case *catalog.Table:
		n := d.Clone()
		n.ACL, n.Policies = without(n.ACL, n.Owner), withoutRoles(n.Policies, of)
		for i := range n.Columns {
			if n.Columns[i].ACL = without(n.Columns[i].ACL, n.Owner); len(n.Columns[i].ACL) == 0 {
				n.Columns[i].ACL = nil
			}
		}
		return e.Coll.Put(ctx, n)
	case *catalog.Role:
		n := *d
		n.Defaults = nil
		for _, x := range d.Defaults {
			gone := slices.ContainsFunc(of, func(r *catalog.Role) bool { return r.Oid == d.Oid })
			if x.ACL = without(x.ACL, catalog.Owner(d.Oid)); !gone && len(x.ACL) > 0 {
				n.Defaults = append(n.Defaults, x)
			}
		}
		return e.Coll.Put(ctx, &n)
	}
	return nil
}
