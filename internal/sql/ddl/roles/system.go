package roles

import (
	"context"
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/sql/access"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/relations"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/privilege"
	"github.com/lichendb/lichen/internal/sql/settings"
	"github.com/lichendb/lichen/internal/sql/types"
)

// What has no descriptor has its list in that of the database or of the cluster: see privilege.SystemACL.

// builtInObject is the object of what is built into the database.
func builtInObject(ctx context.Context, e *statement.Env, kind privilege.Kind, oid uint32, word, name string, initial privilege.ACL) (*object, error) {
	x := &privilege.SystemACL{Kind: kind, Oid: oid, ACL: privilege.FindSystemACL(e.Coll.DatabaseACLs(), kind, oid)}
	o := &object{kind: kind, word: word, name: name, owner: catalog.RootOid, acl: &x.ACL, initial: initial, builtIn: x}
	if err := o.hasAny(e); err != nil {
		return nil, err
	}
	// The list is that of the database as it is once nobody else changes it.
	if err := e.Coll.LockExclusive(ctx, e.Coll.CurrentDatabase().ID); err != nil {
		return nil, err
	}
	x.ACL = privilege.FindSystemACL(e.Coll.DatabaseACLs(), kind, oid)
	return o, nil
}

// storeBuiltIn stores what has changed of objects that are built into the database, at once.
func storeBuiltIn(ctx context.Context, e *statement.Env, objects []*object) error {
	var changed []privilege.SystemACL
	for _, o := range objects {
		if o.builtIn != nil {
			changed = append(changed, *o.builtIn)
		}
	}
	if changed == nil {
		return nil
	}
	d := *e.Coll.CurrentDatabase()
	slices.Reverse(changed) // of two of an object the last counts
	d.ACLs = privilege.WithSystemACLs(d.ACLs, changed...)
	return e.Coll.Put(ctx, &d)
}

// builtInRelation is the object of a relation of the system: a copy to change, of which the database keeps the lists.
func builtInRelation(ctx context.Context, e *statement.Env, kind ast.ObjectKind, t *catalog.Table) (*object, error) {
	if kind == ast.ObjSequence {
		return nil, pgerr.New(pgerr.WrongObjectType, "\"%s\" is not a sequence", t.Name)
	}
	if err := e.HasAny(t); err != nil {
		return nil, err
	}
	if err := e.Coll.LockExclusive(ctx, e.Coll.CurrentDatabase().ID); err != nil {
		return nil, err
	}
	t = e.Coll.BuiltInByOid(t.Oid).Clone() // as it is once nobody else changes it
	o := tableObject(e, t)
	o.store = func(ctx context.Context) error {
		changed := []privilege.SystemACL{{Kind: privilege.Table, Oid: t.Oid, ACL: t.ACL}}
		for i := range t.Columns {
			c := &t.Columns[i]
			changed = append(changed, privilege.SystemACL{Kind: privilege.Column, Oid: t.Oid, Column: c.Attnum, ACL: c.ACL})
		}
		d := *e.Coll.CurrentDatabase()
		d.ACLs = privilege.WithSystemACLs(d.ACLs, changed...)
		return e.Coll.Put(ctx, &d)
	}
	return o, nil
}

// builtInRelations returns the objects of all relations of a schema of the system.
func builtInRelations(ctx context.Context, e *statement.Env, schema ast.Name) (list []*object, err error) {
	s, err := e.Coll.FindSchema(ctx, schema)
	if err != nil {
		return nil, err
	}
	for t := range e.Coll.BuiltInBetween(s.ID, "", "") {
		o, err := builtInRelation(ctx, e, ast.ObjTable, t)
		if err != nil {
			return nil, err
		}
		list = append(list, o)
	}
	return list, nil
}

// hasAny returns 42501 for who has nothing on the object, before it is locked.
func (o *object) hasAny(e *statement.Env) error {
	if has, options := access.OnSystem(e.Coll.Me(), o.list(), o.kind, o.owner, o.kind.All()); has|options == 0 {
		return access.Denied(o.word, o.name)
	}
	return nil
}

