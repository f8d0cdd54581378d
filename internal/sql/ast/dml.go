package ast

// Overriding is the OVERRIDING clause of INSERT.
type Overriding uint8

// The overriding choices.
const (
	OverridingNone Overriding = iota
	OverridingUser
	OverridingSystem
)

// Target is a column that INSERT or UPDATE assigns to, with the path into it
// when it is composite or an array: col.field[2].
type Target struct {
	Loc
	Column Name
	Path   []TargetStep
}

// TargetStep is one step of a Target's path: .Field, or an index.
type TargetStep struct {
	Field Name   // "" for an index
	Index *Index // nil for a field
}

// Insert is INSERT, or with Upsert the dialect's UPSERT.
type Insert struct {
	Loc
	With  *With
	Table *TableRef // with Alias for INSERT INTO t AS a
	Cols  []Target
	// Source is the VALUES or query; nil for DEFAULT VALUES.
	Source     *Select
	Overriding Overriding
	OnConflict *OnConflict
	Upsert     bool
	Returning  []SelectItem
}

// OnConflict is ON CONFLICT [target] DO NOTHING|UPDATE SET ...
type OnConflict struct {
	Loc
	// Target columns or expressions; empty with Constraint "" means any.
	Target      []IndexElem
	TargetWhere Expr
	Constraint  Name
	DoNothing   bool
	Set         []SetClause
	Where       Expr
}

// SetClause is one assignment of UPDATE: col = X, or (cols) = X with Multi,
// where X is a *Row, a scalar *Subquery or any expression that yields a row.
type SetClause struct {
	Loc
	Multi   bool
	Targets []Target // exactly one unless Multi
	X       Expr
}

// Update is UPDATE. OrderBy and Limit are dialect extras.
type Update struct {
	Loc
	With      *With
	Table     *TableRef
	Set       []SetClause
	From      []TableExpr
	Where     Expr
	OrderBy   []OrderItem
	Limit     Expr
	Returning []SelectItem
}

// Delete is DELETE. OrderBy and Limit are dialect extras.
type Delete struct {
	Loc
	With      *With
	Table     *TableRef
	Using     []TableExpr
	Where     Expr
	OrderBy   []OrderItem
	Limit     Expr
	Returning []SelectItem
}

// Truncate is TRUNCATE.
type Truncate struct {
	Loc
	Tables          []TableRef
	RestartIdentity bool
	Cascade         bool
}

func (*Insert) stmtNode()   {}
func (*Update) stmtNode()   {}
func (*Delete) stmtNode()   {}
func (*Truncate) stmtNode() {}
