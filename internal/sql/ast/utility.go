package ast

// VacuumTable is a table of VACUUM or ANALYZE with its columns.
type VacuumTable struct {
	Name TableName
	Cols []Name
}

// Vacuum is VACUUM or, with AnalyzeOnly, ANALYZE. Options come with lower-case
// names whatever the syntax.
type Vacuum struct {
	Loc
	AnalyzeOnly bool
	Options     []Option
	Tables      []VacuumTable
}

// Reindex is REINDEX. Kind is ObjIndex, ObjTable, ObjSchema or ObjDatabase;
// System is REINDEX SYSTEM.
type Reindex struct {
	Loc
	Options      []Option
	Kind         ObjectKind
	System       bool
	Concurrently bool
	Name         TableName
}

// Cluster is CLUSTER; Table is nil for every table clustered before.
type Cluster struct {
	Loc
	Options []Option
	Table   *TableName
	Index   Name
}

// Checkpoint is CHECKPOINT.
type Checkpoint struct{ Loc }

// LockMode is a table lock mode, weakest first.
type LockMode uint8

// The table lock modes.
const (
	AccessShare LockMode = iota
	RowShare
	RowExclusive
	ShareUpdateExclusive
	Share
	ShareRowExclusive
	Exclusive
	AccessExclusive
)

// lockModeNames is indexed by LockMode.
var lockModeNames = [...]string{
	"ACCESS SHARE", "ROW SHARE", "ROW EXCLUSIVE", "SHARE UPDATE EXCLUSIVE", "SHARE",
	"SHARE ROW EXCLUSIVE", "EXCLUSIVE", "ACCESS EXCLUSIVE",
}

// String returns the SQL words.
func (m LockMode) String() string { return lockModeNames[m] }

// LockTable is LOCK TABLE.
type LockTable struct {
	Loc
	Tables []TableRef
	Mode   LockMode // AccessExclusive when not written
	NoWait bool
}

// Do is DO [LANGUAGE lang] 'code'.
type Do struct {
	Loc
	Language Name
	Code     string
}

// Call is CALL procedure(args).
type Call struct {
	Loc
	Func *FuncCall
}

func (*Unsupported) stmtNode() {}
func (*Vacuum) stmtNode()      {}
func (*Reindex) stmtNode()     {}
func (*Cluster) stmtNode()     {}
func (*Checkpoint) stmtNode()  {}
func (*LockTable) stmtNode()   {}
func (*Do) stmtNode()          {}
func (*Call) stmtNode()        {}
