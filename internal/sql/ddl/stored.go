package ddl

import (
	"context"
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/ddl/statement"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// alterRole is ALTER ROLE, of which SET and RESET are supported.
func alterRole(ctx context.Context, e *statement.Env, st *ast.AlterRole) error {
	if st.Set == nil {
		return pgerr.Unsupported("ALTER ROLE without SET or RESET is not supported").At(st.Pos)
	}
	if st.All {
		return alterStored(ctx, e, st.Database, 0, st.Set)
	}
	name, err := e.Role(&st.Name)
	if err != nil {
		return err
	}
	if strings.HasPrefix(name, "pg_") {
		return pgerr.New(pgerr.ReservedName, "role name \"%s\" is reserved", name).
			WithDetail("Cannot alter reserved roles.").At(st.Name.Pos)
	}
	return alterStored(ctx, e, st.Database, catalog.RoleByName(name).Oid, st.Set)
}

// alterStored changes what the sessions of a role, 0 for all, begin with: in a database, or
// everywhere if that is "".
func alterStored(ctx context.Context, e *statement.Env, database string, role uint32, set *ast.SetVar) error {
	if database == "" {
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
