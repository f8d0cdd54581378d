package deparse

import (
	"bytes"
	"strings"

	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// The steps of indentation.
const (
	indentStep = 8
	indentJoin = 4
	indentVar  = 4
	// maxIndent is where indentation begins anew.
	maxIndent = 40
)

func (d *deparser) w(parts ...string) {
	for _, p := range parts {
		d.buf = append(d.buf, p...)
	}
}

// keyword starts a line with a word, indented by plus more than the rest; before and
// after change the indentation.
func (d *deparser) keyword(text string, before, after, plus int) {
	d.indent += before
	d.trimSpaces()
	amount := max(d.indent, 0)
	if amount >= maxIndent {
		amount = (maxIndent + (amount-maxIndent)/(indentStep/2)) % maxIndent
	}
	d.w("\n", strings.Repeat(" ", amount+plus), text)
	d.indent = max(d.indent+after, 0)
}

// trimSpaces removes the spaces at the end of what is printed.
func (d *deparser) trimSpaces() {
	d.buf = bytes.TrimRight(d.buf, " ")
}

// lineLen is how long the last line is.
func (d *deparser) lineLen() int { return len(d.buf) - 1 - bytes.LastIndexByte(d.buf, '\n') }

// apart prints something on its own and returns it.
func (d *deparser) apart(f func()) string {
	whole := d.buf
	d.buf = nil
	f()
	s := string(d.buf)
	d.buf = whole
	return s
}

// open and close print the parentheses that only the plain layout has.
func (d *deparser) open() {
	if !d.layout.Pretty {
		d.w("(")
	}
}

func (d *deparser) close() {
	if !d.layout.Pretty {
		d.w(")")
	}
}

// operand prints an operand of parent.
func (d *deparser) operand(n *node, implicit bool, parent *node) {
	if d.layout.Pretty && !simple(n, parent) {
		d.w("(")
		d.expr(n, implicit)
		d.w(")")
		return
	}
	d.expr(n, implicit)
}

// exprs prints a list.
func (d *deparser) exprs(list []*node) {
	for i, n := range list {
		if i > 0 {
			d.w(", ")
		}
		d.expr(n, true)
	}
}

// expr prints a node; implicit says whether casts that nobody wrote are shown at its top.
func (d *deparser) expr(n *node, implicit bool) {
	switch n.kind {
	case word:
		d.w(n.text)
	case constant:
		d.constant(n, 0)
	case call, grammar:
		d.callExpr(n)
	case special:
		d.special(n)
	case named:
		d.w(n.text)
		d.expr(n.args[0], true)
	case convert:
		d.convertExpr(n, implicit)
	case caseOf:
		d.caseOf(n)
	case field:
		d.fieldExpr(n)
	case subscript:
		d.subscriptExpr(n)
	case subquery:
		d.sublink(n)
	case rowCompare:
		d.w("(")
		d.expr(n.args[0], true)
		d.w(" ", n.text, " ")
		d.expr(n.args[1], true)
		d.w(")")
	default:
		d.open()
		d.operatorExpr(n, implicit)
		d.close()
	}
}

// operatorExpr prints what stands in parentheses in the plain layout.
func (d *deparser) operatorExpr(n *node, implicit bool) {
	switch n.kind {
	case operator:
		if len(n.args) == 1 {
			d.w(n.text, " ")
			d.operand(n.args[0], true, n)
			return
		}
		d.operand(n.args[0], true, n)
		d.w(" ", n.text, " ")
		d.operand(n.args[1], true, n)
	case quantified:
		d.operand(n.args[0], true, n)
		d.w(n.text)
		d.operand(n.args[1], true, n)
		if s := n.args[1].sub; s != nil && s.mid == "" && !s.array { // not a query of rows
			d.w("::", d.typeText(n.args[1].typ))
		}
		d.w(")")
	case test:
		d.operand(n.args[0], n.text == " IS NULL" || n.text == " IS NOT NULL", n)
		d.w(n.text)
	case distinct:
		d.operand(n.args[0], true, n)
		d.w(n.text)
		d.operand(n.args[1], true, n)
	case and, or:
		for i, x := range n.args {
			if i > 0 {
				d.w([...]string{and: " AND ", or: " OR "}[n.kind])
			}
			d.operand(x, false, n)
		}
	case not:
		d.w("NOT ")
		d.operand(n.args[0], false, n)
	case collate:
		d.operand(n.args[0], implicit, n)
		d.w(" COLLATE ", n.text)
	}
}

// typeText is a type with its modifier.
func (d *deparser) typeText(t *types.T) string {
	if t.Oid == types.Bit.Oid && t.Typmod < 0 {
		return `"bit"` // bit would mean bit(1)
	}
	return types.FormatType(d.env.TypeName(t))
}

// constant prints a constant: label is positive where its type has to show, negative
// where it must not.
func (d *deparser) constant(n *node, label int) {
	if n.null {
		d.w("NULL")
		if label >= 0 {
			d.w("::", d.typeText(n.typ))
		}
		return
	}
	text, plain := d.constantText(n)
	d.w(text)
	if label > 0 || label == 0 && !plain {
		d.w("::", d.typeText(n.typ))
	}
}

// constantText is a constant's value; plain if it is read as one of its type.
func (d *deparser) constantText(n *node) (text string, plain bool) {
	s := string(typeio.AppendText(nil, n.typ, n.datum, d.env.Format))
	switch n.typ.Oid {
	case types.Int4.Oid:
		plain = s[0] != '-'
	case types.Numeric.Oid:
		plain = s[0] >= '0' && s[0] <= '9' && strings.ContainsAny(s, "eE.") && n.typ.Typmod < 0
	case types.Bool.Oid:
		if n.datum.Bool() {
			return "true", true
		}
		return "false", true
	case types.Unknown.Oid:
		return d.quote(n.literal), true
	}
	if plain {
		return s, true
	}
	return d.quote(s), false
}

// quote puts a constant in quotes, for a session that reads it with its own
// standard_conforming_strings.
func (d *deparser) quote(s string) string {
	if d.env.Format.Escapes {
		s = strings.ReplaceAll(s, `\`, `\\`)
	}
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}

// convertExpr prints a cast.
func (d *deparser) convertExpr(n *node, implicit bool) {
	x := n.args[0]
	if n.implicit && !implicit {
		d.operand(x, false, n)
		return
	}
	if x.kind == constant && x.typ.Oid == n.typ.Oid && x.typ.Typmod < 0 {
		d.constant(x, -1)
	} else {
		d.open()
		d.operand(x, false, n)
		d.close()
	}
	d.w("::", d.typeText(n.typ))
}

// special prints what looks like a call.
func (d *deparser) special(n *node) {
	d.w(n.text)
	d.exprs(n.args)
	if n.text != "ARRAY[" {
		d.w(")")
		if n.cast {
			d.w("::", d.typeText(n.typ))
		}
		return
	}
	d.w("]")
	if len(n.args) == 0 {
		d.w("::", d.typeText(n.typ))
	}
}

func (d *deparser) caseOf(n *node) {
	d.keyword("CASE", 0, indentVar, 0)
	if len(n.args) > 0 {
		d.w(" ")
		d.expr(n.args[0], true)
	}
	for _, w := range n.whens {
		d.keyword("WHEN ", 0, 0, 0)
		d.expr(w.cond, false)
		d.w(" THEN ")
		d.expr(w.result, true)
	}
	d.keyword("ELSE ", 0, 0, 0)
	d.expr(n.els, true)
	d.keyword("END", -indentVar, 0, 0)
}

func (d *deparser) fieldExpr(n *node) {
	x := n.args[0]
	d.container(x, x.kind == subscript || x.kind == field)
	d.w(".", n.text)
}

// container prints what a field or an element is taken of, in parentheses unless it is plain.
func (d *deparser) container(x *node, plain bool) {
	if plain {
		d.expr(x, true)
		return
	}
	d.w("(")
	d.expr(x, true)
	d.w(")")
}

func (d *deparser) subscriptExpr(n *node) {
	x := n.args[0]
	d.container(x, x.kind == word && x.column != "" || x.kind == field)
	for _, ix := range n.index {
		d.w("[")
		if ix.lo != nil {
			d.expr(ix.lo, false)
		}
		if ix.slice {
			d.w(":")
			if ix.hi != nil {
				d.expr(ix.hi, false)
			}
		}
		d.w("]")
	}
}

// sublink prints a query in an expression.
func (d *deparser) sublink(n *node) {
	s := n.sub
	if s.array {
		d.w("ARRAY(")
	} else {
		d.w("(")
	}
	if s.row {
		d.w("(")
		d.exprs(s.left)
		d.w(")")
	} else if len(s.left) > 0 {
		d.operand(s.left[0], true, n)
	}
	d.w(s.mid)
	if s.paren {
		d.w("(")
	}
	d.nested(s.query, false)
	if s.paren {
		d.w(")")
	}
	d.w(")")
}