// findBuiltInRoutine returns the object of a function that is built in, nil if the statement means one of a user's. args are its
// arguments, nil if only its name was written.
func findBuiltInRoutine(ctx context.Context, e *statement.Env, kind ast.ObjectKind, n ast.TableName, args []*ast.TypeName) (*object, error) {
	named := e.SystemRoutines(n.Schema, n.Table)
	if len(named) == 0 {
		return nil, nil
	}
	own, err := e.Coll.FindRoutines(ctx, n.Schema, n.Table)
	if err != nil {
		return nil, err
	}
	if args == nil {
		if len(named)+len(own) > 1 {
			return nil, pgerr.New(pgerr.AmbiguousFunction, "%s name \"%s\" is not unique", strings.ToLower(kind.String()), n.Table).
				WithHint("Specify the argument list to select the %s unambiguously.", strings.ToLower(kind.String()))
		}
		return routineObject(ctx, e, kind, &named[0])
	}
	var want []*types.T
	var names []string
	for _, a := range args {
		t, err := planner.FindType(ctx, a, e.DefaultIntSize, e.Coll)
		if err != nil {
			return nil, err
		}
		want, names = append(want, t), append(names, types.FormatType(t))
	}
	for i := range named {
		if slices.EqualFunc(named[i].Args, want, func(a, b *types.T) bool { return a.Oid == b.Oid }) {
			return routineObject(ctx, e, kind, &named[i])
		}
	}
	if len(own) > 0 {
		return nil, nil
	}
	return nil, pgerr.New(pgerr.UndefinedFunction, "%s %s(%s) does not exist", strings.ToLower(kind.String()), n.Table, strings.Join(names, ", "))
}

func routineObject(ctx context.Context, e *statement.Env, kind ast.ObjectKind, r *access.SystemRoutine) (*object, error) {
	if kind == ast.ObjProcedure {
		return nil, pgerr.New(pgerr.WrongObjectType, "%s is not a procedure", r.Signature)
	}
	return builtInObject(ctx, e, privilege.Function, r.Oid, "function", r.Name, access.FunctionACL(nil, r.Oid, r.Restricted))
}

// findBuiltInType returns the object of a built-in type; 42704 if there is none of the name.
func findBuiltInType(ctx context.Context, e *statement.Env, kind ast.ObjectKind, n ast.TableName) (*object, error) {
	t, ok := types.ByName(n.Table)
	switch {
	case !ok || n.Schema != "" && n.Schema != "pg_catalog":
		return nil, pgerr.New(pgerr.UndefinedObject, "type \"%s\" does not exist", n.Table)
	case kind == ast.ObjDomain:
		return nil, pgerr.New(pgerr.WrongObjectType, "\"%s\" is not a domain", n.Table)
	case t.Elem != nil && strings.HasPrefix(n.Table, "_"):
		return nil, pgerr.New(pgerr.InvalidGrantOperation, "cannot set privileges of array types").
			WithHint("Set the privileges of the element type instead.")
	}
	return builtInObject(ctx, e, privilege.Type, t.Oid, "type", n.Table, privilege.Type.Default(catalog.RootOid))
}

// findLanguage returns the object of a language.
func findLanguage(ctx context.Context, e *statement.Env, n ast.TableName) (*object, error) {
	l := access.LanguageNamed(n.Table)
	switch {
	case l == nil:
		return nil, pgerr.New(pgerr.UndefinedObject, "language \"%s\" does not exist", n.Table)
	case !l.Trusted:
		return nil, pgerr.New(pgerr.WrongObjectType, "language \"%s\" is not trusted", l.Name).
			WithDetail("GRANT and REVOKE are not allowed on untrusted languages, because only superusers can use untrusted languages.")
	}
	return builtInObject(ctx, e, privilege.Language, l.Oid, "language", l.Name, privilege.Language.Default(catalog.RootOid))
}

// findTablespace returns the object of a tablespace, which it locks.
func findTablespace(ctx context.Context, e *statement.Env, n ast.TableName) (*object, error) {
	if n.Table == catalog.DefaultTablespace || n.Table == "pg_global" {
		return nil, pgerr.Unsupported("GRANT ON TABLESPACE %s is not supported: everybody may create in pg_default, nobody in pg_global", n.Table).At(n.Pos)
	}
	if err := e.Coll.LockTablespace(ctx, n.Table); err != nil {
		return nil, err
	}
	t, err := e.Coll.FindTablespace(ctx, n.Table)
	switch {
	case err != nil:
		return nil, err
	case t == nil:
		return nil, relations.UndefinedTablespace(n.Table)
	}
	o := &object{
		kind: privilege.Tablespace, word: "tablespace", name: t.Name, owner: t.Owner, acl: &t.ACL, initial: privilege.Tablespace.Default(t.Owner.Role()),
		store: func(context.Context) error { return e.Coll.PutTablespace(t) },
	}
	return o, o.hasAny(e)
}

