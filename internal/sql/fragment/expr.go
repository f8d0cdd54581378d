package fragment

import (
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/casts"
)

// The tags of expressions. They are never used again for another one.
const (
	tagNone byte = iota
	tagConst
	tagColRef
	tagCall
	tagCast
	tagAnd
	tagOr
	tagNot
	tagIs
	tagIsDistinct
	tagCase
	tagCaseOperand
	tagCoalesce
	tagNullIf
	tagMinMax
	tagInList
	tagAnyAll
	tagArrayCtor
)

// maxDepth bounds how deep expressions and operators are nested.
const maxDepth = 500

// expr writes an expression; nil too.
func (w *writer) expr(e plan.Expr) {
	if w.err != nil {
		return
	}
	if w.depth++; w.depth > maxDepth {
		w.unfit("an expression is nested too deep")
		return
	}
	defer func() { w.depth-- }()
	switch e := e.(type) {
	case nil:
		w.byte(tagNone)
	case *plan.Const:
		w.constant(e.T, e.D)
	case *plan.ColRef:
		if !w.visible[e.Col] {
			w.unfit("a column of an enclosing row")
			return
		}
		w.byte(tagColRef)
		w.uint(uint64(e.Col))
		w.typ(e.T)
	case *plan.Call:
		if w.computed(e, e.Fn.Volatility != call.Immutable) {
			return
		}
		w.byte(tagCall)
		w.overload(e.Fn)
		w.flags(e.VariadicArray)
		w.uint(uint64(e.Pos))
		w.typ(e.T)
		w.exprs(e.Args)
	case *plan.Cast:
		w.cast(e)
	case *plan.Param, *plan.SessionValue:
		w.computed(e, true)
	default:
		w.logic(e)
	}
}

// computed writes, if wanted, the value of an expression that reads no column, or notes that there is none.
func (w *writer) computed(e plan.Expr, wanted bool) bool {
	if !wanted {
		return false
	}
	fit := !plan.Volatile(e)
	plan.WalkExpr(e, func(x plan.Expr) bool {
		switch x.(type) {
		case *plan.ColRef, *plan.CaseOperand, *plan.Subquery:
			fit = false
		}
		return fit
	})
	if !fit {
		w.unfit("an expression depends on the session and on the row")
		return true
	}
	d, err := w.value(e)
	if err != nil {
		w.unfit("an expression can't be computed before")
		return true
	}
	w.constant(e.Type(), d)
	return true
}

func (w *writer) constant(t *types.T, d types.Datum) {
	w.byte(tagConst)
	w.typ(t)
	w.text(string(types.AppendEncoded(nil, d)))
}

func (w *writer) cast(e *plan.Cast) {
	from := e.Arg.Type()
	// Texts of floats and of bytea follow settings.
	text := e.T.Family == types.StringFamily && (from.Family == types.FloatFamily || from.Family == types.BytesFamily)
	if w.computed(e, e.Mode != plan.CastCollate && (text || !casts.Immutable(from, e.T))) {
		return
	}
	if e.Mode != plan.CastCollate && (from.Elem != nil || e.T.Elem != nil) {
		w.unfit("a cast of arrays")
		return
	}
	w.byte(tagCast)
	w.byte(byte(e.Mode))
	w.uint(uint64(e.Pos))
	w.typ(e.T)
	w.expr(e.Arg)
}

// logic writes conditions and what else has syntax of its own.
func (w *writer) logic(e plan.Expr) {
	switch e := e.(type) {
	case *plan.And:
		w.byte(tagAnd)
		w.exprs(e.Args)
	case *plan.Or:
		w.byte(tagOr)
		w.exprs(e.Args)
	case *plan.Not:
		w.byte(tagNot)
		w.expr(e.Arg)
	case *plan.Is:
		if e.OfFields() {
			w.unfit("a test of a record")
			return
		}
		w.byte(tagIs)
		w.byte(byte(e.Kind))
		w.expr(e.Arg)
	case *plan.IsDistinct:
		w.byte(tagIsDistinct)
		w.overload(e.Eq)
		w.flags(e.Not)
		w.exprs([]plan.Expr{e.Left, e.Right})
	case *plan.InList:
		w.byte(tagInList)
		w.overload(e.Eq)
		w.flags(e.Not)
		w.expr(e.Left)
		w.exprs(e.List)
	case *plan.AnyAll:
		w.byte(tagAnyAll)
		w.overload(e.Op)
		w.flags(e.All)
		w.exprs([]plan.Expr{e.Left, e.Array})
	default:
		w.choice(e)
	}
}

// choice writes expressions that yield one of their operands, and arrays.
func (w *writer) choice(e plan.Expr) {
	switch e := e.(type) {
	case *plan.Case:
		w.byte(tagCase)
		w.flags(e.OperandElse)
		w.typ(e.T)
		w.expr(e.Operand)
		w.expr(e.Else)
		w.uint(uint64(len(e.Whens)))
		for _, x := range e.Whens {
			w.expr(x.Cond)
			w.expr(x.Result)
		}
	case *plan.CaseOperand:
		w.byte(tagCaseOperand)
		w.typ(e.T)
	case *plan.Coalesce:
		w.byte(tagCoalesce)
		w.typ(e.T)
		w.exprs(e.Args)
	case *plan.NullIf:
		w.byte(tagNullIf)
		w.overload(e.Eq)
		w.exprs([]plan.Expr{e.Left, e.LeftCmp, e.RightCmp})
	case *plan.MinMax:
		w.byte(tagMinMax)
		w.overload(e.Less)
		w.flags(e.Least)
		w.typ(e.T)
		w.exprs(e.Args)
	case *plan.ArrayCtor:
		w.byte(tagArrayCtor)
		w.flags(e.Nested)
		w.typ(e.T)
		w.exprs(e.Elems)
	default:
		w.unfit("an expression of a kind that stays at the gateway")
	}
}

