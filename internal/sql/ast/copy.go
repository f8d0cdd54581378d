package ast

// Copy is COPY. Options come with lower-case names whatever the syntax:
// format, freeze, delimiter, null, header, quote, escape, encoding,
// force_quote, force_not_null, force_null. A column list is a *Row of *StrLit,
// force_quote * a *ColumnRef with Star.
type Copy struct {
	Loc
	Table *TableRef // nil when Query is set
	Cols  []Name
	Query Statement
	From  bool
	// Filename is "" for STDIN and STDOUT; Program says it is a command.
	Filename string
	Program  bool
	Options  []Option
	Where    Expr
}

// Explain is EXPLAIN. Options come with lower-case names; EXPLAIN ANALYZE
// VERBOSE as "analyze" and "verbose" without a value.
type Explain struct {
	Loc
	Options []Option
	Stmt    Statement
}

// Prepare is PREPARE name (types) AS statement.
type Prepare struct {
	Loc
	Name  Name
	Types []*TypeName
	Stmt  Statement
	// NumParams is the highest $n in Stmt.
	NumParams int
}

// Execute is EXECUTE name (args).
type Execute struct {
	Loc
	Name Name
	Args []Expr
}

// Deallocate is DEALLOCATE name or, with All, DEALLOCATE ALL.
type Deallocate struct {
	Loc
	Name Name
	All  bool
}

// DeclareCursor is DECLARE name CURSOR FOR query.
type DeclareCursor struct {
	Loc
	Name        Name
	Binary      bool
	Insensitive Tristate // No is ASENSITIVE
	Scroll      Tristate
	Hold        bool
	// WithoutHold says WITHOUT HOLD was written.
	WithoutHold bool
	Query       *Select
}

// FetchDirection is where FETCH and MOVE go.
type FetchDirection uint8

// The fetch directions; Count counts for all but FetchAll and FetchBackwardAll.
const (
	FetchForward FetchDirection = iota
	FetchBackward
	FetchAbsolute
	FetchRelative
	FetchAll
	FetchBackwardAll
)

// Fetch is FETCH or, with Move, MOVE. NEXT is forward 1, PRIOR backward 1,
// FIRST absolute 1, LAST absolute -1.
type Fetch struct {
	Loc
	Move      bool
	Direction FetchDirection
	Count     int64
	Cursor    Name
}

// CloseCursor is CLOSE name or, with All, CLOSE ALL.
type CloseCursor struct {
	Loc
	Name Name
	All  bool
}

func (*Copy) stmtNode()          {}
func (*Explain) stmtNode()       {}
func (*Prepare) stmtNode()       {}
func (*Execute) stmtNode()       {}
func (*Deallocate) stmtNode()    {}
func (*DeclareCursor) stmtNode() {}
func (*Fetch) stmtNode()         {}
func (*CloseCursor) stmtNode()   {}
