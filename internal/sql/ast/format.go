package ast

import (
	"strconv"
	"strings"
)

// Format prints an expression, table expression, type name, window or statement as SQL
// that reads back as the same tree. Every operand that is itself an operator
// expression stands in parentheses. Of an Unsupported statement only the
// feature's name is known, so it does not read back.
func Format(n Node) string {
	var p printer
	p.node(n)
	return p.b.String()
}

// FormatOperand prints an expression as SQL, in parentheses where an operator would need them.
func FormatOperand(x Expr) string {
	var p printer
	p.operand(x)
	return p.b.String()
}

// String prints the type as SQL.
func (t *TypeName) String() string { return Format(t) }

// printer collects the text.
type printer struct {
	b strings.Builder
}

// node prints any node.
func (p *printer) node(n Node) {
	switch n := n.(type) {
	case Expr:
		p.expr(n)
	case Statement:
		p.stmt(n)
	case TableExpr:
		p.tableExpr(n)
	case *TypeName:
		p.typeName(n, false)
	case *WindowSpec:
		p.windowSpec(n)
	case TableName:
		p.name(n)
	case RoleSpec:
		p.role(n)
	}
}

// w writes text as it is.
func (p *printer) w(parts ...string) {
	for _, s := range parts {
		p.b.WriteString(s)
	}
}

// opt writes text if cond holds.
func (p *printer) opt(cond bool, s string) {
	if cond {
		p.b.WriteString(s)
	}
}

// ident writes a name, in quotes where it could be taken for something else.
func (p *printer) ident(n Name) {
	if n != "" && delicate(n) {
		p.w(`"`, n, `"`)
		return
	}
	p.w(QuoteIdent(n))
}

// delicate names words that are no reserved keywords and yet begin a clause in
// some place where a name may stand.
func delicate(n Name) bool {
	switch n {
	case "partition", "range", "rows", "groups", "rollup", "cube", "operator", "double", "index", "sets",
		"family", "inverted", "hash", "split", "storing", "covering", "unsplit", "upsert", "locality",
		"virtual", "configure", "priority", "nulls", "of", "within", "filter", "over":
		return true
	}
	return false
}

// quoted writes a name in quotes if it is any keyword, for grammars that give
// unreserved words a meaning.
func (p *printer) quoted(n Name) {
	if _, ok := LookupKeyword(n); ok || delicate(n) {
		p.w(`"`, n, `"`)
		return
	}
	p.w(QuoteIdent(n))
}

// collate writes COLLATE, if there is a collation.
func (p *printer) collate(name []Name) {
	if name != nil {
		p.w(" COLLATE ")
		p.dotted(name...)
	}
}

// dotted writes the parts of a qualified name, without those that are empty.
func (p *printer) dotted(parts ...Name) {
	first := true
	for i, s := range parts {
		if s == "" && i < len(parts)-1 {
			continue
		}
		if !first {
			p.w(".")
		}
		first = false
		p.ident(s)
	}
}

func (p *printer) name(n TableName) { p.dotted(n.Catalog, n.Schema, n.Table) }

// list calls f for 0 to n-1 with commas between.
func (p *printer) list(n int, f func(i int)) {
	for i := range n {
		if i > 0 {
			p.w(", ")
		}
		f(i)
	}
}

// idents writes names with commas between.
func (p *printer) idents(names []Name) {
	p.list(len(names), func(i int) { p.ident(names[i]) })
}

// parenIdents writes ( names ) with the text before it, if there are any.
func (p *printer) parenIdents(before string, names []Name) {
	if len(names) == 0 {
		return
	}
	p.w(before, "(")
	p.idents(names)
	p.w(")")
}

// names writes qualified names with commas between.
func (p *printer) names(list []TableName) {
	p.list(len(list), func(i int) { p.name(list[i]) })
}

// exprs writes expressions with commas between.
func (p *printer) exprs(list []Expr) {
	p.list(len(list), func(i int) { p.expr(list[i]) })
}

// clause writes a word and an expression, if there is one.
func (p *printer) clause(word string, x Expr) {
	if x != nil {
		p.w(word)
		p.expr(x)
	}
}

// optIdent writes a word and a name, if there is one.
func (p *printer) optIdent(word string, n Name) {
	if n != "" {
		p.w(word)
		p.ident(n)
	}
}

func (p *printer) str(s string) { p.w(QuoteLiteral(s)) }

func (p *printer) int(n int) { p.w(strconv.Itoa(n)) }

func (p *printer) cascade(c bool) { p.opt(c, " CASCADE") }

func (p *printer) ifExists(c bool) { p.opt(c, "IF EXISTS ") }

func (p *printer) ifNotExists(c bool) { p.opt(c, "IF NOT EXISTS ") }

// persistenceWords is indexed by Persistence.
var persistenceWords = [...]string{"", "TEMPORARY ", "UNLOGGED "}

// role prints a role.
func (p *printer) role(r RoleSpec) {
	switch r.Kind {
	case RoleCurrentRole:
		p.w("CURRENT_ROLE")
	case RoleCurrentUser:
		p.w("CURRENT_USER")
	case RoleSessionUser:
		p.w("SESSION_USER")
	case RolePublic:
		p.w("PUBLIC")
	default:
		p.ident(r.Name)
	}
}

// roles prints roles with commas between.
func (p *printer) roles(list []RoleSpec) {
	p.list(len(list), func(i int) { p.role(list[i]) })
}
