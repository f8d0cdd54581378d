package statement

import (
	"github.com/lichendb/lichen/internal/sql/access"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/privilege"
	"github.com/lichendb/lichen/internal/sql/types"
)

// mayUseBuiltIn is MayUseType for a built-in type.
func (e *Env) mayUseBuiltIn(oid uint32) error {
	list := privilege.FindSystemACL(e.Coll.DatabaseACLs(), privilege.Type, oid)
	if list == nil {
		return nil
	}
	t, ok := types.ByOid(oid)
	if has, _ := access.OnSystem(e.Coll.Me(), list, privilege.Type, catalog.RootOid, privilege.Usage); ok && has == 0 {
		return access.Denied("type", types.FormatType(t))
	}
	return nil
}

// MayUseTablespace returns 42501 unless the user may create something in a tablespace.
func (e *Env) MayUseTablespace(t *catalog.Tablespace) error {
	if has, _ := access.OnSystem(e.Coll.Me(), t.ACL, privilege.Tablespace, t.Owner, privilege.Create); has == 0 {
		return access.Denied("tablespace", t.Name)
	}
	return nil
}

// SystemRoutines returns the functions of the system of a name, of all names if it is empty, in a schema of it, or in all that
// names without a schema are looked up in if that is empty.
func (e *Env) SystemRoutines(schema, name string) []access.SystemRoutine {
	if e.System == nil {
		return nil
	}
	return e.System(schema, name)
}
