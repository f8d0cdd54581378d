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
	"github.com/lichendb/lichen/internal/sql/types"
)

// mentions reports whether an access control list of a descriptor has a role.
func mentions(d catalog.Descriptor, r privilege.Role) bool {
	switch d := d.(type) {
	case *catalog.Database:
		return d.ACL.Mentions(r)
	case *catalog.Cluster:
		return len(mentioned(d.ACLs, r)) > 0
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
		switch d := d.(type) {
		case *catalog.Cluster:
			out = append(out, grantedOn(e, mentioned(d.ACLs, r))...)
			continue
		case *catalog.Database:
			on, owned := mentioned(d.ACLs, r), extensionsOf(d, r)
			if d.ID == here {
				out = append(out, grantedOn(e, on)...)
				for _, name := range owned {
					out = append(out, "owner of extension "+name)
				}
			} else if n := len(on) + len(owned); n > 0 {
				elsewhere[d.ID] += n
			}
		}
		role, isRole := d.(*catalog.Role)
		if isRole {
			there, err := defaultsMentioning(ctx, e, role, r, elsewhere)
			if err != nil {
				return nil, err
			}
			out = append(out, there...)
			continue
		}
		out = append(out, ownedEvents(d, r, here, elsewhere)...)
		owns := d.Ident().Owner == r
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
	spaces, err := tablespacesMentioning(ctx, e, r)
	if err != nil {
		return nil, err
	}
	out = append(out, spaces...)
	for _, d := range all {
		if n := elsewhere[d.Ident().ID]; n == 1 {
			out = append(out, "1 object in database "+d.Ident().Name)
		} else if n > 1 {
			out = append(out, strconv.Itoa(n)+" objects in database "+d.Ident().Name)
		}
	}
	return out, nil
}

// tablespacesMentioning describes the tablespaces that are a role's or granted to it.
func tablespacesMentioning(ctx context.Context, e *statement.Env, r privilege.Role) (out []string, err error) {
	spaces, err := e.Coll.Tablespaces(ctx)
	for i := range spaces {
		switch {
		case spaces[i].Owner.Role() == r:
			out = append(out, "owner of tablespace "+spaces[i].Name)
		case spaces[i].ACL.Mentions(r):
			out = append(out, "privileges for tablespace "+spaces[i].Name)
		}
	}
	return out, err
}

// grantedOn describes entries of lists.
func grantedOn(e *statement.Env, list []privilege.SystemACL) (out []string) {
	for _, x := range list {
		what := "parameter " + x.Name
		if x.Kind != privilege.Parameter && e.DescribeBuiltIn != nil {
			what = e.DescribeBuiltIn(x)
		}
		out = append(out, "privileges for "+what)
	}
	return out
}

// defaultKindWords are the words for objects that there will be.
var defaultKindWords = map[privilege.Kind]string{
	privilege.Table: "relations", privilege.Sequence: "sequences", privilege.Function: "functions", privilege.Type: "types", privilege.Schema: "schemas",
}

// defaultsMentioning describes the default privileges of owner, in this database, that are those of r or granted to it. Those elsewhere
// are counted.
func defaultsMentioning(ctx context.Context, e *statement.Env, owner *catalog.Role, r privilege.Role, elsewhere map[catalog.ID]int) (out []string, err error) {
	for _, x := range owner.Defaults {
		what := "privileges for"
		switch {
		case owner.Oid == r:
			what = "owner of"
		case !x.ACL.Mentions(r):
			continue
		}
		if x.Database != e.Coll.CurrentDatabase().ID {
			elsewhere[x.Database]++
			continue
		}
		text := what + " default privileges on new " + defaultKindWords[x.Kind] + " belonging to role " + owner.Name
		if x.Schema != 0 {
			s, err := e.Coll.SchemaByID(ctx, x.Schema)
			if err != nil {
				return nil, err
			}
			text += " in schema " + s.Name
		}
		out = append(out, text)
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
	}
	return d.Ident().Name
}

// extensionsOf names the extensions of a database that a role owns.
func extensionsOf(d *catalog.Database, r privilege.Role) (names []string) {
	for i := range d.Extensions {
		if d.Extensions[i].Owner.Role() == r {
			names = append(names, d.Extensions[i].Name)
		}
	}
	return names
}

// Dropper is DROP of some kind of object.
type Dropper func(ctx context.Context, e *statement.Env, st *ast.Drop) error

// Droppers drop kinds of objects that are not changed by package alter.
type Droppers struct{ Collations, Extensions Dropper }

// Reassign is REASSIGN OWNED and DROP OWNED.
func Reassign(ctx context.Context, e *statement.Env, st *ast.ReassignOwned, by Droppers) error {
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
		return dropOwned(ctx, e, of, st.Cascade, by)
	}
	to, err := e.RoleOf(&st.To, false)
	if err != nil {
		return err
	}
	if !e.Coll.Me().Has(to.Oid) {
		return denied("permission denied to reassign objects")
	}
	if err := reassign(ctx, e, of, catalog.Owner(to.Oid)); err != nil {
		return err
	}
	return reassignExtensions(ctx, e, of, catalog.Owner(to.Oid))
}

// ownedBy reports whether one of some roles owns a descriptor.
func ownedBy(d catalog.Descriptor, of []*catalog.Role) bool {
	_, isRole := d.(*catalog.Role)
	return !isRole && slices.ContainsFunc(of, func(r *catalog.Role) bool { return d.Ident().Owner == r.Oid })
}

