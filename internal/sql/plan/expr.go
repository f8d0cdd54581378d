package plan

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Expr is a typed scalar expression. Arguments of every node already have the
// types the node needs: the planner inserted Cast nodes. Types that share a
// representation and need no conversion (varchar where text is expected, int4
// where int8 is expected) are passed without a Cast.
type Expr interface {
	// Type returns the type of the value, never nil.
	Type() *types.T
	// copy returns a copy of the expression and of its lists of operands; the operands are shared.
	copy() Expr
}

// Const is a constant; a NULL constant has the type that its context gave it.
type Const struct {
	T *types.T
	D types.Datum
}

// ColRef is a reference to a column of the input or of an enclosing row.
type ColRef struct {
	Col  ColID
	T    *types.T
	Name string // for EXPLAIN
	Pos  int    // in the statement, 0 if unknown
}

// Param is a parameter of the statement; $1 has index 0.
type Param struct {
	Index int
	T     *types.T
}

// Call is a call of a function or an operator. Defaults are filled in: there
// are as many Args as the overload takes (more if it is variadic). T is the
// concrete result type.
type Call struct {
	Fn   *call.Overload
	Args []Expr
	T    *types.T
	// VariadicArray says that the last argument was written as VARIADIC arr:
	// it is an array holding the variadic arguments.
	VariadicArray bool
	// Pos is the position in the statement for run-time errors, 0 if unknown.
	Pos int
}

// CastMode says how a cast came about; it decides about truncation: an
// explicit cast to varchar(n) cuts, an assignment fails with 22001.
type CastMode uint8

// The cast modes.
const (
	CastImplicit CastMode = iota
	CastAssignment
	CastExplicit
	// CastCollate is COLLATE: it changes the collation and no value.
	CastCollate
)

// Cast converts Arg to T, modifier included.
type Cast struct {
	Arg  Expr
	T    *types.T
	Mode CastMode
	Pos  int // of COLLATE, else 0
}

// And is three-valued conjunction of two or more conditions.
type And struct{ Args []Expr }

// Or is three-valued disjunction of two or more conditions.
type Or struct{ Args []Expr }

// Not is three-valued negation.
type Not struct{ Arg Expr }

// IsKind is the test of an Is node.
type IsKind uint8

// The tests.
const (
	IsNull    IsKind = iota // of a record: every field is NULL
	IsNotNull               // of a record: no field is NULL
	IsTrue
	IsNotTrue
	IsFalse
	IsNotFalse
	IsUnknown // of any type, a record's fields do not matter
	IsNotUnknown
)

// Is is a test that never yields NULL.
type Is struct {
	Arg  Expr
	Kind IsKind
}

// OfFields reports whether the test looks at the fields of a record: then neither IS NULL nor
// IS NOT NULL is true of a record that has both, and one is not the other's negation.
func (e *Is) OfFields() bool {
	return e.Kind <= IsNotNull && e.Arg.Type().Family == types.RecordFamily
}

// IsDistinct is IS [NOT] DISTINCT FROM; Eq is the equality operator. The
// executor treats NULLs itself and calls Eq for two values.
type IsDistinct struct {
	Left, Right Expr
	Eq          *call.Overload
	Not         bool
}

// When is an arm of Case.
type When struct{ Cond, Result Expr }

// Case is a searched CASE; the planner rewrites the simple form, with Operand
// holding what is compared. While a When.Cond is evaluated, CaseOperand
// stands for the value of Operand, which is computed once.
type Case struct {
	Operand Expr // nil for the searched form
	Whens   []When
	Else    Expr // nil means NULL
	// OperandElse makes the operand the result where no condition holds.
	OperandElse bool
	T           *types.T
}

// AllElements is true unless Cond is false for an element of Array, for which
// CaseOperand stands in Cond; NULL for a NULL array.
type AllElements struct{ Array, Cond Expr }

// CaseOperand is the operand of the innermost enclosing Case with an Operand, the
// element of an AllElements, or the left operand of a NullIf.
type CaseOperand struct{ T *types.T }

// Coalesce yields its first argument that is not NULL.
type Coalesce struct {
	Args []Expr
	T    *types.T
}

// NullIf yields NULL if Eq(Cmp...) is true, else Left. LeftCmp and RightCmp are
// the operands coerced for the comparison; in LeftCmp CaseOperand stands for Left.
type NullIf struct {
	Left     Expr
	LeftCmp  Expr
	RightCmp Expr
	Eq       *call.Overload
}

// MinMax is GREATEST or LEAST; NULLs are ignored. Less is the operator "<".
type MinMax struct {
	Args  []Expr
	Least bool
	Less  *call.Overload
	T     *types.T
}

// InList is Left [NOT] IN (List...), all of types that Eq compares.
type InList struct {
	Left Expr
	List []Expr
	Eq   *call.Overload
	Not  bool
}

// AnyAll is Left op ANY|ALL (array). For a subquery see Subquery.
type AnyAll struct {
	Left  Expr
	Array Expr
	Op    *call.Overload
	All   bool
}

// ArrayCtor is ARRAY[...]; nested arrays have array elements and Nested set.
type ArrayCtor struct {
	Elems  []Expr
	T      *types.T // the array type
	Nested bool
}

