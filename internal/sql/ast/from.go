package ast

// Alias is [AS] name [(cols)] after a table expression. The zero Alias means
// none was written.
type Alias struct {
	Name Name
	Cols []Name
}

// TableRef is a table, view or CTE named in FROM, and the target of INSERT,
// UPDATE and DELETE.
type TableRef struct {
	Loc
	Name  TableName
	Only  bool
	Alias Alias
	// IndexHint is the index of the dialect form t@index; "" when none.
	IndexHint Name
	Sample    *TableSample
}

// TableSample is TABLESAMPLE method(args) [REPEATABLE (seed)], at the method.
type TableSample struct {
	Loc
	Method     FuncName
	Args       []Expr
	Repeatable Expr
}

// SubqueryRef is a query in FROM.
type SubqueryRef struct {
	Loc
	Query   *Select
	Lateral bool
	Alias   Alias
}

// FuncRef is a function in FROM, or with RowsFrom several side by side.
type FuncRef struct {
	Loc
	Funcs      []FuncItem
	RowsFrom   bool
	Lateral    bool
	Ordinality bool
	Alias      Alias
	// Cols is the column definition list of f(...) AS a (x int, y text); it
	// may come without an alias name.
	Cols []ColumnDecl
}

// FuncItem is one function of a FuncRef: a *FuncCall, or an expression with the
// grammar of a function such as COALESCE or CURRENT_DATE.
type FuncItem struct {
	Call Expr
	Cols []ColumnDecl // ROWS FROM (f(...) AS (x int))
}

// ColumnDecl is a column of a column definition list: name, type, collation.
type ColumnDecl struct {
	Loc
	Name    Name
	Type    *TypeName
	Collate []Name
}

// JoinKind is the kind of a Join.
type JoinKind uint8

// The join kinds.
const (
	JoinInner JoinKind = iota
	JoinLeft
	JoinRight
	JoinFull
	JoinCross
)

// Join is L JOIN R. Exactly one of Natural, On and Using is set, none for
// JoinCross.
type Join struct {
	Loc
	Kind    JoinKind
	L, R    TableExpr
	Natural bool
	On      Expr
	Using   []Name
	// UsingAlias is the alias of USING (...) AS alias.
	UsingAlias Name
	// Alias is that of a parenthesised join: (a JOIN b ON ...) AS j.
	Alias Alias
}

// StatementRef is the dialect form FROM [SHOW TABLES].
type StatementRef struct {
	Loc
	Stmt  Statement
	Alias Alias
}

func (*TableRef) tableExprNode()     {}
func (*SubqueryRef) tableExprNode()  {}
func (*FuncRef) tableExprNode()      {}
func (*Join) tableExprNode()         {}
func (*StatementRef) tableExprNode() {}
