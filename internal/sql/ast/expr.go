package ast

// IntLit is an integer that fits int8. Values outside int4 are int8 constants.
// A minus sign directly before the number is folded in.
type IntLit struct {
	Loc
	Val int64
}

// NumLit is a numeric constant: with a point or exponent, or an integer too
// large for int8. Text is as written, perhaps with a leading minus.
type NumLit struct {
	Loc
	Text string
}

// StrLit is a string constant of unknown type, its escapes resolved.
type StrLit struct {
	Loc
	Val string
}

// BitLit is B'...' or, with Hex, X'...'; Val holds the digits as written.
type BitLit struct {
	Loc
	Val string
	Hex bool
}

// BoolLit is TRUE or FALSE.
type BoolLit struct {
	Loc
	Val bool
}

// NullLit is NULL.
type NullLit struct{ Loc }

// DefaultExpr is DEFAULT in VALUES and SET.
type DefaultExpr struct{ Loc }

// Param is $N, N ≥ 1.
type Param struct {
	Loc
	N int
}

// ColumnRef is a column, perhaps qualified, or with Star "*" or "t.*" (Column
// is then ""). Alone, the name may also be a whole row: SELECT t FROM t.
type ColumnRef struct {
	Loc
	Catalog Name
	Schema  Name
	Table   Name
	Column  Name
	Star    bool
}

// BinaryOp is L op R.
type BinaryOp struct {
	Loc
	Op   Operator
	L, R Expr
}

// UnaryOp is op X: -x, +x, ~x, @x, ...
type UnaryOp struct {
	Loc
	Op Operator
	X  Expr
}

// And is a conjunction of two or more. A chain a AND b AND c is one node.
type And struct {
	Loc
	Args []Expr
}

// Or is a disjunction of two or more.
type Or struct {
	Loc
	Args []Expr
}

// Not is NOT X.
type Not struct {
	Loc
	X Expr
}

// IsNull is X IS [NOT] NULL.
type IsNull struct {
	Loc
	X   Expr
	Not bool
}

// TruthValue is what IS TRUE, IS FALSE and IS UNKNOWN test for.
type TruthValue uint8

// The truth values.
const (
	TruthTrue TruthValue = iota
	TruthFalse
	TruthUnknown
)

// IsTruth is X IS [NOT] TRUE|FALSE|UNKNOWN.
type IsTruth struct {
	Loc
	X    Expr
	Test TruthValue
	Not  bool
}

// IsDistinct is L IS [NOT] DISTINCT FROM R.
type IsDistinct struct {
	Loc
	L, R Expr
	Not  bool
}

// Between is X [NOT] BETWEEN [SYMMETRIC] Lo AND Hi.
type Between struct {
	Loc
	X, Lo, Hi Expr
	Not       bool
	Symmetric bool
}

// In is X [NOT] IN (list) or, when Query is set, X [NOT] IN (query).
type In struct {
	Loc
	X     Expr
	List  []Expr
	Query *Select
	Not   bool
}

// LikeKind tells LIKE, ILIKE and SIMILAR TO apart.
type LikeKind uint8

// The kinds of pattern match.
const (
	LikeLike LikeKind = iota
	LikeILike
	LikeSimilar
)

// Like is X [NOT] LIKE|ILIKE|SIMILAR TO Pattern [ESCAPE Escape].
type Like struct {
	Loc
	Kind    LikeKind
	X       Expr
	Pattern Expr
	Escape  Expr // nil when not written
	Not     bool
}

// Quantified is L op ANY|ALL (subquery or array); SOME is ANY. LIKE and ILIKE
// come as the operators ~~, !~~, ~~* and !~~*.
type Quantified struct {
	Loc
	L     Expr
	Op    Operator
	All   bool
	Query *Select // or
	Array Expr
}

// When is one WHEN Cond THEN Result.
type When struct {
	Loc
	Cond   Expr
	Result Expr
}

