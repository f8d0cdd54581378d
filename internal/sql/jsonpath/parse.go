package jsonpath

import (
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// Parse reads a path. number turns a numeric literal into its canonical text.
func Parse(s string, number func(string) (string, error)) (*Path, error) {
	if strings.IndexByte(s, 0) >= 0 {
		return nil, pgerr.New(pgerr.CharacterNotInRepertoire, "invalid byte sequence for encoding \"UTF8\": 0x00")
	}
	p := &parser{lexer: lexer{s: s}, canonical: number}
	if err := p.next(); err != nil {
		return nil, err
	}
	if p.kind == tokEnd {
		return nil, pgerr.New(pgerr.InvalidTextRepresentation, "invalid input syntax for type jsonpath: \"%s\"", s)
	}
	path := &Path{}
	if p.word("strict") || p.word("lax") {
		path.Strict = strings.EqualFold(p.text, "strict")
		if err := p.next(); err != nil {
			return nil, err
		}
	}
	var err error
	if path.Root, err = p.or(); err != nil {
		return nil, err
	}
	if p.kind != tokEnd {
		return nil, p.errSyntax()
	}
	if !shallow(path.Root, MaxDepth) {
		return nil, errTooDeep()
	}
	return path, nil
}

// parser is a recursive descent parser.
type parser struct {
	lexer
	canonical func(string) (string, error)
	depth     int
	filters   int // enclosing filters: @ is allowed
	subs      int // enclosing subscripts: last is allowed
}

func (p *parser) punct(s string) bool { return p.kind == tokPunct && p.text == s }

func (p *parser) word(s string) bool { return p.kind == tokIdent && strings.EqualFold(p.text, s) }

func (p *parser) expect(s string) error {
	if !p.punct(s) {
		return p.errSyntax()
	}
	return p.next()
}

func (p *parser) enter() error {
	if p.depth++; p.depth > maxTextDepth {
		return errTooDeep()
	}
	return nil
}

func errTooDeep() error {
	return pgerr.New(pgerr.StatementTooComplex, "stack depth limit exceeded").
		WithDetail("A jsonpath nests deeper than %d levels.", MaxDepth)
}

// shallow reports whether n and what follows it nest at most levels deep, and no more
// than MaxDepth accessors follow an item.
func shallow(n *Node, levels int) bool {
	for count := 0; n != nil; n, count = n.Next, count+1 {
		if levels == 0 || count > MaxDepth || !shallow(n.Left, levels-1) || !shallow(n.Right, levels-1) {
			return false
		}
		for _, s := range n.Subs {
			if !shallow(s.From, levels-1) || !shallow(s.To, levels-1) {
				return false
			}
		}
	}
	return true
}

// predicate returns n if it is a predicate that may be an operand of && and ||.
func (p *parser) predicate(n *Node) (*Node, error) {
	if !n.IsPredicate() || n.Next != nil {
		return nil, p.errSyntax()
	}
	return n, nil
}

// expression returns n if it is not a predicate, unless an accessor follows it.
func (p *parser) expression(n *Node) (*Node, error) {
	if n.IsPredicate() && n.Next == nil {
		return nil, p.errSyntax()
	}
	return n, nil
}

func (p *parser) or() (*Node, error) { return p.logical("||", Or, p.and) }

func (p *parser) and() (*Node, error) { return p.logical("&&", And, p.comparison) }

func (p *parser) logical(op string, kind Kind, operand func() (*Node, error)) (*Node, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	return p.binary(map[string]Kind{op: kind}, operand, p.predicate)
}

// binary parses operands with operators of one precedence between them; check tells
// whether a node may be an operand.
func (p *parser) binary(ops map[string]Kind, operand func() (*Node, error), check func(*Node) (*Node, error)) (*Node, error) {
	left, err := operand()
	if err != nil {
		return nil, err
	}
	for n := 0; p.kind == tokPunct; n++ {
		kind, ok := ops[p.text]
		if !ok {
			break
		}
		if n > MaxDepth {
			return nil, errTooDeep()
		}
		if left, err = check(left); err != nil {
			return nil, err
		}
		if err := p.next(); err != nil {
			return nil, err
		}
		right, err := operand()
		if err != nil {
			return nil, err
		}
		if right, err = check(right); err != nil {
			return nil, err
		}
		left = &Node{Kind: kind, Left: left, Right: right}
	}
	return left, nil
}

var comparisons = map[string]Kind{
	"==": Equal, "=": Equal, "!=": NotEqual, "<": Less, "<=": LessEqual, ">": Greater, ">=": GreaterEqual,
}

// comparison parses a predicate below && or an arithmetic expression.
func (p *parser) comparison() (*Node, error) {
	if p.punct("!") {
		if err := p.next(); err != nil {
			return nil, err
		}
		var arg *Node
		var err error
		switch {
		case p.punct("("):
			if arg, err = p.parens(); err == nil {
				_, err = p.predicate(arg)
			}
		case p.word("exists"):
			arg, err = p.exists()
		default:
			err = p.errSyntax()
		}
		return &Node{Kind: Not, Left: arg}, err
	}
	left, err := p.additive()
	if err != nil {
		return nil, err
	}
	kind, ok := Kind(0), false
	if p.kind == tokPunct {
		kind, ok = comparisons[p.text]
	}
	switch {
	case ok:
		if left, err = p.expression(left); err != nil {
			return nil, err
		}
		if err := p.next(); err != nil {
			return nil, err
		}
		right, err := p.additive()
		if err != nil {
			return nil, err
		}
		if right, err = p.expression(right); err != nil {
			return nil, err
		}
		return &Node{Kind: kind, Left: left, Right: right}, nil
	case p.word("starts"):
		return p.startsWith(left)
	case p.word("like_regex"):
		return p.likeRegex(left)
	}
	return left, nil
}

func (p *parser) startsWith(left *Node) (*Node, error) {
	if _, err := p.expression(left); err != nil {
		return nil, err
	}
	if err := p.next(); err != nil {
		return nil, err
	}
	if !p.word("with") {
		return nil, p.errSyntax()
	}
	if err := p.next(); err != nil {
		return nil, err
	}
	right := &Node{Kind: String, Str: p.text}
	switch p.kind {
	case tokString:
	case tokVariable:
		right.Kind = Variable
	default:
		return nil, p.errSyntax()
	}
	return &Node{Kind: StartsWith, Left: left, Right: right}, p.next()
}

func (p *parser) likeRegex(left *Node) (*Node, error) {
	if _, err := p.expression(left); err != nil {
		return nil, err
	}
	if err := p.next(); err != nil {
		return nil, err
	}
	if p.kind != tokString {
		return nil, p.errSyntax()
	}
	n := &Node{Kind: LikeRegex, Left: left, Str: p.text}
	if err := p.next(); err != nil || !p.word("flag") {
		return n, err
	}
	if err := p.next(); err != nil {
		return nil, err
	}
	if p.kind != tokString {
		return nil, p.errSyntax()
	}
	for _, c := range p.text {
		i := strings.IndexRune("ismxq", c)
		if i < 0 {
			return nil, pgerr.New(pgerr.SyntaxError, "invalid input syntax for type jsonpath").
				WithDetail("Unrecognized flag character \"%c\" in LIKE_REGEX predicate.", c)
		}
		n.Flags |= 1 << i
	}
	if n.Flags&FlagWSpace != 0 && n.Flags&FlagQuote == 0 {
		return nil, pgerr.Unsupported("XQuery \"x\" flag (expanded regular expressions) is not implemented")
	}
	return n, p.next()
}

func (p *parser) additive() (*Node, error) {
	return p.binary(map[string]Kind{"+": Add, "-": Sub}, func() (*Node, error) {
		return p.binary(map[string]Kind{"*": Mul, "/": Div, "%": Mod}, p.unary, p.expression)
	}, p.expression)
}

func (p *parser) unary() (*Node, error) {
	kind := Plus
	switch {
	case p.punct("-"):
		kind = Minus
	case p.punct("+"):
	default:
		return p.accessors()
	}
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	if err := p.next(); err != nil {
		return nil, err
	}
	arg, err := p.unary()
	if err != nil {
		return nil, err
	}
	if arg, err = p.expression(arg); err != nil {
		return nil, err
	}
	if arg.Kind == Number && arg.Next == nil { // the sign is the number's
		if kind == Minus {
			arg.Str = negated(arg.Str)
		}
		return arg, nil
	}
	return &Node{Kind: kind, Left: arg}, nil
}

// negated returns the text of a number with the other sign; zero has none.
func negated(s string) string {
	if positive, ok := strings.CutPrefix(s, "-"); ok {
		return positive
	}
	if strings.Trim(s, "0.") == "" {
		return s
	}
	return "-" + s
}

// parens parses ( ... ).
func (p *parser) parens() (*Node, error) {
	if err := p.expect("("); err != nil {
		return nil, err
	}
	n, err := p.or()
	if err != nil {
		return nil, err
	}
	return n, p.expect(")")
}

func (p *parser) exists() (*Node, error) {
	if err := p.next(); err != nil {
		return nil, err
	}
	arg, err := p.parens()
	if err != nil {
		return nil, err
	}
	if arg, err = p.expression(arg); err != nil {
		return nil, err
	}
	return &Node{Kind: Exists, Left: arg}, nil
}

// accessors parses a primary with what follows it.
func (p *parser) accessors() (*Node, error) {
	var n *Node
	var err error
	switch {
	case p.punct("("):
		if n, err = p.parens(); err != nil {
			return nil, err
		}
		if p.word("is") {
			return p.isUnknown(n)
		}
	case p.word("exists"):
		return p.exists()
	default:
		if n, err = p.primary(); err != nil {
			return nil, err
		}
	}
	end := n
	for end.Next != nil {
		end = end.Next
	}
	for count := 0; ; count++ {
		next, err := p.accessor()
		if err != nil {
			return nil, err
		}
		if next == nil {
			return n, nil
		}
		if count > MaxDepth {
			return nil, errTooDeep()
		}
		end.Next = next
		end = next
	}
}

func (p *parser) isUnknown(n *Node) (*Node, error) {
	if _, err := p.predicate(n); err != nil {
		return nil, err
	}
	if err := p.next(); err != nil {
		return nil, err
	}
	if !p.word("unknown") {
		return nil, p.errSyntax()
	}
	return &Node{Kind: IsUnknown, Left: n}, p.next()
}

func (p *parser) primary() (*Node, error) {
	n := &Node{Str: p.text}
	switch {
	case p.kind == tokString:
		n.Kind = String
	case p.kind == tokVariable:
		n.Kind = Variable
	case p.kind == tokInt, p.kind == tokNumber:
		n.Kind = Number
		var err error
		if n.Str, err = p.canonical(p.text); err != nil {
			return nil, err
		}
	case p.punct("$"):
		n.Kind = Root
	case p.punct("@"):
		if p.filters == 0 {
			return nil, pgerr.New(pgerr.SyntaxError, "@ is not allowed in root expressions")
		}
		n.Kind = Current
	case p.kind == tokIdent && p.text == "null":
		n.Kind = Null
	case p.kind == tokIdent && p.text == "true":
		n.Kind = True
	case p.kind == tokIdent && p.text == "false":
		n.Kind = False
	case p.word("last"):
		if p.subs == 0 {
			return nil, pgerr.New(pgerr.SyntaxError, "LAST is allowed only in array subscripts")
		}
		n.Kind = Last
	default:
		return nil, p.errSyntax()
	}
	return n, p.next()
}

// accessor parses one accessor, method or filter; nil if there is none.
func (p *parser) accessor() (*Node, error) {
	switch {
	case p.punct("."):
		if err := p.next(); err != nil {
			return nil, err
		}
		return p.member()
	case p.punct("["):
		if err := p.next(); err != nil {
			return nil, err
		}
		return p.subscripts()
	case p.punct("?"):
		if err := p.next(); err != nil {
			return nil, err
		}
		p.filters++
		cond, err := p.parens()
		p.filters--
		if err != nil {
			return nil, err
		}
		if cond, err = p.predicate(cond); err != nil {
			return nil, err
		}
		return &Node{Kind: Filter, Left: cond}, nil
	}
	return nil, nil
}

var methods = map[string]Kind{
	"type": Type, "size": Size, "abs": Abs, "floor": Floor, "ceiling": Ceiling,
	"double": Double, "datetime": Datetime, "keyvalue": KeyValue,
}

// member parses what follows a dot.
func (p *parser) member() (*Node, error) {
	switch {
	case p.punct("*"):
		return &Node{Kind: AnyKey}, p.next()
	case p.punct("**"):
		return p.anyPath()
	case p.kind != tokIdent && p.kind != tokString:
		return nil, p.errSyntax()
	}
	name := p.text
	if p.kind == tokString {
		return &Node{Kind: Key, Str: name}, p.next()
	}
	if err := p.next(); err != nil {
		return nil, err
	}
	kind, ok := methods[strings.ToLower(name)]
	if !ok || !p.punct("(") {
		return &Node{Kind: Key, Str: name}, nil
	}
	n := &Node{Kind: kind}
	if err := p.next(); err != nil {
		return nil, err
	}
	if kind == Datetime && p.kind == tokString {
		n.Left = &Node{Kind: String, Str: p.text}
		if err := p.next(); err != nil {
			return nil, err
		}
	}
	return n, p.expect(")")
}

// anyPath parses ** and its levels.
func (p *parser) anyPath() (*Node, error) {
	n := &Node{Kind: Any, Last: AnyLevel}
	if err := p.next(); err != nil || !p.punct("{") {
		return n, err
	}
	if err := p.next(); err != nil {
		return nil, err
	}
	var err error
	if n.First, err = p.level(); err != nil {
		return nil, err
	}
	n.Last = n.First
	if p.word("to") {
		if err := p.next(); err != nil {
			return nil, err
		}
		if n.Last, err = p.level(); err != nil {
			return nil, err
		}
	}
	return n, p.expect("}")
}

func (p *parser) level() (uint32, error) {
	if p.word("last") {
		return AnyLevel, p.next()
	}
	if p.kind != tokInt {
		return 0, p.errSyntax()
	}
	n, err := strconv.ParseUint(p.text, 10, 31)
	if err != nil {
		return 0, pgerr.New(pgerr.NumericValueOutOfRange, "value \"%s\" is out of range for type integer", p.text)
	}
	return uint32(n), p.next()
}

func (p *parser) subscripts() (*Node, error) {
	if p.punct("*") {
		if err := p.next(); err != nil {
			return nil, err
		}
		return &Node{Kind: AnyArray}, p.expect("]")
	}
	n := &Node{Kind: IndexArray}
	p.subs++
	defer func() { p.subs-- }()
	for {
		var s Subscript
		var err error
		if s.From, err = p.bound(); err != nil {
			return nil, err
		}
		if p.word("to") {
			if err := p.next(); err != nil {
				return nil, err
			}
			if s.To, err = p.bound(); err != nil {
				return nil, err
			}
		}
		n.Subs = append(n.Subs, s)
		if !p.punct(",") {
			return n, p.expect("]")
		}
		if err := p.next(); err != nil {
			return nil, err
		}
	}
}

func (p *parser) bound() (*Node, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	n, err := p.additive()
	if err != nil {
		return nil, err
	}
	return p.expression(n)
}
