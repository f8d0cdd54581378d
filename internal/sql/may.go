package sql

import (
	"github.com/lichendb/lichen/internal/sql/access"
	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/privilege"
)

// checkpointOid is that of the role pg_checkpoint.
const checkpointOid privilege.Role = 4544

// mayRun returns 42501 unless the session's user may execute a statement about the cluster, which belongs to
// superusers. What other statements take is known where they find their objects.
func (s *Session) mayRun(stmt ast.Statement) error {
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

// mayConnect returns 42501 unless the user may connect to a database.
func (s *Session) mayConnect(d *catalog.Database) error {
	if s.internal {
		return nil
	}
	if has, _ := access.OnDatabase(s.coll.Authority(s.auth.login), d, privilege.Connect); has == 0 {
		return access.Denied("database", d.Name).WithDetail("User does not have CONNECT privilege.")
	}
	return nil
}

// shown says what errors may show the user of a table's rows. Sessions of the server itself see all.
func (s *Session) shown(t *catalog.Table) access.Shown {
	if s.internal {
		return access.Shown{}
	}
	return access.ShownTo(s.coll, t)
}

// maySequence returns 42501 unless the user has one of some privileges on a sequence. That of an identity column
// may be used by whoever may insert into the table.
func (s *Session) maySequence(t *catalog.Table, any privilege.Bits) error {
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

// maySignal is whose sessions the user may end: nil for all, otherwise those of the roles whose privileges it has,
// and with pg_signal_backend those of all that are no superusers.
func (s *Session) maySignal() *signalRight {
	me := s.coll.Me()
	if me.Super {
		return nil
	}
	return &signalRight{Roles: me.Roles(), Others: me.Grants(catalog.SignalBackendOid)}
}

// signalRight is part of a cancelRequest.
type signalRight struct {
	Roles  []privilege.Role
	Others bool
}

// covers reports whether a session of a role may be ended.
func (r *signalRight) covers(s *Server, role privilege.Role) bool {
	if r == nil {
		return true
	}
	for _, own := range r.Roles {
		if own == role {
			return true
		}
	}
	d := s.cfg.Catalog.RoleByOid(role)
	return r.Others && (d == nil || !s.cfg.Catalog.Superuser(d))
}

// deniedSignal is 42501 for a session that the user may not end.
func deniedSignal() error {
	return pgerr.New(pgerr.InsufficientPrivilege,
		"must be a member of the role whose process is being terminated or member of pg_signal_backend")
}