func (w *writer) exprs(list []plan.Expr) {
	w.uint(uint64(len(list)))
	for _, e := range list {
		w.expr(e)
	}
}

// expr reads what writer.expr has written.
func (r *reader) expr() plan.Expr {
	if r.depth++; r.depth > maxDepth {
		r.fail("an expression is nested too deep")
	}
	defer func() { r.depth-- }()
	if r.Bad() {
		return nil
	}
	switch tag := r.Byte(); tag {
	case tagNone:
		return nil
	case tagConst:
		return r.constant()
	case tagColRef:
		c := &plan.ColRef{Col: plan.ColID(r.Uvarint()), T: r.typ()}
		if !r.visible[c.Col] {
			r.fail("column %d is not there", c.Col)
		}
		return c
	case tagCall:
		c := &plan.Call{Fn: r.overload(), VariadicArray: r.flag(), Pos: r.number(), T: r.typ(), Args: r.exprs()}
		if c.Fn != nil && !c.Fn.Variadic && len(c.Args) != len(c.Fn.Args) {
			r.fail("%d arguments of %s", len(c.Args), c.Fn.Key())
		}
		return c
	case tagCast:
		return &plan.Cast{Mode: plan.CastMode(r.enum(byte(plan.CastCollate))), Pos: r.number(), T: r.typ(), Arg: r.must()}
	default:
		return r.logic(tag)
	}
}

func (r *reader) constant() plan.Expr {
	t := r.typ()
	d, rest, err := types.DecodeEncoded(r.text())
	if err != nil || rest != "" || !d.IsNull() && d.Family() != t.Family {
		r.fail("a constant of type %s", t.Name)
		return plan.NewNull(t)
	}
	return plan.NewConst(t, d)
}

// must reads an expression that is not nil.
func (r *reader) must() plan.Expr {
	e := r.expr()
	if e == nil {
		r.fail("an operand is missing")
		return plan.NewNull(types.Bool)
	}
	return e
}

func (r *reader) exprs() []plan.Expr {
	out := make([]plan.Expr, 0, r.Count(1))
	for range cap(out) {
		if r.Bad() {
			return nil
		}
		out = append(out, r.must())
	}
	return out
}

// fixed reads a list of n expressions.
func (r *reader) fixed(n int) []plan.Expr {
	list := r.exprs()
	if len(list) != n {
		r.fail("%d operands, not %d", len(list), n)
		list = make([]plan.Expr, n)
		for i := range list {
			list[i] = plan.NewNull(types.Bool)
		}
	}
	return list
}

func (r *reader) logic(tag byte) plan.Expr {
	switch tag {
	case tagAnd:
		return &plan.And{Args: r.exprs()}
	case tagOr:
		return &plan.Or{Args: r.exprs()}
	case tagNot:
		return &plan.Not{Arg: r.must()}
	case tagIs:
		return &plan.Is{Kind: plan.IsKind(r.enum(byte(plan.IsNotUnknown))), Arg: r.must()}
	case tagIsDistinct:
		e := &plan.IsDistinct{Eq: r.comparison(), Not: r.flag()}
		list := r.fixed(2)
		e.Left, e.Right = list[0], list[1]
		return e
	case tagInList:
		return &plan.InList{Eq: r.comparison(), Not: r.flag(), Left: r.must(), List: r.exprs()}
	case tagAnyAll:
		e := &plan.AnyAll{Op: r.comparison(), All: r.flag()}
		list := r.fixed(2)
		e.Left, e.Array = list[0], list[1]
		return e
	}
	return r.choice(tag)
}

func (r *reader) choice(tag byte) plan.Expr {
	switch tag {
	case tagCase:
		e := &plan.Case{OperandElse: r.flag(), T: r.typ(), Operand: r.expr(), Else: r.expr()}
		for range r.Count(2) {
			if r.Bad() {
				break
			}
			e.Whens = append(e.Whens, plan.When{Cond: r.must(), Result: r.must()})
		}
		return e
	case tagCaseOperand:
		return &plan.CaseOperand{T: r.typ()}
	case tagCoalesce:
		return &plan.Coalesce{T: r.typ(), Args: r.exprs()}
	case tagNullIf:
		e := &plan.NullIf{Eq: r.comparison()}
		list := r.fixed(3)
		e.Left, e.LeftCmp, e.RightCmp = list[0], list[1], list[2]
		return e
	case tagMinMax:
		return &plan.MinMax{Less: r.comparison(), Least: r.flag(), T: r.typ(), Args: r.exprs()}
	case tagArrayCtor:
		return &plan.ArrayCtor{Nested: r.flag(), T: r.typ(), Elems: r.exprs()}
	}
	r.fail("an expression of kind %d", tag)
	return nil
}
