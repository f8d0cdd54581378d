package plan

import (
	"reflect"
	"slices"
)

// SameShape reports whether two plans of a statement do the same: they read the same
// tables by the same indexes and join them in the same order and way. The values that they
// do it with may differ.
func SameShape(a, b Node) bool {
	if reflect.TypeOf(a) != reflect.TypeOf(b) || !sameOperator(a, b) {
		return false
	}
	return slices.EqualFunc(Children(a), Children(b), SameShape)
}

// sameOperator compares two operators of one kind without their inputs.
func sameOperator(a, b Node) bool {
	switch a := a.(type) {
	case *Scan:
		return sameScan(a, b.(*Scan))
	case *Join:
		b := b.(*Join)
		return a.Kind == b.Kind && a.Algo == b.Algo
	case *Sort:
		return a.Presorted == b.(*Sort).Presorted
	case *GroupBy:
		return a.Ordered == b.(*GroupBy).Ordered
	case *Distinct:
		return a.Ordered == b.(*Distinct).Ordered
	}
	return true
}

func sameScan(a, b *Scan) bool {
	if a.Table.ID != b.Table.ID || (a.Index == nil) != (b.Index == nil) || (a.Tokens == nil) != (b.Tokens == nil) {
		return false
	}
	if a.Index != nil && a.Index.ID != b.Index.ID {
		return false
	}
	return a.Reverse == b.Reverse && a.Point == b.Point && (a.Cuts == nil) == (b.Cuts == nil) && slices.EqualFunc(a.Spans, b.Spans, func(s, t Span) bool {
		return len(s.Eq) == len(t.Eq) && (s.Lo == nil) == (t.Lo == nil) && (s.Hi == nil) == (t.Hi == nil)
	})
}
