package call

import (
	"strings"

	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Volatility says how far the result of a call may be reused.
type Volatility uint8

// The volatilities, in PostgreSQL's meaning.
const (
	// Immutable results depend on the arguments only: fold at any time.
	Immutable Volatility = iota
	// Stable results may change between statements, not within one.
	Stable
	// Volatile calls are evaluated for every row and never removed.
	Volatile
)

// EvalFunc computes one call. It must not keep args after it returns.
type EvalFunc func(c *Context, args []types.Datum) (types.Datum, error)

// RowIterator yields the rows of a set-returning call. The returned slice is
// valid until the next call of Next.
type RowIterator interface {
	// Next returns the next row; ok is false at the end.
	Next() (row []types.Datum, ok bool, err error)
}

// SRFFunc starts a set-returning call.
type SRFFunc func(c *Context, args []types.Datum) (RowIterator, error)

// Binding is what is known about a call when it is planned.
type Binding struct {
	// Types are the concrete argument types after resolution.
	Types []*types.T
	// Consts holds, per argument, the value if it is a constant, else nil.
	// It may be nil as a whole.
	Consts []*types.Datum
}

// Const returns argument i's constant value if it is known and not NULL.
func (b Binding) Const(i int) (types.Datum, bool) {
	if i >= len(b.Consts) || b.Consts[i] == nil || b.Consts[i].IsNull() {
		return types.Null, false
	}
	return *b.Consts[i], true
}

// BindFunc specialises a call for its argument types and constants.
type BindFunc func(b Binding) (EvalFunc, error)

// StringTest tests a string. Strings of WeightyBytes count steps of c.
type StringTest func(c *Context, s string) bool

// Overload is one callable signature of an operator or a function.
type Overload struct {
	Oid  uint32 // pg_proc.oid, or pg_operator.oid for an operator
	Name string
	Args []*types.T
	// Variadic: the last of Args stands for one or more arguments.
	Variadic bool
	// Defaults is how many trailing arguments may be left out; the caller
	// completes the call with DefaultArgs.
	Defaults    int
	DefaultArgs []types.Datum
	Ret         *types.T
	// RetType computes the result type of the few overloads whose result
	// follows no rule that Signature knows; usually nil.
	RetType func(args []*types.T) *types.T
	Strict  bool
	// NullListEmpty: a null array for the variadic arguments stands for none, not for a null result.
	NullListEmpty bool
	Volatility    Volatility
	Leakproof     bool // of a user's function; see builtin.Leakproof
	Operator      bool
	// Restricted functions are the superusers' to call, unless they are granted; see builtin.restrict.
	Restricted bool
	// code: it is the function behind an operator, and nothing else.
	BehindOperator bool
	// unlisted: pg_proc does not list it, because only the planner calls it or it is syntax in PostgreSQL.
	Unlisted bool
	// InPlace says that a call reads its arguments where they are and makes nothing large, so that
	// it needs no memory for them.
	InPlace bool
	// Eval is nil where the call must be bound first, see Bound.
	Eval EvalFunc
	// SRF is set for set-returning functions, and Eval and Bind are nil then.
	SRF SRFFunc
	// bind replaces Eval where the argument types matter.
	Bind BindFunc
	// Test returns the operator between a string and a pattern as a test of the string, which needs nothing
	// of the session; nil where the pattern is not of a kind that has one.
	Test func(pattern string) StringTest
	// OutNames and OutTypes describe the columns of an SRF that returns a
	// record; nil for one column of type Ret named like the function.
	OutNames []string
	OutTypes []*types.T
	// OneRow says that it returns one row at most: PostgreSQL declares no set.
	OneRow bool
	// bindSRF replaces SRF where the argument types matter; recordSRF where a
	// column definition list says what is returned.
	BindSRF   func(Binding) (SRFFunc, error)
	RecordSRF func(t *types.T) SRFFunc
	// listSRF is what returns the rows in place of the function where one that can do
	// without a column definition list is given one.
	ListSRF func(t *types.T) SRFFunc

	// Routine describes a user-defined function, in the catalog's terms; nil if it is built in. ArgNames are
	// the names of its arguments, DefaultTexts stand in for DefaultArgs.
	Routine      any
	ArgNames     []string
	DefaultTexts []string

	// Extension is the extension that brings it, "" if it is part of the system.
	Extension string

	Agg *Aggregate
}

// Bound returns the function to evaluate for a call with the given concrete
// argument types and known constants. Overloads with a constant pattern (LIKE,
// regular expressions) compile it here once.
func (o *Overload) Bound(b Binding) (EvalFunc, error) {
	if o.Bind == nil {
		return o.Eval, nil
	}
	return o.Bind(b)
}

// IsSRF reports whether o returns a set.
func (o *Overload) IsSRF() bool { return o.SRF != nil || o.BindSRF != nil || o.RecordSRF != nil }

// Listed reports whether pg_proc lists o: not what the planner alone calls, and not what is
// syntax in PostgreSQL.
func (o *Overload) Listed() bool { return !o.Unlisted }

// BoundSRF is Bound for set-returning functions.
func (o *Overload) BoundSRF(b Binding) (SRFFunc, error) {
	switch {
	case o.SRF != nil:
		return o.SRF, nil
	case o.BindSRF != nil:
		return o.BindSRF(b)
	}
	return nil, pgerr.New(pgerr.SyntaxError, "a column definition list is required for functions returning \"record\"")
}

// Call evaluates o once for arguments of the given types; it is meant for
// constant folding and tests, plans keep the result of Bound instead.
func (o *Overload) Call(c *Context, argTypes []*types.T, args []types.Datum) (types.Datum, error) {
	if o.Strict {
		for i := range args {
			if args[i].IsNull() {
				return types.Null, nil
			}
		}
	}
	f, err := o.Bound(Binding{Types: argTypes})
	if err != nil {
		return types.Null, err
	}
	d, err := f(c, args)
	return c.Made(d, err, args)
}

// Fold is Call while a statement is planned: it fails, with an error of no meaning, if the call
// takes long or makes a large value.
func (o *Overload) Fold(c *Context, argTypes []*types.T, args []types.Datum) (types.Datum, error) {
	c.folding, c.folded = true, 0
	defer func() { c.folding, c.stopped, c.steps = false, nil, 0 }()
	return o.Call(c, argTypes, args)
}

// Stable declares the volatility of that name.
func (o *Overload) Stable() *Overload { o.Volatility = Stable; return o }

// Volatile declares the volatility of that name.
func (o *Overload) Volatile() *Overload { o.Volatility = Volatile; return o }

// ReadsInPlace declares that calls make nothing large: see InPlace.
func (o *Overload) ReadsInPlace() *Overload {
	o.InPlace = true
	return o
}

// NonStrict declares that the function is called with NULL arguments, too.
func (o *Overload) NonStrict() *Overload {
	o.Strict = false
	return o
}

// EmptyForNullList declares that a null array for the variadic arguments stands for none.
func (o *Overload) EmptyForNullList() *Overload {
	o.NullListEmpty = true
	return o
}

// WithDefaults makes the last arguments optional.
func (o *Overload) WithDefaults(ds ...types.Datum) *Overload {
	o.Defaults, o.DefaultArgs = len(ds), ds
	return o
}

// Columns declares the columns of a record-returning SRF.
func (o *Overload) Columns(names []string, ts []*types.T) *Overload {
	o.OutNames, o.OutTypes = names, ts
	return o
}

// AtMostOneRow declares that what is made as a set is one row.
func (o *Overload) AtMostOneRow() *Overload { o.OneRow = true; return o }

// WithColumns returns a function that returns records as one with the columns
// that a column definition list names; false if the function has its own.
func (o *Overload) WithColumns(names []string, ts []*types.T) (*Overload, bool) {
	rows := o.RecordSRF
	if rows == nil {
		rows = o.ListSRF
	}
	if rows == nil {
		return nil, false
	}
	var fields []types.FieldDef
	for i, n := range names {
		fields = append(fields, types.FieldDef{Name: n, Type: ts[i]})
	}
	c := *o
	c.OutNames, c.OutTypes = names, ts
	c.SRF, c.Eval, c.Bind, c.BindSRF = rows(types.NewRowType(fields)), nil, nil, nil
	return &c, true
}

// TakesColumns reports whether o, which returns one value, can be given a column definition
// list.
func (o *Overload) TakesColumns() bool { return o.ListSRF != nil && !o.IsSRF() }

// NeedsColumns reports whether a call of o needs a column definition list.
func (o *Overload) NeedsColumns() bool { return o.RecordSRF != nil && len(o.OutTypes) == 0 }

// Key renders a signature as pg_proc has it: "abs(int4)", "+(int4,int4)". What a variadic
// function takes is an array there.
func (o *Overload) Key() string {
	names := make([]string, len(o.Args))
	for i, a := range o.Args {
		names[i] = a.Name
		if array, ok := types.ArrayOf(a); o.Variadic && i == len(o.Args)-1 && ok {
			names[i] = array.Name
		}
	}
	return o.Name + "(" + strings.Join(names, ",") + ")"
}

// String renders the overload as "name(type,type) result".
func (o *Overload) String() string { return o.Key() + " " + o.Ret.Name }
