package textsearch

import (
	"encoding/binary"
	"strconv"
	"unicode/utf8"
)

func validUTF8(s string) bool { return utf8.ValidString(s) }

// Limits of queries.
const (
	MaxQueryDepth     = 4000    // of parentheses and negations
	MaxQueryHeight    = 1 << 16 // of the tree: how many operands a chain of operators has
	MaxQueryNodes     = 1 << 17
	MaxPhraseDistance = 16384
)

// Op says what a Query node is.
type Op uint8

// The operators, with the numbers of the binary form; OpValue is an operand.
const (
	OpValue  Op = 0
	OpNot    Op = 1
	OpAnd    Op = 2
	OpOr     Op = 3
	OpPhrase Op = 4
)

// Query is a node of a query; nil is the empty query.
type Query struct {
	Op       Op
	Left     *Query // the operand of OpNot
	Right    *Query
	Distance uint16 // OpPhrase: how far the right side's match is from the left's
	Word     string // OpValue
	Weights  uint8  // OpValue: set of weights 1<<Weight, 0 for any
	Prefix   bool   // OpValue
	stop     bool   // OpValue: a stop word, to be removed
}

func (o Op) priority() int {
	switch o {
	case OpOr:
		return 1
	case OpAnd:
		return 2
	case OpPhrase:
		return 3
	}
	return 4
}

// String prints q in infix form.
func (q *Query) String() string {
	if q == nil {
		return ""
	}
	return string(q.append(nil, -1, false))
}

func (q *Query) append(b []byte, parent int, rightPhrase bool) []byte {
	switch q.Op {
	case OpValue:
		b = appendQuoted(b, q.Word)
		if q.Weights == 0 && !q.Prefix {
			return b
		}
		b = append(b, ':')
		if q.Prefix {
			b = append(b, '*')
		}
		for w := WeightA; w <= WeightA; w-- {
			if q.Weights&(1<<w) != 0 {
				b = append(b, w.Letter())
			}
		}
		return b
	case OpNot:
		paren := q.Op.priority() < parent
		if paren {
			b = append(b, "( "...)
		}
		b = q.Left.append(append(b, '!'), q.Op.priority(), false)
		if paren {
			b = append(b, " )"...)
		}
		return b
	}
	p := q.Op.priority()
	paren := p < parent || q.Op == OpPhrase && rightPhrase
	if paren {
		b = append(b, "( "...)
	}
	b = q.Left.append(b, p, false)
	switch {
	case q.Op == OpOr:
		b = append(b, " | "...)
	case q.Op == OpAnd:
		b = append(b, " & "...)
	case q.Distance == 1:
		b = append(b, " <-> "...)
	default:
		b = append(b, " <"+strconv.Itoa(int(q.Distance))+"> "...)
	}
	b = q.Right.append(b, p, q.Op == OpPhrase)
	if paren {
		b = append(b, " )"...)
	}
	return b
}

// Nodes counts the operands and operators.
func (q *Query) Nodes() int {
	if q == nil {
		return 0
	}
	return 1 + q.Left.Nodes() + q.Right.Nodes()
}

// AppendBinary appends the binary form of q.
func (q *Query) AppendBinary(dst []byte) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(q.Nodes()))
	return q.appendNodes(dst)
}

func (q *Query) appendNodes(dst []byte) []byte {
	if q == nil {
		return dst
	}
	if q.Op == OpValue {
		prefix := byte(0)
		if q.Prefix {
			prefix = 1
		}
		dst = append(dst, 1, q.Weights, prefix)
		return append(append(dst, q.Word...), 0)
	}
	dst = append(dst, 2, byte(q.Op))
	if q.Op == OpPhrase {
		dst = binary.BigEndian.AppendUint16(dst, q.Distance)
	}
	if q.Op != OpNot {
		dst = q.Right.appendNodes(dst)
	}
	return q.Left.appendNodes(dst)
}

