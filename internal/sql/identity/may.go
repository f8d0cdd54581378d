package identity

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/access"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/privilege"
)

// checkpointOid is that of the role pg_checkpoint.
const checkpointOid privilege.Role = 4544

// MayRun returns 42501 unless the current role may execute a statement about the cluster, which belongs to
// superusers.
func (s *Session) MayRun(stmt ast.Statement) error {
	var what string
	switch stmt.(type) {
	case *ast.SetClusterSetting:
		what = "set cluster settings"
	case *ast.ConfigureZone:
		what = "configure zones"
	case *ast.Split, *ast.Scatter:
		what = "split and scatter ranges"
	case *ast.Checkpoint:
		if s.coll.Me().Has(checkpointOid) {
			return nil
		}
		return pgerr.New(pgerr.InsufficientPrivilege, "must be superuser or have privileges of pg_checkpoint to do CHECKPOINT")
	default:
		return nil
	}
	if s.coll.Me().Super {
		return nil
	}
	return pgerr.New(pgerr.InsufficientPrivilege, "permission denied to %s", what).WithHint("Superusers may.")
}

// MayConnect returns 42501 unless the login role may connect to a database.
func (s *Session) MayConnect(d *catalog.Database) error {
	if s.internal {
		return nil
	}
	if has, _ := access.OnDatabase(s.coll.Authority(s.login), d, privilege.Connect); has == 0 {
		return access.Denied("database", d.Name).WithDetail("User does not have CONNECT privilege.")
	}
	return nil
}

// Shown says what errors may show of a table's rows. Sessions of the server itself see all.
func (s *Session) Shown(t *catalog.Table) access.Shown {
	if s.internal {
		return access.Shown{}
	}
	return access.ShownTo(s.coll, t)
}

// MayUseSequence returns 42501 unless the current role has one of some privileges on a sequence. That of an identity column
// may be used by whoever may insert into the table.
func (s *Session) MayUseSequence(t *catalog.Table, any privilege.Bits) error {
	me := s.coll.Me()
	if me.Super || t.Sequence.OfRowIDs() {
		return nil
	}
	if has, _ := access.OnTable(me, t, any); has != 0 {
		return nil
	}
	if owner, ok := s.coll.Known(t.Sequence.OwnerTable).(*catalog.Table); ok && any&privilege.Usage != 0 {
		i := owner.ColumnByID(t.Sequence.OwnerColumn)
		if i >= 0 && owner.Columns[i].Identity != 0 && access.OnAnyColumn(me, owner, privilege.Insert) != 0 {
			return nil
		}
	}
	return access.DeniedRelation(t)
}

// Signaler says whose sessions a role may cancel and end; nil: all.
type Signaler struct {
	Roles  []privilege.Role // those whose privileges it has
	Others bool             // all others but superusers, too (pg_signal_backend)
}

// Signaler is what the current role may do to the sessions of others.
func (s *Session) Signaler() *Signaler {
	me := s.coll.Me()
	if me.Super {
		return nil
	}
	return &Signaler{Roles: me.Roles(), Others: me.Grants(catalog.SignalBackendOid)}
}

// Covers reports whether the sessions of a role are among them.
func (g *Signaler) Covers(store *catalog.Store, role privilege.Role) bool {
	if g == nil || slices.Contains(g.Roles, role) {
		return true
	}
	d := store.RoleByOid(role)
	return g.Others && (d == nil || !store.Superuser(d))
}

// DeniedSignal is 42501 for a session that a role may not cancel or end.
func DeniedSignal() error {
	return pgerr.New(pgerr.InsufficientPrivilege,
		"must be a member of the role whose process is being terminated or member of pg_signal_backend")
}