// Case is CASE [Operand] WHEN ... [ELSE Else] END.
type Case struct {
	Loc
	Operand Expr // nil in a searched case
	Whens   []When
	Else    Expr // nil when not written
}

// Coalesce is COALESCE(args).
type Coalesce struct {
	Loc
	Args []Expr
}

// NullIf is NULLIF(L, R).
type NullIf struct {
	Loc
	L, R Expr
}

// MinMax is GREATEST(args) or, with Least, LEAST(args).
type MinMax struct {
	Loc
	Least bool
	Args  []Expr
}

// CastStyle remembers how a cast was written.
type CastStyle uint8

// The ways to write a cast.
const (
	CastFunc    CastStyle = iota // CAST(x AS type)
	CastColons                   // x::type
	CastLiteral                  // type 'literal': X is a *StrLit
)

// Cast converts X to Type.
type Cast struct {
	Loc
	Style CastStyle
	X     Expr
	Type  *TypeName
}

// ArrayExpr is ARRAY[...]. Inner brackets without the word ARRAY come as
// *ArrayExpr elements too.
type ArrayExpr struct {
	Loc
	Elems []Expr
}

// Index is one subscript of a Subscript: [Lo] or, with Slice, [Lo:Hi] where
// either bound may be nil.
type Index struct {
	Slice  bool
	Lo, Hi Expr
}

// Subscript is X[i][j:k]...
type Subscript struct {
	Loc
	X       Expr
	Indexes []Index
}

// FieldSelect is (X).Field or, with Star, (X).*
type FieldSelect struct {
	Loc
	X     Expr
	Field Name
	Star  bool
}

// Row is ROW(...) (Explicit) or (a, b, ...).
type Row struct {
	Loc
	Elems    []Expr
	Explicit bool
}

// SubqueryKind is the use a subquery expression makes of its rows.
type SubqueryKind uint8

// The kinds of subquery expression.
const (
	SubqueryScalar SubqueryKind = iota // (SELECT ...)
	SubqueryExists                     // EXISTS (SELECT ...)
	SubqueryArray                      // ARRAY(SELECT ...)
)

// Subquery is a query used as an expression.
type Subquery struct {
	Loc
	Kind  SubqueryKind
	Query *Select
}

// Collate is X COLLATE name.
type Collate struct {
	Loc
	X    Expr
	Name []Name
}

// CurrentOf is the condition of WHERE CURRENT OF cursor.
type CurrentOf struct {
	Loc
	Cursor Name
}

func (*IntLit) exprNode()      {}
func (*NumLit) exprNode()      {}
func (*StrLit) exprNode()      {}
func (*BitLit) exprNode()      {}
func (*BoolLit) exprNode()     {}
func (*NullLit) exprNode()     {}
func (*DefaultExpr) exprNode() {}
func (*Param) exprNode()       {}
func (*ColumnRef) exprNode()   {}
func (*BinaryOp) exprNode()    {}
func (*UnaryOp) exprNode()     {}
func (*And) exprNode()         {}
func (*Or) exprNode()          {}
func (*Not) exprNode()         {}
func (*IsNull) exprNode()      {}
func (*IsTruth) exprNode()     {}
func (*IsDistinct) exprNode()  {}
func (*Between) exprNode()     {}
func (*In) exprNode()          {}
func (*Like) exprNode()        {}
func (*Quantified) exprNode()  {}
func (*Case) exprNode()        {}
func (*Coalesce) exprNode()    {}
func (*NullIf) exprNode()      {}
func (*MinMax) exprNode()      {}
func (*Cast) exprNode()        {}
func (*ArrayExpr) exprNode()   {}
func (*Subscript) exprNode()   {}
func (*FieldSelect) exprNode() {}
func (*Row) exprNode()         {}
func (*Subquery) exprNode()    {}
func (*Collate) exprNode()     {}
func (*CurrentOf) exprNode()   {}