// ownedEvents lists the event triggers of a database that a role owns, and counts those elsewhere.
func ownedEvents(d catalog.Descriptor, r privilege.Role, here catalog.ID, elsewhere map[catalog.ID]int) (out []string) {
	db, ok := d.(*catalog.Database)
	for i := 0; ok && i < len(db.EventTriggers); i++ {
		switch g := &db.EventTriggers[i]; {
		case g.Owner.Role() != r:
		case db.ID == here:
			out = append(out, "owner of event trigger "+ast.QuoteIdent(g.Name))
		default:
			elsewhere[db.ID]++
		}
	}
	return out
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

// reassignExtensions gives the extensions of the database that roles own another owner.
func reassignExtensions(ctx context.Context, e *statement.Env, of []*catalog.Role, to catalog.Owner) error {
	here := e.Coll.CurrentDatabase().ID
	if !slices.ContainsFunc(of, func(r *catalog.Role) bool { return extensionsOf(e.Coll.CurrentDatabase(), r.Oid) != nil }) {
		return nil
	}
	if err := e.Coll.LockExclusive(ctx, here); err != nil {
		return err
	}
	d := *e.Coll.CurrentDatabase()
	d.Extensions = slices.Clone(d.Extensions)
	for i := range d.Extensions {
		x := &d.Extensions[i]
		if slices.ContainsFunc(of, func(r *catalog.Role) bool { return x.Owner.Role() == r.Oid }) {
			x.Owner = to
		}
	}
	return e.Coll.Put(ctx, &d)
}

// dropOwnedExtensions drops the extensions of the database that roles own.
func dropOwnedExtensions(ctx context.Context, e *statement.Env, of []*catalog.Role, cascade bool, extensions Dropper) error {
	st := &ast.Drop{Kind: ast.ObjExtension, Cascade: cascade}
	for _, r := range of {
		for _, name := range extensionsOf(e.Coll.CurrentDatabase(), r.Oid) {
			st.Names = append(st.Names, ast.TableName{Table: name})
		}
	}
	if st.Names == nil {
		return nil
	}
	e.NextCommand()
	return extensions(ctx, e, st)
}

// dropOwned drops what roles own in the database, and revokes what they were granted there and on databases.
func dropOwned(ctx context.Context, e *statement.Env, of []*catalog.Role, cascade bool, by Droppers) error {
	for _, kind := range []ast.ObjectKind{ast.ObjView, ast.ObjMaterializedView, ast.ObjTable, ast.ObjSequence, ast.ObjType, ast.ObjCollation, ast.ObjExtension, ast.ObjSchema} {
		if err := dropOwnedOf(ctx, e, of, kind, cascade, by); err != nil {
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
	if err := withdraw(ctx, e, of); err != nil {
		return err
	}
	return withdrawFromTablespaces(ctx, e, of)
}

func dropOwnedRoutines(ctx context.Context, e *statement.Env, of []*catalog.Role, cascade bool) error {
	var ids []catalog.ID
	for _, t := range slices.Concat(e.Coll.Listing().Routines, e.Coll.Listing().Operators) {
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
func dropOwnedOf(ctx context.Context, e *statement.Env, of []*catalog.Role, kind ast.ObjectKind, cascade bool, by Droppers) error {
	if kind == ast.ObjExtension {
		return dropOwnedExtensions(ctx, e, of, cascade, by.Extensions)
	}
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
			if d.Kind != catalog.KindRoutine && d.Extension == "" && dropKind(d) == kind {
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
	case ast.ObjCollation:
		return by.Collations(ctx, e, st)
	}
	return alter.DropRelations(ctx, e, st)
}

// dropKind is the kind by which DROP OWNED drops a relation or type; sequences of columns go with their tables, multirange types with
// the range types.
func dropKind(t *catalog.Table) ast.ObjectKind {
	switch {
	case t.Kind == catalog.KindSequence && t.Sequence.OwnerTable != 0:
		return ast.ObjColumn
	case t.Kind == catalog.KindType && t.UserType.Def.Kind == types.DefMultirange:
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
		found := slices.ContainsFunc(of, func(r *catalog.Role) bool { return mentions(d, r.Oid) || onBuiltIn(e, d, r.Oid) })
		if !found || db != 0 && db != e.Coll.CurrentDatabase().ID {
			continue
		}
		if err := withdrawFrom(ctx, e, d.Ident().ID, of); err != nil {
			return err
		}
	}
	return nil
}

// withdrawFromTablespaces takes roles out of the lists of tablespaces.
func withdrawFromTablespaces(ctx context.Context, e *statement.Env, of []*catalog.Role) error {
	spaces, err := e.Coll.Tablespaces(ctx)
	if err != nil {
		return err
	}
	for i := range spaces {
		if !slices.ContainsFunc(of, func(r *catalog.Role) bool { return spaces[i].ACL.Mentions(r.Oid) }) {
			continue
		}
		if err := e.Coll.LockTablespace(ctx, spaces[i].Name); err != nil {
			return err
		}
		t, err := e.Coll.FindTablespace(ctx, spaces[i].Name)
		if err != nil {
			return err
		}
		if t == nil {
			continue // dropped meanwhile
		}
		for _, r := range of {
			t.ACL = t.ACL.Without(t.Owner.Role(), r.Oid)
		}
		if err := e.Coll.PutTablespace(t); err != nil {
			return err
		}
	}
	return nil
}

// onBuiltIn reports whether the lists of what is built into the current database, which d is, have a role.
func onBuiltIn(e *statement.Env, d catalog.Descriptor, r privilege.Role) bool {
	db, ok := d.(*catalog.Database)
	return ok && db.ID == e.Coll.CurrentDatabase().ID && len(mentioned(db.ACLs, r)) > 0
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
		if n.ID == e.Coll.CurrentDatabase().ID {
			n.ACLs = withoutGrants(n.ACLs, of)
		}
		return e.Coll.Put(ctx, &n)
	case *catalog.Cluster:
		n := *d
		n.ACLs = withoutGrants(n.ACLs, of)
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
