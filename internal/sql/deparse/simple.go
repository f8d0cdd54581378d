package deparse

import "strings"

// simple reports whether a node needs no parentheses below parent, as PostgreSQL
// decides.
func simple(n, parent *node) bool {
	switch n.kind {
	case word, constant, call, special, grammar, subscript, caseOf, named:
		return true
	case field:
		return parent.kind != field
	case convert:
		return n.way == byFunction || simple(n.args[0], n)
	case operator:
		if parent.kind == operator {
			return bindsTighter(n, parent)
		}
		return withinList(parent)
	case subquery, test, distinct:
		return withinList(parent)
	case and, or, not:
		return simpleBool(n, parent)
	}
	return false
}

// withinList reports whether a parent puts its operands in a list, or between words.
func withinList(parent *node) bool {
	switch parent.kind {
	case and, or, not, subscript, special, call, caseOf:
		return true
	}
	return false
}

func simpleBool(n, parent *node) bool {
	switch parent.kind {
	case and:
		return n.kind != or
	case or:
		return true
	case not:
		return false
	}
	return withinList(parent)
}

// bindsTighter reports whether an operand that is an operator of arithmetic keeps its
// place without parentheses.
func bindsTighter(n, parent *node) bool {
	rank := func(n *node) int {
		switch {
		case len(n.args) != 2 || len(n.text) != 1:
			return 0
		case strings.Contains("+-", n.text):
			return 1
		case strings.Contains("*/%", n.text):
			return 2
		}
		return 0
	}
	own, above := rank(n), rank(parent)
	switch {
	case own == 0 || above == 0:
		return false
	case own != above:
		return own > above
	}
	return n == parent.args[0]
}
