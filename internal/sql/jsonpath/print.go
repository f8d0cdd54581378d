package jsonpath

import (
	"strconv"
	"strings"
)

// String prints a path as PostgreSQL does.
func (p *Path) String() string {
	var w writer
	if p.Strict {
		w.b = append(w.b, "strict "...)
	}
	w.node(p.Root, false, true)
	return string(w.b)
}

type writer struct{ b []byte }

func (w *writer) s(s string) { w.b = append(w.b, s...) }

// quoted appends a JSON string.
func (w *writer) quoted(s string) {
	const hex = "0123456789abcdef"
	w.b = append(w.b, '"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			w.b = append(w.b, '\\', c)
		case c >= 0x20:
			w.b = append(w.b, c)
		case strings.IndexByte("\b\f\n\r\t", c) >= 0:
			w.b = append(w.b, '\\', "bfnrt"[strings.IndexByte("\b\f\n\r\t", c)])
		default:
			w.b = append(w.b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	w.b = append(w.b, '"')
}

func priority(k Kind) int {
	switch k {
	case Or:
		return 0
	case And:
		return 1
	case Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual, StartsWith:
		return 2
	case Add, Sub:
		return 3
	case Mul, Div, Mod:
		return 4
	case Plus, Minus:
		return 5
	}
	return 6
}

// node prints n and what follows it. inKey says that it stands after a path,
// brackets that an operator needs parentheses: it does too if something follows, which
// PostgreSQL forgets, so that what it prints means something else.
func (w *writer) node(n *Node, inKey, brackets bool) {
	for ; n != nil; n, inKey, brackets = n.Next, true, true {
		w.item(n, inKey, brackets || n.Next != nil)
	}
}

func (w *writer) open(yes bool) {
	if yes {
		w.s("(")
	}
}

func (w *writer) shut(yes bool) {
	if yes {
		w.s(")")
	}
}

func (w *writer) operand(n *Node, of Kind) { w.node(n, false, priority(n.Kind) <= priority(of)) }

func (w *writer) item(n *Node, inKey, brackets bool) {
	switch n.Kind {
	case Null:
		w.s("null")
	case True:
		w.s("true")
	case False:
		w.s("false")
	case String:
		w.quoted(n.Str)
	case Number:
		w.open(n.Next != nil)
		w.s(n.Str)
		w.shut(n.Next != nil)
	case Variable:
		w.s("$")
		w.quoted(n.Str)
	case Root:
		w.s("$")
	case Current:
		w.s("@")
	case Last:
		w.s("last")
	case Key:
		if inKey {
			w.s(".")
		}
		w.quoted(n.Str)
	case Filter:
		w.s("?(")
		w.node(n.Left, false, false)
		w.s(")")
	case Not:
		w.open(n.Next != nil)
		w.s("!(")
		w.node(n.Left, false, false)
		w.s(")")
		w.shut(n.Next != nil)
	case IsUnknown:
		w.open(n.Next != nil)
		w.s("(")
		w.node(n.Left, false, false)
		w.s(") is unknown")
		w.shut(n.Next != nil)
	case Exists:
		w.open(n.Next != nil)
		w.s("exists (")
		w.node(n.Left, false, false)
		w.s(")")
		w.shut(n.Next != nil)
	case LikeRegex:
		w.open(brackets)
		w.operand(n.Left, n.Kind)
		w.s(" like_regex ")
		w.quoted(n.Str)
		w.flags(n.Flags)
		w.shut(brackets)
	case Plus, Minus:
		w.open(brackets)
		w.s(n.Kind.Op())
		w.operand(n.Left, n.Kind)
		w.shut(brackets)
	default:
		w.accessor(n, inKey, brackets)
	}
}

func (w *writer) accessor(n *Node, inKey, brackets bool) {
	if m := n.Kind.Method(); m != "" {
		w.s("." + m + "(")
		if n.Left != nil {
			w.node(n.Left, false, false)
		}
		w.s(")")
		return
	}
	switch n.Kind {
	case AnyArray:
		w.s("[*]")
	case AnyKey:
		if inKey {
			w.s(".")
		}
		w.s("*")
	case Any:
		if inKey {
			w.s(".")
		}
		w.levels(n.First, n.Last)
	case IndexArray:
		w.s("[")
		for i, s := range n.Subs {
			if i > 0 {
				w.s(",")
			}
			w.node(s.From, false, false)
			if s.To != nil {
				w.s(" to ")
				w.node(s.To, false, false)
			}
		}
		w.s("]")
	default: // a binary operator
		w.open(brackets)
		w.operand(n.Left, n.Kind)
		w.s(" " + n.Kind.Op() + " ")
		w.operand(n.Right, n.Kind)
		w.shut(brackets)
	}
}

func (w *writer) flags(f Flags) {
	if f == 0 {
		return
	}
	w.s(` flag "`)
	for i, c := range "ismxq" {
		if f&(1<<i) != 0 {
			w.b = append(w.b, byte(c))
		}
	}
	w.s(`"`)
}

func (w *writer) levels(first, last uint32) {
	w.s("**")
	name := func(n uint32) string {
		if n == AnyLevel {
			return "last"
		}
		return strconv.FormatUint(uint64(n), 10)
	}
	switch {
	case first == 0 && last == AnyLevel:
	case first == last:
		w.s("{" + name(first) + "}")
	default:
		w.s("{" + name(first) + " to " + name(last) + "}")
	}
}
