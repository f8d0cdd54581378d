package plan

import (
	"slices"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/types"
)

// ExprEqual reports whether a and b are the same expression, positions aside.
// Subqueries are the same if they have the same text, within one query; calls of volatile functions compare
// like others, so callers that merge expressions check for them.
func ExprEqual(a, b Expr) bool {
	if a == b {
		return true
	}
	if a == nil || b == nil || !sameNode(a, b) {
		return false
	}
	var as, bs [8]Expr
	la, lb := operands(a, as[:0]), operands(b, bs[:0])
	if len(la) != len(lb) {
		return false
	}
	for i := range la {
		if !ExprEqual(la[i], lb[i]) {
			return false
		}
	}
	return true
}

// operands appends the operands of e to buf.
func operands(e Expr, buf []Expr) []Expr {
	Args(e, func(a *Expr) { buf = append(buf, *a) })
	return buf
}

func sameType(a, b *types.T) bool { return a.Oid == b.Oid && a.Typmod == b.Typmod }

// sameNode compares two expressions without their operands.
func sameNode(a, b Expr) bool {
	switch a := a.(type) {
	case *Const:
		b, ok := b.(*Const)
		return ok && sameType(a.T, b.T) && a.D == b.D
	case *ColRef:
		b, ok := b.(*ColRef)
		return ok && a.Col == b.Col
	case *Param:
		b, ok := b.(*Param)
		return ok && a.Index == b.Index && sameType(a.T, b.T)
	case *Call:
		b, ok := b.(*Call)
		return ok && a.Fn == b.Fn && a.VariadicArray == b.VariadicArray && sameType(a.T, b.T)
	case *Cast:
		b, ok := b.(*Cast)
		return ok && a.Mode == b.Mode && sameType(a.T, b.T) && (a.Mode != CastCollate || a.T.Collation().Oid == b.T.Collation().Oid)
	case *And:
		_, ok := b.(*And)
		return ok
	case *Or:
		_, ok := b.(*Or)
		return ok
	case *Not:
		_, ok := b.(*Not)
		return ok
	case *Is:
		b, ok := b.(*Is)
		return ok && a.Kind == b.Kind
	}
	return sameNode2(a, b)
}

func sameNode2(a, b Expr) bool {
	switch a := a.(type) {
	case *IsDistinct:
		b, ok := b.(*IsDistinct)
		return ok && a.Not == b.Not && a.Eq == b.Eq
	case *Case:
		b, ok := b.(*Case)
		return ok && len(a.Whens) == len(b.Whens) && (a.Operand == nil) == (b.Operand == nil) && a.OperandElse == b.OperandElse && sameType(a.T, b.T)
	case *AllElements:
		_, ok := b.(*AllElements)
		return ok
	case *CaseOperand:
		b, ok := b.(*CaseOperand)
		return ok && sameType(a.T, b.T)
	case *Coalesce:
		_, ok := b.(*Coalesce)
		return ok
	case *NullIf:
		b, ok := b.(*NullIf)
		return ok && a.Eq == b.Eq
	case *MinMax:
		b, ok := b.(*MinMax)
		return ok && a.Least == b.Least
	case *InList:
		b, ok := b.(*InList)
		return ok && a.Not == b.Not && a.Eq == b.Eq
	case *AnyAll:
		b, ok := b.(*AnyAll)
		return ok && a.All == b.All && a.Op == b.Op
	case *ArrayCtor:
		b, ok := b.(*ArrayCtor)
		return ok && sameType(a.T, b.T) && a.Nested == b.Nested
	case *RowCtor:
		b, ok := b.(*RowCtor)
		return ok && len(a.Fields) == len(b.Fields)
	case *RowCompare:
		b, ok := b.(*RowCompare)
		return ok && a.Op == b.Op && len(a.Left) == len(b.Left)
	case *Subscript:
		b, ok := b.(*Subscript)
		return ok && a.Slice == b.Slice && sameBounds(a.Lower, b.Lower) && sameBounds(a.Upper, b.Upper)
	case *FieldSelect:
		b, ok := b.(*FieldSelect)
		return ok && a.Field == b.Field
	case *SessionValue:
		b, ok := b.(*SessionValue)
		return ok && a.Kind == b.Kind && a.Precision == b.Precision
	case *Subquery:
		b, ok := b.(*Subquery)
		return ok && sameSubquery(a, b)
	}
	return false
}

// sameSubquery compares subqueries by what was written: within a query, names mean the same.
func sameSubquery(a, b *Subquery) bool {
	if a.Level == 0 || a.Level != b.Level || a.Kind != b.Kind || a.Not != b.Not || a.OpName != b.OpName || !sameType(a.T, b.T) {
		return false
	}
	same := func(x, y ColRef) bool { return x.Col == y.Col }
	return slices.EqualFunc(a.Outer, b.Outer, same) && slices.Equal(a.Ops, b.Ops) &&
		(a.Source == b.Source || ast.Format(a.Source) == ast.Format(b.Source))
}

// sameBounds compares which subscripts are present.
func sameBounds(a, b []Expr) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if (a[i] == nil) != (b[i] == nil) {
			return false
		}
	}
	return true
}