// RowCtor is ROW(...) or a whole-row reference. Names are the field names where
// they are known.
type RowCtor struct {
	Fields []Expr
	Names  []string
	// NullRow, when set, is a column that is NULL only if the whole row is
	// absent (the nullable side of an outer join): the record is then NULL.
	NullRow Expr
	// T is the composite type of the relation that the row is of, nil for other rows.
	T *types.T
}

// RowCompare compares the order of two rows by the first fields that differ: Op is one of < <= > >=.
// Eq and Less hold the operators per field.
type RowCompare struct {
	Left, Right []Expr
	Op          string
	Eq, Less    []*call.Overload
}

// Subscript is an array element (Slice false: Upper[i] is the index) or slice.
type Subscript struct {
	Arg   Expr
	Lower []Expr // per dimension; nil entries where omitted or not a slice
	Upper []Expr
	Slice bool
	T     *types.T
}

// FieldSelect is (record).field of a record whose fields are known.
type FieldSelect struct {
	Arg   Expr
	Field int
	Name  string
	T     *types.T
}

// SessionKind names a value of the session that has its own syntax.
type SessionKind uint8

// The session values.
const (
	CurrentUser SessionKind = iota
	SessionUser
	CurrentRole
	CurrentCatalog
	CurrentSchema
	CurrentDate
	CurrentTime
	CurrentTimestamp
	LocalTime
	LocalTimestamp
)

// SessionValue is CURRENT_USER, CURRENT_TIMESTAMP and the like. Precision is
// the number of fractional digits, -1 if not given.
type SessionValue struct {
	Kind      SessionKind
	T         *types.T
	Precision int
}

// Type implements Expr.
func (e *Const) Type() *types.T { return e.T }

// Type implements Expr.
func (e *ColRef) Type() *types.T { return e.T }

// Type implements Expr.
func (e *Param) Type() *types.T { return e.T }

// Type implements Expr.
func (e *Call) Type() *types.T { return e.T }

// Type implements Expr.
func (e *Cast) Type() *types.T { return e.T }

// Type implements Expr.
func (e *And) Type() *types.T { return types.Bool }

// Type implements Expr.
func (e *Or) Type() *types.T { return types.Bool }

// Type implements Expr.
func (e *Not) Type() *types.T { return types.Bool }

// Type implements Expr.
func (e *Is) Type() *types.T { return types.Bool }

// Type implements Expr.
func (e *IsDistinct) Type() *types.T { return types.Bool }

// Type implements Expr.
func (e *Case) Type() *types.T { return e.T }

// Type implements Expr.
func (e *AllElements) Type() *types.T { return types.Bool }

// Type implements Expr.
func (e *CaseOperand) Type() *types.T { return e.T }

// Type implements Expr.
func (e *Coalesce) Type() *types.T { return e.T }

// Type implements Expr.
func (e *NullIf) Type() *types.T { return e.Left.Type() }

// Type implements Expr.
func (e *MinMax) Type() *types.T { return e.T }

// Type implements Expr.
func (e *InList) Type() *types.T { return types.Bool }

// Type implements Expr.
func (e *AnyAll) Type() *types.T { return types.Bool }

// Type implements Expr.
func (e *ArrayCtor) Type() *types.T { return e.T }

// Type implements Expr.
func (e *RowCtor) Type() *types.T {
	if e.T != nil {
		return e.T
	}
	if len(e.Names) == 0 || len(e.Names) != len(e.Fields) {
		return types.Record
	}
	fields := make([]types.FieldDef, len(e.Fields))
	for i, f := range e.Fields {
		fields[i] = types.FieldDef{Name: e.Names[i], Type: f.Type()}
	}
	return types.NewRowType(fields)
}

// Type implements Expr.
func (e *RowCompare) Type() *types.T { return types.Bool }

// Type implements Expr.
func (e *Subscript) Type() *types.T { return e.T }

// Type implements Expr.
func (e *FieldSelect) Type() *types.T { return e.T }

// Type implements Expr.
func (e *SessionValue) Type() *types.T { return e.T }

// NewConst returns a constant.
func NewConst(t *types.T, d types.Datum) *Const { return &Const{T: t, D: d} }

// NewNull returns a NULL of type t.
func NewNull(t *types.T) *Const { return &Const{T: t} }

// Ref returns a reference to c.
func Ref(c Column) *ColRef { return &ColRef{Col: c.ID, T: c.Type, Name: c.Name} }

// Conjoin returns the conjunction of a and b; nil stands for true.
func Conjoin(a, b Expr) Expr {
	if a == nil {
		return b
	}
	if b == nil {
		return a
	}
	args := append(Conjuncts(a, nil), Conjuncts(b, nil)...)
	return &And{Args: args}
}

// ConjoinAll returns the conjunction of list, nil for an empty list.
func ConjoinAll(list []Expr) Expr {
	switch len(list) {
	case 0:
		return nil
	case 1:
		return list[0]
	}
	return &And{Args: list}
}

// Conjuncts appends the top-level conjuncts of e (nil for true) to buf.
func Conjuncts(e Expr, buf []Expr) []Expr {
	if e == nil {
		return buf
	}
	if a, ok := e.(*And); ok {
		for _, x := range a.Args {
			buf = Conjuncts(x, buf)
		}
		return buf
	}
	return append(buf, e)
}