// findParameters returns the objects of parameters. Of those that REVOKE names on which nothing was ever granted there is none.
func findParameters(ctx context.Context, e *statement.Env, st *ast.Grant) (list []*object, err error) {
	var changed []*privilege.SystemACL
	var c *catalog.Cluster // once it is locked
	for _, n := range st.Names {
		name := settings.Canonical(n.Table)
		known := privilege.FindParameterACL(e.Coll.ClusterACLs(), name)
		switch {
		case known == nil && st.Revoke:
			continue
		case known == nil && settings.CheckName(name) != nil:
			return nil, pgerr.New(pgerr.InvalidName, "invalid parameter name \"%s\"", n.Table)
		}
		x := &privilege.SystemACL{Kind: privilege.Parameter, Name: name}
		o := &object{
			kind: privilege.Parameter, word: "parameter", name: name, owner: catalog.RootOid, acl: &x.ACL,
			initial: privilege.Parameter.Default(catalog.RootOid),
		}
		if known != nil {
			x.ACL = known.ACL
		}
		if err := o.hasAny(e); err != nil {
			return nil, err
		}
		if c == nil {
			if c, err = e.Coll.LockCluster(ctx); err != nil {
				return nil, err
			}
		}
		if known = privilege.FindParameterACL(c.ACLs, name); known != nil {
			*x = *known
		} else if x.Oid, err = e.Coll.NewOid(ctx); err != nil {
			return nil, err
		}
		list, changed = append(list, o), append(changed, x)
	}
	if c != nil {
		list[len(list)-1].store = func(ctx context.Context) error { return storeParameters(ctx, e, c, changed) }
	}
	return list, nil
}

// storeParameters stores the lists of parameters. One that is what it was at first is forgotten, as in PostgreSQL.
func storeParameters(ctx context.Context, e *statement.Env, c *catalog.Cluster, changed []*privilege.SystemACL) error {
	n := *c
	for _, x := range changed {
		entry := *x
		if slices.Equal(entry.ACL, entry.Kind.Default(catalog.RootOid)) {
			entry.ACL = nil
		}
		n.ACLs = privilege.WithSystemACLs(n.ACLs, entry)
	}
	return e.Coll.Put(ctx, &n)
}

// builtInRoutines returns the objects of all functions of a schema of the system.
func builtInRoutines(ctx context.Context, e *statement.Env, kind ast.ObjectKind, schema ast.Name) (list []*object, err error) {
	if kind == ast.ObjProcedure {
		return nil, nil
	}
	all := e.SystemRoutines(schema, "")
	for i := range all {
		o, err := routineObject(ctx, e, ast.ObjFunction, &all[i])
		if err != nil {
			return nil, err
		}
		list = append(list, o)
	}
	return list, nil
}

// mentioned returns the entries that have a role as grantee or grantor.
func mentioned(all []privilege.SystemACL, r privilege.Role) (out []privilege.SystemACL) {
	for _, x := range all {
		if x.ACL.Mentions(r) {
			out = append(out, x)
		}
	}
	return out
}

// withoutGrants takes roles out of lists. A parameter whose list is what it was at first goes.
func withoutGrants(all []privilege.SystemACL, of []*catalog.Role) []privilege.SystemACL {
	out := slices.Clone(all)
	for i := range out {
		x := &out[i]
		for _, r := range of {
			x.ACL = x.ACL.Without(catalog.RootOid, r.Oid)
		}
		switch {
		case x.Kind == privilege.Parameter && slices.Equal(x.ACL, x.Kind.Default(catalog.RootOid)), x.Kind == privilege.Column && len(x.ACL) == 0:
			x.ACL = nil
		case x.ACL == nil:
			x.ACL = privilege.ACL{}
		}
	}
	return privilege.WithSystemACLs(nil, out...)
}
