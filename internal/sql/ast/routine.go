package ast

// RoutineKind is the kind of a routine, or what a statement calls it.
type RoutineKind uint8

// The kinds of routines. AnyRoutine is what ALTER and DROP ROUTINE mean.
const (
	Function RoutineKind = iota
	Procedure
	AnyRoutine
	Aggregate
	OwnOperator
)

var routineKindNames = [...]string{"FUNCTION", "PROCEDURE", "ROUTINE", "AGGREGATE", "OPERATOR"}

// String returns the SQL word.
func (k RoutineKind) String() string { return routineKindNames[k] }

// The modes of parameters, as in pg_proc.proargmodes.
const (
	ParamIn       byte = 'i'
	ParamOut      byte = 'o'
	ParamInOut    byte = 'b'
	ParamVariadic byte = 'v'
	ParamTable    byte = 't' // a column of RETURNS TABLE
)

// RoutineParam is a parameter of a routine, or a column of RETURNS TABLE.
type RoutineParam struct {
	Loc
	Mode byte
	// Stated says that the mode was written.
	Stated  bool
	Name    Name // "" for none
	Type    *TypeName
	Default Expr // nil for none
}

// CreateRoutine is CREATE FUNCTION and CREATE PROCEDURE.
type CreateRoutine struct {
	Loc
	Kind      RoutineKind
	OrReplace bool
	Name      TableName
	Params    []RoutineParam // with the columns of RETURNS TABLE
	Returns   *TypeName      // nil if not written, and with RETURNS TABLE
	Table     bool           // RETURNS TABLE
	Options   []RoutineOption
	// Body is the body in the form of the SQL standard, nil if it is a string of Options.
	Body *RoutineBody
}

// RoutineBody is RETURN expression, or BEGIN ATOMIC ... END.
type RoutineBody struct {
	Loc
	Return Expr // nil for BEGIN ATOMIC
	Stmts  []Statement
}

// RoutineOption is an option of CREATE and ALTER FUNCTION. Name is one of: as, language, transform,
// window, strict, volatility, security, leakproof, cost, rows, support, set, parallel.
type RoutineOption struct {
	Loc
	Name  string
	Text  string // of as, language, volatility, parallel, security (definer or invoker)
	Text2 string // the second string of AS
	On    bool   // of strict, leakproof
	Value Expr   // of cost and rows
	Set   *SetVar
}

// RoutineRef names a routine, by its arguments if there may be several of the name.
type RoutineRef struct {
	Loc
	Name TableName
	// Params are as written; nil with Bare: the name alone.
	Params []RoutineParam
	Bare   bool
	// Star is the (*) of an aggregate without arguments; Direct is how many of its Params stand before ORDER BY.
	Star   bool
	Direct int
	// Prefix says that an operator has no left operand: Params are its operands.
	Prefix bool
}

// AlterRoutine is ALTER FUNCTION, PROCEDURE and ROUTINE: one of the forms.
type AlterRoutine struct {
	Loc
	Kind      RoutineKind
	Ref       RoutineRef
	Options   []RoutineOption
	NewName   Name
	NewSchema Name
	Owner     *RoleSpec
	// Extension is [NO] DEPENDS ON EXTENSION.
	Extension Name
	// Set are the options of ALTER OPERATOR ... SET.
	Set []AggregateOption
}

// DropRoutine is DROP FUNCTION, PROCEDURE and ROUTINE.
type DropRoutine struct {
	Loc
	Kind     RoutineKind
	IfExists bool
	Refs     []RoutineRef
	Cascade  bool
	Restrict bool
}

func (*CreateRoutine) stmtNode() {}
func (*AlterRoutine) stmtNode()  {}
func (*DropRoutine) stmtNode()   {}

// Tag implements Statement.
func (s *CreateRoutine) Tag() string { return "CREATE " + s.Kind.String() }

// Tag implements Statement.
func (s *AlterRoutine) Tag() string { return "ALTER " + s.Kind.String() }

// Tag implements Statement.
func (s *DropRoutine) Tag() string { return "DROP " + s.Kind.String() }

// EndsOrBeginsTransaction reports whether a statement controls transactions, which bodies of routines do in their own
// way.
func EndsOrBeginsTransaction(s Statement) bool {
	switch s.(type) {
	case *Begin, *Commit, *Rollback, *Savepoint, *Release, *RollbackTo:
		return true
	}
	return false
}
