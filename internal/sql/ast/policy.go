package ast

// The commands of policies, as in pg_policy.polcmd.
const (
	PolicyAll    byte = '*'
	PolicySelect byte = 'r'
	PolicyInsert byte = 'a'
	PolicyUpdate byte = 'w'
	PolicyDelete byte = 'd'
)

// policyCommands are the words of the commands.
var policyCommands = map[byte]string{
	PolicyAll: "ALL", PolicySelect: "SELECT", PolicyInsert: "INSERT", PolicyUpdate: "UPDATE", PolicyDelete: "DELETE",
}

// PolicyCommand is the word of a command.
func PolicyCommand(c byte) string { return policyCommands[c] }

// CreatePolicy is CREATE POLICY.
type CreatePolicy struct {
	Loc
	Name  Name
	Table TableName
	// As is PERMISSIVE, RESTRICTIVE, or "" if not written.
	As      Name
	Command byte       // 0 if not written
	Roles   []RoleSpec // nil if not written
	Using   Expr       // nil for none
	Check   Expr       // nil for none
}

// AlterPolicy is ALTER POLICY: RENAME TO, or what changes.
type AlterPolicy struct {
	Loc
	IfExists bool // of RENAME
	Name     Name
	Table    TableName
	NewName  Name
	Roles    []RoleSpec
	Using    Expr
	Check    Expr
}

// DropPolicy is DROP POLICY.
type DropPolicy struct {
	Loc
	IfExists bool
	Name     Name
	Table    TableName
	Cascade  bool
	Restrict bool
}

func (*CreatePolicy) stmtNode() {}
func (*AlterPolicy) stmtNode()  {}
func (*DropPolicy) stmtNode()   {}

// Tag implements Statement.
func (*CreatePolicy) Tag() string { return "CREATE POLICY" }

// Tag implements Statement.
func (*AlterPolicy) Tag() string { return "ALTER POLICY" }

// Tag implements Statement.
func (*DropPolicy) Tag() string { return "DROP POLICY" }

// policyStmt prints the statements about policies.
func (p *printer) policyStmt(s Statement) {
	switch s := s.(type) {
	case *CreatePolicy:
		p.w("CREATE POLICY ")
		p.onTable(s.Name, s.Table)
		if s.As != "" {
			p.w(" AS ", s.As)
		}
		if s.Command != 0 {
			p.w(" FOR ", PolicyCommand(s.Command))
		}
		p.policyTail(s.Roles, s.Using, s.Check)
	case *AlterPolicy:
		p.w("ALTER POLICY ")
		p.ifExists(s.IfExists)
		p.onTable(s.Name, s.Table)
		p.optIdent(" RENAME TO ", s.NewName)
		p.policyTail(s.Roles, s.Using, s.Check)
	case *DropPolicy:
		p.w("DROP POLICY ")
		p.ifExists(s.IfExists)
		p.onTable(s.Name, s.Table)
		p.cascade(s.Cascade)
		p.opt(s.Restrict, " RESTRICT")
	}
}

// onTable prints the name of what belongs to a table, and the table.
func (p *printer) onTable(name Name, table TableName) {
	p.ident(name)
	p.w(" ON ")
	p.name(table)
}

func (p *printer) policyTail(roles []RoleSpec, using, check Expr) {
	if roles != nil {
		p.w(" TO ")
		p.roles(roles)
	}
	if using != nil {
		p.w(" USING (")
		p.expr(using)
		p.w(")")
	}
	if check != nil {
		p.w(" WITH CHECK (")
		p.expr(check)
		p.w(")")
	}
}
