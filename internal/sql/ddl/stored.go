package ddl

import (
	"context"
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/roles"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/privilege"
)

// alterRole is ALTER ROLE.
func alterRole(ctx context.Context, e *statement.Env, st *ast.AlterRole) error {
	if st.Set == nil {
		return roles.Alter(ctx, e, st)
	}
	if st.All {
		return alterStored(ctx, e, st.Database, 0, st.Set)
	}
	r, err := e.RoleOf(&st.Name, false)
	if err != nil {
		return err
	}
	if r.Reserved() {
		return pgerr.New(pgerr.ReservedName, "role name \"%s\" is reserved", r.Name).
			WithDetail("Cannot alter reserved roles.").At(st.Name.Pos)
	}
	return alterStored(ctx, e, st.Database, uint32(r.Oid), st.Set)
}

// alterStored changes what the sessions of a role, 0 for all, begin with: in a database, or
// everywhere if that is "".
func alterStored(ctx context.Context, e *statement.Env, database string, role uint32, set *ast.SetVar) error {
	if database == "" {
		if err := maySetDefaults(e, role); err != nil {
			return err
		}
		c, err := e.Coll.LockCluster(ctx)
		if err != nil {
			return err
		}
		n := *c
		if n.Settings, err = changedSettings(e, n.Settings, role, set); err != nil {
			return err
		}
		return e.Coll.Put(ctx, &n)
	}
	d, err := e.LockDatabase(ctx, database)
	switch {
	case err != nil:
		return err
	case d == nil:
		return statement.UndefinedDatabase(database)
	}
	n := *d
	if n.Settings, err = changedSettings(e, n.Settings, role, set); err != nil {
		return err
	}
	return e.Coll.Put(ctx, &n)
}

// changedSettings returns all with what SET or RESET changes for a role.
func changedSettings(e *statement.Env, all []catalog.RoleSettings, role uint32, set *ast.SetVar) ([]catalog.RoleSettings, error) {
	if set.Reset && (set.Name == "" || set.Name == "all") {
		return catalog.WithSettings(all, role, nil), nil
	}
	s, err := e.Setting(set)
	if err != nil {
		return nil, err
	}
	list := slices.Clone(catalog.SettingsOf(all, role))
	i := slices.IndexFunc(list, func(o catalog.Setting) bool { return strings.EqualFold(o.Name, s.Name) })
	switch gone := set.Reset || set.Default; {
	case gone && i >= 0:
		list = slices.Delete(list, i, i+1)
	case gone:
	case i >= 0:
		list[i] = s
	case len(list) == maxStoredSettings:
		return nil, pgerr.New(pgerr.ProgramLimitExceeded, "a role has more than %d settings", maxStoredSettings)
	default:
		list = append(list, s)
	}
	return catalog.WithSettings(all, role, list), nil
}

// maxStoredSettings bounds the settings of a role, in a database or everywhere.
const maxStoredSettings = 1000

// maySetDefaults returns 42501 unless the user may change what the sessions of a role, 0 for all, begin with
// everywhere.
func maySetDefaults(e *statement.Env, role uint32) error {
	me := e.Coll.Me()
	r := e.Coll.RoleByOid(e.User.Role())
	switch {
	case me.Super:
		return nil
	case role == 0:
		return pgerr.New(pgerr.InsufficientPrivilege, "must be superuser to alter settings globally")
	case e.Coll.RoleByOid(privilege.Role(role)).Superuser:
		return pgerr.New(pgerr.InsufficientPrivilege, "must be superuser to alter superusers")
	case role != uint32(e.User) && (r == nil || !r.CreateRole):
		return pgerr.New(pgerr.InsufficientPrivilege, "permission denied")
	}
	return nil
}
