package catalog

// RootUser owns what Bootstrap creates, and is the user of every session.
const RootUser = "root"

// DatabaseOwnerRole owns the schema public: it stands for who owns the database.
const DatabaseOwnerRole = "pg_database_owner"

// RootOid is RootUser's oid: that of PostgreSQL's bootstrap superuser.
const RootOid = 10

// Role is one of the roles that there always are; no others can be made.
type Role struct {
	Oid  uint32
	Name string
	// Superuser says that it may do everything.
	Superuser bool
	// Login says that sessions can be its.
	Login bool
	// MemberOf are the roles that it is a member of.
	MemberOf []uint32
}

// Oids of predefined roles that others refer to.
const (
	roleReadAllSettings = 3374
	roleReadAllStats    = 3375
	roleStatScanTables  = 3377
)

// Roles are PostgreSQL's predefined ones with its oids, root in the place of the bootstrap
// superuser, and postgres, which scripts for PostgreSQL make the owner of their objects.
var Roles = []Role{
	{Oid: RootOid, Name: RootUser, Superuser: true, Login: true},
	{Oid: 14098, Name: "postgres", Superuser: true},
	{Oid: 6171, Name: DatabaseOwnerRole},
	{Oid: 6181, Name: "pg_read_all_data"},
	{Oid: 6182, Name: "pg_write_all_data"},
	{Oid: 3373, Name: "pg_monitor", MemberOf: []uint32{roleReadAllSettings, roleReadAllStats, roleStatScanTables}},
	{Oid: roleReadAllSettings, Name: "pg_read_all_settings"},
	{Oid: roleReadAllStats, Name: "pg_read_all_stats"},
	{Oid: roleStatScanTables, Name: "pg_stat_scan_tables"},
	{Oid: 4569, Name: "pg_read_server_files"},
	{Oid: 4570, Name: "pg_write_server_files"},
	{Oid: 4571, Name: "pg_execute_server_program"},
	{Oid: 4200, Name: "pg_signal_backend"},
	{Oid: 4544, Name: "pg_checkpoint"},
}

// RoleByName returns the role of a name, nil if there is none.
func RoleByName(name string) *Role {
	for i := range Roles {
		if Roles[i].Name == name {
			return &Roles[i]
		}
	}
	return nil
}

// RoleByOid returns the role with an oid, nil if there is none.
func RoleByOid(oid uint32) *Role {
	for i := range Roles {
		if Roles[i].Oid == oid {
			return &Roles[i]
		}
	}
	return nil
}
