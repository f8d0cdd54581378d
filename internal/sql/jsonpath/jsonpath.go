package jsonpath

import "github.com/lichendb/lichen/internal/sql/pgregexp"

// MaxDepth bounds how deep expressions nest, and how many accessors follow one item.
const MaxDepth = 1000

// maxTextDepth bounds how deep the text nests: what a level of the tree is printed as
// takes up to three of the parser's, and parentheses that say nothing may come on top.
const maxTextDepth = 4 * MaxDepth

// AnyLevel is the level "last" of .**{...}.
const AnyLevel = 1<<32 - 1

// Kind says what a Node is.
type Kind uint8

// The kinds of nodes.
const (
	Null Kind = iota
	String
	Number
	True
	False
	Variable
	Root
	Current
	Last
	AnyArray   // [*]
	AnyKey     // .*
	Any        // .**
	IndexArray // [a, b to c]
	Key
	Filter
	And
	Or
	Not
	IsUnknown
	Exists
	Equal
	NotEqual
	Less
	LessEqual
	Greater
	GreaterEqual
	StartsWith
	LikeRegex
	Add
	Sub
	Mul
	Div
	Mod
	Plus
	Minus
	Type
	Size
	Abs
	Floor
	Ceiling
	Double
	Datetime
	KeyValue
)

// Flags are the flags of like_regex.
type Flags uint8

// The flags, in the order they print in.
const (
	FlagIcase  Flags = 1 << iota // i
	FlagDotAll                   // s
	FlagMline                    // m
	FlagWSpace                   // x
	FlagQuote                    // q
)

// Regexp returns what the flags mean to regular expressions.
func (f Flags) Regexp() pgregexp.Flags {
	out := pgregexp.Flags{Fold: f&FlagIcase != 0}
	if f&FlagQuote != 0 {
		out.Literal = true
		return out
	}
	out.LineDot = f&FlagDotAll == 0
	out.LineEnd = f&FlagMline != 0
	return out
}

// Subscript is one entry of an IndexArray; To is nil for a single index.
type Subscript struct{ From, To *Node }

// Node is an item of a path; Next is the accessor or method applied to it.
type Node struct {
	Kind Kind
	// Str is the text of a string, key, variable, number or pattern.
	Str string
	// Left and Right are the operands; unary nodes use Left.
	Left, Right *Node
	Subs        []Subscript
	First, Last uint32 // levels of Any
	Flags       Flags
	Next        *Node
}

// Path is a parsed path.
type Path struct {
	Strict bool
	Root   *Node
}

// CheckPatterns returns the error of the first regular expression that is none.
func (p *Path) CheckPatterns() error { return p.Root.checkPatterns() }

func (n *Node) checkPatterns() error {
	if n == nil {
		return nil
	}
	if n.Kind == LikeRegex {
		if _, err := pgregexp.Compile(n.Str, n.Flags.Regexp()); err != nil {
			return err
		}
	}
	below := []*Node{n.Left, n.Right, n.Next}
	for _, s := range n.Subs {
		below = append(below, s.From, s.To)
	}
	for _, m := range below {
		if err := m.checkPatterns(); err != nil {
			return err
		}
	}
	return nil
}

// IsPredicate reports whether a node yields a truth value.
func (n *Node) IsPredicate() bool {
	switch n.Kind {
	case And, Or, Not, IsUnknown, Exists, Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual, StartsWith, LikeRegex:
		return true
	}
	return false
}

// Op returns the operator of a binary or unary node, "" for others.
func (k Kind) Op() string {
	switch k {
	case And:
		return "&&"
	case Or:
		return "||"
	case Equal:
		return "=="
	case NotEqual:
		return "!="
	case Less:
		return "<"
	case LessEqual:
		return "<="
	case Greater:
		return ">"
	case GreaterEqual:
		return ">="
	case StartsWith:
		return "starts with"
	case Add, Plus:
		return "+"
	case Sub, Minus:
		return "-"
	case Mul:
		return "*"
	case Div:
		return "/"
	case Mod:
		return "%"
	}
	return ""
}

// Method returns the name of a method, "" for other kinds.
func (k Kind) Method() string {
	switch k {
	case Type:
		return "type"
	case Size:
		return "size"
	case Abs:
		return "abs"
	case Floor:
		return "floor"
	case Ceiling:
		return "ceiling"
	case Double:
		return "double"
	case Datetime:
		return "datetime"
	case KeyValue:
		return "keyvalue"
	}
	return ""
}
