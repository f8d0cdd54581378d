package ast

// RoleSpecKind says how a role was named.
type RoleSpecKind uint8

// The ways to name a role.
const (
	RoleNamed RoleSpecKind = iota
	RoleCurrentRole
	RoleCurrentUser
	RoleSessionUser
	RolePublic
)

// RoleSpec is a role: a name or one of the special words.
type RoleSpec struct {
	Loc
	Kind RoleSpecKind
	Name Name
}

// RoleKind is the word a role statement used.
type RoleKind uint8

// The words; USER implies LOGIN in CREATE.
const (
	KindRole RoleKind = iota
	KindUser
	KindGroup
)

// CreateRole is CREATE ROLE|USER|GROUP. Options come with lower-case names:
// superuser, createdb, createrole, inherit, login, replication, bypassrls with
// a *BoolLit; password (*NullLit for PASSWORD NULL), connection_limit,
// valid_until; in_role, role, admin with a *Row of *StrLit.
type CreateRole struct {
	Loc
	Kind        RoleKind
	IfNotExists bool // dialect
	Name        RoleSpec
	Options     []Option
}

// AlterRole is ALTER ROLE: with options, RENAME TO, or SET. With All it is
// ALTER ROLE ALL SET.
type AlterRole struct {
	Loc
	Kind     RoleKind
	IfExists bool // dialect
	All      bool
	Name     RoleSpec
	Options  []Option
	NewName  Name
	Database Name // IN DATABASE
	Set      *SetVar
}

// DropRole is DROP ROLE|USER|GROUP.
type DropRole struct {
	Loc
	Kind     RoleKind
	IfExists bool
	Names    []RoleSpec
}

// ReassignOwned is REASSIGN OWNED BY roles TO role; with Drop it is DROP OWNED
// BY roles.
type ReassignOwned struct {
	Loc
	Drop    bool
	Roles   []RoleSpec
	To      RoleSpec
	Cascade bool
}

// Privilege is one privilege with its columns; Name is lower case, "all" for
// ALL PRIVILEGES.
type Privilege struct {
	Name Name
	Cols []Name
}

// Grant is GRANT or REVOKE (Revoke) of privileges on objects, or with OnRoles
// of role membership, where Privileges holds the role names.
type Grant struct {
	Loc
	Revoke     bool
	OnRoles    bool
	Privileges []Privilege
	Kind       ObjectKind
	// Names are the objects; with AllInSchema they are schemas.
	Names       []TableName
	AllInSchema bool
	// FuncArgs are the argument types of each function, nil when not written.
	FuncArgs [][]*TypeName
	Roles    []RoleSpec
	// WithGrant is WITH GRANT|ADMIN OPTION, or in REVOKE the OPTION FOR form.
	WithGrant bool
	GrantedBy *RoleSpec
	Cascade   bool
}

// AlterDefaultPrivileges is ALTER DEFAULT PRIVILEGES. Grant names no objects.
type AlterDefaultPrivileges struct {
	Loc
	ForRoles []RoleSpec
	Schemas  []Name
	Grant    *Grant
}

func (*CreateRole) stmtNode()             {}
func (*AlterRole) stmtNode()              {}
func (*DropRole) stmtNode()               {}
func (*ReassignOwned) stmtNode()          {}
func (*Grant) stmtNode()                  {}
func (*AlterDefaultPrivileges) stmtNode() {}
