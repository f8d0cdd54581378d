package plpgsql

// Function is the tree of a function's body.
type Function struct {
	Body *Block
	// Conflict is what #variable_conflict says: "", error, use_variable, use_column.
	Conflict string
	// PrintStrict is what #print_strict_params says.
	PrintStrict bool
	// Exprs and Targets are how many there are: their IDs are lower.
	Exprs, Targets int
}

// Stmt is a statement.
type Stmt interface {
	// At returns the line of the body where the statement begins, from 1.
	At() int
}

// Line is embedded in each statement.
type Line int

// At implements Stmt.
func (l Line) At() int { return int(l) }

// Expr is an expression in SQL, as text. Pos is where it begins in the body, in bytes; the ID tells it from the others of the
// body.
type Expr struct {
	ID   int
	Line int
	Pos  int
	Text string
	Name string // of an argument of a cursor that is given by its name
}

// Type is a type as written.
type Type struct {
	Line int
	Pos  int // as of Expr
	// Text is the name of a type in SQL; with Of "type" or "rowtype" that of a variable, a column or a relation.
	Text string
	Of   string
	// Record says that it is RECORD, Cursor that it is that of a bound cursor.
	Record, Cursor bool
}

// Decl declares a variable, a cursor or another name for a parameter.
type Decl struct {
	Line     int
	Pos      int // of the name, of an alias that of what it stands for, as of Expr
	Name     string
	Alias    string // ALIAS FOR; the rest is unset
	Constant bool
	NotNull  bool
	Type     Type
	Default  *Expr
	// Of a cursor that is bound to a query:
	Query  *SQL
	Params []Decl
	Scroll string // "", scroll, no scroll
}

// Block is [<<label>>] [DECLARE ...] BEGIN ... [EXCEPTION ...] END.
type Block struct {
	Line
	Label    string
	Decls    []Decl
	Body     []Stmt
	Handlers []Handler // nil: no EXCEPTION
	EndLine  int
}

// Handler is WHEN conditions THEN statements.
type Handler struct {
	Line       int
	Conditions []Condition
	Body       []Stmt
}

// Condition is the name of an error, in lower case, or a SQLSTATE.
type Condition struct{ Name, State string }

// Target is where a value goes: a variable or a part of one.
type Target struct {
	ID    int // as of Expr, among targets
	Line  int
	Pos   int      // as of Expr
	Parts []string // name, and fields, perhaps behind a label
	Path  []Step   // what follows from the first subscript on
}

// Step leads from a value to a part of it: a field, or an element or a slice of an array.
type Step struct {
	Field    string
	Slice    bool
	From, To *Expr // From is the subscript of an element; a slice may lack bounds
}

// SQL is a statement in SQL, as text. INTO of it was blanked out; Pos is as of Expr.
type SQL struct {
	Line int
	Pos  int
	Text string
}

// Assign is target := expression; Before is what stands before the expression.
type Assign struct {
	Line
	Before string
	Target Target
	Value  Expr
}

// If is IF, with its ELSIFs.
type If struct {
	Line
	Branches []Branch
	Else     []Stmt
}

// Branch is a condition with what is done if it is true.
type Branch struct {
	Cond Expr
	Body []Stmt
}

// Case is CASE. With a Value, the conditions of the branches are lists of values.
type Case struct {
	Line
	Value    *Expr
	Branches []Branch
	HasElse  bool
	Else     []Stmt
}

// Loop is LOOP, and WHILE with a condition.
type Loop struct {
	Line
	Label string
	Cond  *Expr
	Body  []Stmt
}

// ForInt is FOR name IN [REVERSE] a .. b [BY c].
type ForInt struct {
	Line
	Label    string
	Var      string
	Reverse  bool
	From, To Expr
	By       *Expr
	Body     []Stmt
}

// ForQuery is FOR target IN query, IN EXECUTE, or IN a bound cursor.
type ForQuery struct {
	Line
	Label   string
	Targets []Target
	Query   *SQL  // or
	Dynamic *Expr // EXECUTE, or
	Cursor  string
	Using   []Expr // of EXECUTE; arguments of the cursor
	Body    []Stmt
}

// ForEach is FOREACH target [SLICE n] IN ARRAY expression.
type ForEach struct {
	Line
	Label   string
	Targets []Target
	Slice   int
	Array   Expr
	Body    []Stmt
}

// Exit is EXIT and CONTINUE.
type Exit struct {
	Line
	Pos      int // of the statement, of its label if it has one, as of Expr
	Continue bool
	Label    string
	When     *Expr
}

// Return is RETURN [expression].
type Return struct {
	Line
	Pos   int // of the value or semicolon, as of Expr
	Value *Expr
}

// ReturnNext is RETURN NEXT [expression].
type ReturnNext struct {
	Line
	Pos   int // as of Expr
	Value *Expr
}

// ReturnQuery is RETURN QUERY of a query, or of EXECUTE.
type ReturnQuery struct {
	Line
	Pos     int // as of Expr
	Query   *SQL
	Dynamic *Expr
	Using   []Expr
}

// Raise is RAISE.
type Raise struct {
	Line
	Level   string // debug, log, info, notice, warning, exception
	Cond    Condition
	Format  *string
	Args    []Expr
	Options []RaiseOption
	Bare    bool // raise again what is handled
}

// RaiseOption is an option of USING: message, detail, hint, errcode, column, constraint, datatype, table, schema.
type RaiseOption struct {
	Name  string
	Value Expr
}

// Assert is ASSERT.
type Assert struct {
	Line
	Cond    Expr
	Message *Expr
}

// Execute is a statement in SQL that is part of the body, with INTO.
type Execute struct {
	Line
	SQL     SQL
	Into    []Target // nil: none
	Strict  bool
	Perform bool // PERFORM
	Call    bool // CALL or DO
}

// Dynamic is EXECUTE expression [INTO] [USING].
type Dynamic struct {
	Line
	Text   Expr
	Into   []Target
	Strict bool
	Using  []Expr
}

// Diagnostics is GET [CURRENT | STACKED] DIAGNOSTICS.
type Diagnostics struct {
	Line
	Stacked bool
	Items   []Diagnostic
}

// Diagnostic is target = ITEM.
type Diagnostic struct {
	Target Target
	Item   string // in lower case
}

// Null is NULL.
type Null struct{ Line }

// Transaction is COMMIT and ROLLBACK.
type Transaction struct {
	Line
	Rollback bool
	Chain    bool
}

// Open is OPEN of a cursor.
type Open struct {
	Line
	Cursor  Target
	Scroll  string
	Query   *SQL
	Dynamic *Expr
	Using   []Expr
	Args    []Expr // of a bound cursor
	End     int    // where the semicolon stands in the body, in bytes
}

// Fetch is FETCH and MOVE.
type Fetch struct {
	Line
	Move      bool
	Direction string // as in SQL, "" for NEXT
	Cursor    Target
	Into      []Target
}

// Close is CLOSE.
type Close struct {
	Line
	Cursor Target
}
