package ast

import "reflect"

// Walk calls pre for n and, while it returns true, for every node below in the
// order of the text: expressions, table expressions, queries, statements, type
// names. It follows every exported field, so a new field needs no code here.
func Walk(n Node, pre func(Node) bool) {
	if isNil(n) || !pre(n) {
		return
	}
	children(n, func(c Node) bool {
		Walk(c, pre)
		return true
	})
}

// HeightWithin reports whether the tree under n is at most max nodes high. It
// recurses no deeper than max.
func HeightWithin(n Node, max int) bool {
	if isNil(n) {
		return true
	}
	if max == 0 {
		return false
	}
	ok := true
	children(n, func(c Node) bool {
		ok = HeightWithin(c, max-1)
		return ok
	})
	return ok
}

// isNil reports whether n is nil or holds a nil pointer.
func isNil(n Node) bool {
	if n == nil {
		return true
	}
	v := reflect.ValueOf(n)
	return v.Kind() == reflect.Pointer && v.IsNil()
}

// children calls f for the nodes directly below n until f returns false. The
// common expressions have a case of their own; reflection does the others.
func children(n Node, f func(Node) bool) bool {
	switch x := n.(type) {
	case *IntLit, *NumLit, *StrLit, *BoolLit, *NullLit, *BitLit, *Param, *ColumnRef, *DefaultExpr, *SQLValue:
		return true
	case *BinaryOp:
		return f(x.L) && f(x.R)
	case *UnaryOp:
		return f(x.X)
	case *And:
		return each(x.Args, f)
	case *Or:
		return each(x.Args, f)
	case *Not:
		return f(x.X)
	case *IsNull:
		return f(x.X)
	case *Cast:
		return f(x.X) && f(x.Type)
	}
	return fieldNodes(reflect.ValueOf(n).Elem(), f)
}

func each(list []Expr, f func(Node) bool) bool {
	for _, x := range list {
		if !f(x) {
			return false
		}
	}
	return true
}

var nodeType = reflect.TypeFor[Node]()

// fieldNodes finds the nodes in the fields of a struct.
func fieldNodes(v reflect.Value, f func(Node) bool) bool {
	for i := 0; i < v.NumField(); i++ {
		if !valueNodes(v.Field(i), f) {
			return false
		}
	}
	return true
}

// valueNodes calls f for v if it is a pointer to a node, and looks for nodes in
// slices and plain structs.
func valueNodes(v reflect.Value, f func(Node) bool) bool {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return true
		}
		if v.Type().Implements(nodeType) {
			return f(v.Interface().(Node))
		}
		return valueNodes(v.Elem(), f)
	case reflect.Slice:
		switch v.Type().Elem().Kind() {
		case reflect.String, reflect.Int:
			return true
		}
		for i := 0; i < v.Len(); i++ {
			if !valueNodes(v.Index(i), f) {
				return false
			}
		}
	case reflect.Struct:
		return fieldNodes(v, f)
	}
	return true
}
