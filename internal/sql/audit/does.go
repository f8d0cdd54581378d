package audit

import (
	rules "github.com/lichendb/lichen/internal/config/audit"
	"github.com/lichendb/lichen/internal/sql/access"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/privilege"
)

// Changes returns what a statement does that changes the catalog, roles or cluster settings.
func Changes(stmt ast.Statement) rules.Actions {
	switch stmt.(type) {
	case *ast.Truncate, *ast.RefreshView:
		return rules.Write
	case *ast.CreateRole, *ast.AlterRole, *ast.DropRole, *ast.Grant, *ast.AlterDefaultPrivileges, *ast.ReassignOwned,
		*ast.CreatePolicy, *ast.AlterPolicy, *ast.DropPolicy:
		return rules.Role
	case *ast.LockTable, *ast.Reindex, *ast.Cluster, *ast.Discard:
		return rules.None
	}
	return rules.DDL
}

// Of returns what a plan does with a relation; None for routines, types and the system's own relations.
func Of(u *access.Use) (a rules.Actions) {
	if u.Table == nil || !u.Table.IsRelation() {
		return rules.None
	}
	const writes = privilege.Insert | privilege.Update | privilege.Delete | privilege.Truncate
	if u.Needs&privilege.Select != 0 || !u.Selects.Empty() {
		a |= rules.Read
	}
	if u.Needs&writes != 0 || !u.Inserts.Empty() || !u.Updates.Empty() {
		a |= rules.Write
	}
	return a
}

// Names are where relations are found.
type Names interface {
	Known(catalog.ID) catalog.Descriptor
}

// Name returns the full name of a relation.
func Name(c Names, t *catalog.Table) rules.Relation {
	r := rules.Relation{Name: t.Name}
	if s, ok := c.Known(t.Schema).(*catalog.Schema); ok {
		r.Schema = s.Name
	}
	if d, ok := c.Known(t.Database).(*catalog.Database); ok {
		r.Database = d.Name
	}
	return r
}
