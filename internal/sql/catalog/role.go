package catalog

import (
	"encoding/json"
	"strings"

	"github.com/lichendb/lichen/internal/sql/privilege"
)

// RootUser owns what Bootstrap creates. It is a superuser that nothing can make another.
const RootUser = "root"

// AdminRole is a superuser whose members are superusers too.
const AdminRole = "admin"

// DatabaseOwnerRole owns the schema public: it stands for who owns the database.
const DatabaseOwnerRole = "pg_database_owner"

// Oids of roles that there always are.
const (
	// RootOid is RootUser's oid: that of PostgreSQL's bootstrap superuser.
	RootOid = 10
	// DatabaseOwnerOid is that of DatabaseOwnerRole.
	DatabaseOwnerOid = 6171
	// ReadAllDataOid and WriteAllDataOid are of the roles that may read, and change, all tables.
	ReadAllDataOid  = 6181
	WriteAllDataOid = 6182
	// MonitorOid is that of pg_monitor, SignalBackendOid of pg_signal_backend.
	MonitorOid       = 3373
	SignalBackendOid = 4200
	// ReadAllStatsOid is that of pg_read_all_stats.
	ReadAllStatsOid     = 3375
	roleReadAllSettings = 3374
	roleStatScanTables  = 3377
	adminOid            = 14099
)

// Role describes a role: a user, or a group of them.
type Role struct {
	ID      ID `json:",omitempty"`
	Oid     privilege.Role
	Version uint64
	Name    string

	Superuser   bool `json:",omitempty"` // it may do everything
	CreateDB    bool `json:",omitempty"`
	CreateRole  bool `json:",omitempty"`
	Login       bool `json:",omitempty"` // sessions can be its
	NoInherit   bool `json:",omitempty"` // it uses the privileges of roles that it is a member of by SET ROLE only
	Replication bool `json:",omitempty"`
	BypassRLS   bool `json:",omitempty"`
	// ConnectionLimit is how many sessions it may have on a node, -1 any number.
	ConnectionLimit int32
	// Verifier is what passwords are checked by, "" if there is none.
	Verifier string `json:",omitempty"`
	// ValidUntil is when the password ends to be valid, nil never.
	ValidUntil *int64 `json:",omitempty"` // microseconds since 2000; the ends of int64 are infinite
	MemberOf   []privilege.Membership
	// Defaults are what ALTER DEFAULT PRIVILEGES says of objects that the role makes.
	Defaults []DefaultPrivileges `json:",omitempty"`
	Comment  string              `json:",omitempty"`
}

// DefaultPrivileges are those of new objects of a kind.
type DefaultPrivileges struct {
	Oid      uint32 // of the entry
	Database ID
	Schema   ID `json:",omitempty"` // 0: in all schemas
	Kind     privilege.Kind
	// ACL is the whole list where there is no schema, and what is granted besides where there is one.
	ACL privilege.ACL
}

// Ident implements Descriptor.
func (r *Role) Ident() Ident {
	return Ident{ID: r.ID, Oid: uint32(r.Oid), Version: r.Version, Name: r.Name, Owner: RootOid}
}

func (r *Role) withVersion(v uint64) Descriptor {
	c := *r
	c.Version = v
	return &c
}

// predefined makes a role that can't log in.
func predefined(oid privilege.Role, name string, of ...privilege.Role) Role {
	r := Role{Oid: oid, Name: name, ConnectionLimit: -1}
	for _, o := range of {
		r.MemberOf = append(r.MemberOf, privilege.Membership{Of: o, Grantor: RootOid})
	}
	return r
}

// superuser makes a role that may do everything.
func superuser(oid privilege.Role, name string, login bool) Role {
	r := predefined(oid, name)
	r.Superuser, r.CreateDB, r.CreateRole, r.Replication, r.BypassRLS, r.Login = true, true, true, true, true, login
	return r
}

// builtInRoles are there always: PostgreSQL's predefined ones with its oids, root in the place of the
// bootstrap superuser, admin, and postgres, which scripts for PostgreSQL make the owner of their objects. A
// stored role of the same name stands for one that was altered.
var builtInRoles = []Role{
	superuser(RootOid, RootUser, true),
	superuser(adminOid, AdminRole, false),
	superuser(14098, "postgres", false),
	predefined(DatabaseOwnerOid, DatabaseOwnerRole),
	predefined(ReadAllDataOid, "pg_read_all_data"),
	predefined(WriteAllDataOid, "pg_write_all_data"),
	predefined(MonitorOid, "pg_monitor", roleReadAllSettings, ReadAllStatsOid, roleStatScanTables),
	predefined(roleReadAllSettings, "pg_read_all_settings"),
	predefined(ReadAllStatsOid, "pg_read_all_stats"),
	predefined(roleStatScanTables, "pg_stat_scan_tables"),
	predefined(4569, "pg_read_server_files"),
	predefined(4570, "pg_write_server_files"),
	predefined(4571, "pg_execute_server_program"),
	predefined(SignalBackendOid, "pg_signal_backend"),
	predefined(4544, "pg_checkpoint"),
}

// BuiltIn reports whether the role is one that there always is.
func (r *Role) BuiltIn() bool { return r.Oid < FirstUserOid }

// Reserved reports whether the role can't be altered.
func (r *Role) Reserved() bool { return ReservedRoleName(r.Name) }

// ReservedRoleName reports whether roles that users make can't have a name.
func ReservedRoleName(name string) bool { return strings.HasPrefix(name, "pg_") }

// builtInByName returns the built-in role of a name, nil if there is none.
func builtInByName(name string) *Role {
	for i := range builtInRoles {
		if builtInRoles[i].Name == name {
			return &builtInRoles[i]
		}
	}
	return nil
}

// builtInByOid returns the built-in role with an oid, nil if there is none.
func builtInByOid(oid privilege.Role) *Role {
	for i := range builtInRoles {
		if builtInRoles[i].Oid == oid {
			return &builtInRoles[i]
		}
	}
	return nil
}

// Owner is the role that owns a descriptor. Stored descriptors have the name of a built-in role, the oid
// of any other.
type Owner privilege.Role

// Role returns the role.
func (o Owner) Role() privilege.Role { return privilege.Role(o) }

// MarshalJSON implements json.Marshaler.
func (o Owner) MarshalJSON() ([]byte, error) {
	if r := builtInByOid(o.Role()); r != nil {
		return json.Marshal(r.Name)
	}
	return json.Marshal(uint32(o))
}

// UnmarshalJSON implements json.Unmarshaler.
func (o *Owner) UnmarshalJSON(b []byte) error {
	if len(b) == 0 || b[0] != '"' {
		return json.Unmarshal(b, (*uint32)(o))
	}
	var name string
	if err := json.Unmarshal(b, &name); err != nil {
		return err
	}
	*o = RootOid
	if r := builtInByName(name); r != nil {
		*o = Owner(r.Oid)
	}
	return nil
}