// DecodeQuery reads the binary form of a query.
func DecodeQuery(s string) (*Query, error) {
	d := decoder{s: s}
	n := int(d.u32())
	if d.bad || n > MaxQueryNodes {
		return nil, errBinary("tsquery")
	}
	if n == 0 {
		if d.s != "" {
			return nil, errBinary("tsquery")
		}
		return nil, nil
	}
	left := n
	q := d.query(&left, 0)
	if d.bad || left != 0 || d.s != "" {
		return nil, errBinary("tsquery")
	}
	return q, nil
}

func (d *decoder) query(left *int, depth int) *Query {
	*left--
	if *left < 0 || depth > MaxQueryDepth {
		d.bad = true
	}
	if d.bad {
		return &Query{}
	}
	q := &Query{}
	switch d.u8() {
	case 1:
		q.Weights = d.u8()
		q.Prefix = d.u8() != 0
		q.Word = d.cstring()
		if q.Weights > 0xf || q.Word == "" || !validUTF8(q.Word) {
			d.bad = true
		}
		return q
	case 2:
	default:
		d.bad = true
		return q
	}
	q.Op = Op(d.u8())
	if q.Op < OpNot || q.Op > OpPhrase {
		d.bad = true
		return q
	}
	if q.Op == OpPhrase {
		if q.Distance = d.u16(); q.Distance > MaxPhraseDistance {
			d.bad = true
		}
	}
	if q.Op != OpNot {
		q.Right = d.query(left, depth+1)
	}
	q.Left = d.query(left, depth+1)
	return q
}

// Height returns the height of q's tree.
func (q *Query) Height() int {
	if q == nil {
		return 0
	}
	return 1 + max(q.Left.Height(), q.Right.Height())
}

// Words calls f for every operand of q.
func (q *Query) Words(f func(*Query)) {
	if q == nil {
		return
	}
	if q.Op == OpValue {
		f(q)
		return
	}
	q.Left.Words(f)
	q.Right.Words(f)
}

// Tree prints what of a query an index could serve: querytree().
func (q *Query) Tree() string {
	if q == nil {
		return ""
	}
	if t := q.positive(); t != nil {
		return t.String()
	}
	return "T"
}

// positive drops negations; nil stands for everything.
func (q *Query) positive() *Query {
	switch q.Op {
	case OpValue:
		return q
	case OpNot:
		return nil
	}
	l, r := q.Left.positive(), q.Right.positive()
	switch {
	case l != nil && r != nil:
		c := *q
		c.Left, c.Right = l, r
		return &c
	case q.Op == OpOr:
		return nil
	case l != nil:
		return l
	}
	return r
}

// Combine joins two queries; an empty one does not count.
func Combine(op Op, l, r *Query, distance uint16) *Query {
	switch {
	case l == nil:
		return r
	case r == nil:
		return l
	}
	return &Query{Op: op, Left: l, Right: r, Distance: distance}
}

// Not negates a query.
func Not(q *Query) *Query {
	if q == nil {
		return nil
	}
	return &Query{Op: OpNot, Left: q}
}

// Rewrite replaces every part of q that equals target by with.
func (q *Query) Rewrite(target, with *Query) *Query {
	if q == nil || target == nil {
		return q
	}
	r := rewriter{target: target.String(), nodes: target.Nodes(), with: with}
	rewritten, _ := r.rewrite(q)
	return rewritten
}

// rewriter replaces the parts of a query that equal another one. It prints those of as many nodes as
// that has, of which none lies within another, so that it looks at each node twice at most.
type rewriter struct {
	target string
	nodes  int // of target
	with   *Query
}

// rewrite returns q with parts replaced, and how many nodes q has.
func (r *rewriter) rewrite(q *Query) (rewritten *Query, nodes int) {
	if q == nil {
		return nil, 0
	}
	left, nl := r.rewrite(q.Left)
	right, nr := r.rewrite(q.Right)
	nodes = 1 + nl + nr
	switch {
	case nodes == r.nodes && q.String() == r.target:
		return r.with, nodes
	case left == q.Left && right == q.Right:
		return q, nodes
	case q.Op == OpNot:
		return Not(left), nodes
	}
	return Combine(q.Op, left, right, q.Distance), nodes
}
