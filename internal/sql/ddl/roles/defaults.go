package roles

import (
	"cmp"
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/privilege"
)

// defaultKinds are the kinds of objects that have default privileges.
var defaultKinds = map[ast.ObjectKind]privilege.Kind{
	ast.ObjTable: privilege.Table, ast.ObjSequence: privilege.Sequence, ast.ObjFunction: privilege.Function,
	ast.ObjType: privilege.Type, ast.ObjSchema: privilege.Schema,
}

// AlterDefaults is ALTER DEFAULT PRIVILEGES.
func AlterDefaults(ctx context.Context, e *statement.Env, st *ast.AlterDefaultPrivileges) error {
	kind := defaultKinds[st.Grant.Kind]
	if kind == privilege.Schema && st.Schemas != nil {
		return pgerr.New(pgerr.InvalidGrantOperation, "cannot use IN SCHEMA clause when using GRANT/REVOKE ON SCHEMAS")
	}
	to, err := grantees(e, st.Grant)
	if err != nil {
		return err
	}
	schemas := []catalog.ID{0}
	if st.Schemas != nil {
		if schemas, err = schemaIDs(ctx, e, st.Schemas); err != nil {
			return err
		}
	}
	forRoles := st.ForRoles
	if forRoles == nil {
		forRoles = []ast.RoleSpec{{Kind: ast.RoleCurrentUser}}
	}
	for i := range forRoles {
		r, err := e.RoleOf(&forRoles[i], false)
		if err != nil {
			return err
		}
		if !e.Coll.Me().MemberOf(r.Oid) {
			return denied("must be member of role \"%s\"", r.Name)
		}
		if r, err = e.Coll.LockRole(ctx, r.Name); err != nil {
			return err
		}
		for _, schema := range schemas {
			if err := alterDefaults(ctx, e, st.Grant, r, kind, schema, to); err != nil {
				return err
			}
		}
		if err := e.Coll.Put(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

func schemaIDs(ctx context.Context, e *statement.Env, names []ast.Name) (ids []catalog.ID, err error) {
	for _, n := range names {
		s, err := e.Coll.FindSchema(ctx, n)
		if err != nil {
			return nil, err
		}
		if s == nil {
			return nil, pgerr.New(pgerr.InvalidSchemaName, "schema \"%s\" does not exist", n)
		}
		ids = append(ids, s.ID)
	}
	return ids, nil
}

// alterDefaults changes the privileges that new objects of r will have, in one schema or in all.
func alterDefaults(ctx context.Context, e *statement.Env, g *ast.Grant, r *catalog.Role, kind privilege.Kind, schema catalog.ID, to []privilege.Role) error {
	db := e.Coll.CurrentDatabase().ID
	i := slices.IndexFunc(r.Defaults, func(d catalog.DefaultPrivileges) bool {
		return d.Database == db && d.Schema == schema && d.Kind == kind
	})
	initial := privilege.ACL{}
	if schema == 0 {
		initial = kind.Default(r.Oid)
	}
	list := initial
	if i >= 0 {
		list = r.Defaults[i].ACL
	}
	o := &object{kind: kind, owner: catalog.Owner(r.Oid)}
	var bits privilege.Bits
	for _, p := range g.Privileges {
		if len(p.Cols) > 0 {
			return pgerr.New(pgerr.InvalidGrantOperation, "default privileges cannot be set for columns")
		}
		b, err := o.bits(e, g, kind, p.Name)
		if err != nil {
			return err
		}
		bits |= b
	}
	list, err := changeDefaults(g, list, r.Oid, bits, to)
	if err != nil {
		return err
	}
	slices.SortFunc(list, func(a, b privilege.Item) int {
		return cmp.Or(cmp.Compare(a.Grantee, b.Grantee), cmp.Compare(a.Grantor, b.Grantor))
	})
	same := slices.Equal(list, initial)
	switch {
	case i >= 0 && same:
		r.Defaults = slices.Delete(r.Defaults, i, i+1)
	case i >= 0:
		r.Defaults[i].ACL = list
	case !same:
		oid, err := e.Coll.NewOid(ctx)
		if err != nil {
			return err
		}
		r.Defaults = append(r.Defaults, catalog.DefaultPrivileges{Oid: oid, Database: db, Schema: schema, Kind: kind, ACL: list})
	}
	return nil
}

// changeDefaults grants or revokes as the owner of the objects that there will be.
func changeDefaults(g *ast.Grant, list privilege.ACL, owner privilege.Role, bits privilege.Bits, to []privilege.Role) (privilege.ACL, error) {
	var err error
	for _, r := range to {
		if g.Revoke {
			list, err = list.Revoke(owner, owner, r, bits, g.WithGrant, g.Cascade)
		} else {
			options := privilege.Bits(0)
			if g.WithGrant {
				options = bits
			}
			list, err = list.Grant(owner, owner, r, bits, options)
		}
		if err != nil {
			return nil, refused(err)
		}
	}
	return list, nil
}
