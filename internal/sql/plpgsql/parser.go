package plpgsql

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// maxNesting bounds how deep blocks and loops nest.
const maxNesting = 200

// parser reads a body. After an error it stands at the end.
type parser struct {
	src   string
	toks  []token
	at    int
	depth int
	err   *pgerr.Error
	// Those that were read.
	exprCount, targetCount int
}

// Parse parses the body of a function.
// A syntax error has its position in the body.
func Parse(src string) (*Function, error) {
	toks, err := scan(src)
	if err != nil {
		return nil, err
	}
	p := &parser{src: src, toks: toks}
	f := &Function{}
	for p.isSymbol("#") {
		p.at++
		p.option(f)
	}
	b, ok := p.labeled().(*Block)
	if p.err == nil && !ok {
		p.syntaxError()
	}
	p.accept(";")
	if p.err == nil && p.tok().kind != end {
		p.syntaxError()
	}
	if p.err != nil {
		return nil, p.err
	}
	f.Body, f.Exprs, f.Targets = b, p.exprCount, p.targetCount
	return f, nil
}

// option parses a line such as #variable_conflict use_column.
func (p *parser) option(f *Function) {
	switch name := p.name(); name {
	case "variable_conflict":
		if !slices.Contains([]string{"error", "use_variable", "use_column"}, p.tok().s) {
			p.syntaxError()
		}
		f.Conflict = p.name()
	case "print_strict_params":
		if !p.is("on") && !p.is("off") {
			p.syntaxError()
		}
		f.PrintStrict = p.name() == "on"
	case "option":
		p.name()
	default:
		p.fail("unrecognized option \"%s\"", name)
	}
}

func (p *parser) tok() *token { return &p.toks[p.at] }

func (p *parser) peek(n int) *token { return &p.toks[min(p.at+n, len(p.toks)-1)] }

// advance takes the token at hand.
func (p *parser) advance() *token {
	t := p.tok()
	if t.kind != end {
		p.at++
	}
	return t
}

func (p *parser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = pgerr.New(pgerr.SyntaxError, format, args...)
		p.err.Context = "" // the caller says where
		p.err.Position = utf8.RuneCountInString(p.src[:p.tok().start]) + 1
	}
	p.at = len(p.toks) - 1
}

func (p *parser) syntaxError() { p.failNear("syntax error") }

// failNear fails at the token at hand, which it names.
func (p *parser) failNear(message string) {
	t := p.tok()
	if t.kind == end {
		p.fail("%s at end of input", message)
		return
	}
	p.fail("%s at or near \"%s\"", message, p.src[t.start:t.end])
}

// failAt fails at a token.
func (p *parser) failAt(at int, format string, args ...any) {
	if p.err == nil {
		p.at = at
	}
	p.fail(format, args...)
}

// is reports whether a keyword comes next.
func (p *parser) is(w string) bool { t := p.tok(); return t.kind == word && t.s == w }

func (p *parser) isSymbol(s string) bool { t := p.tok(); return t.kind == symbol && t.s == s }

// accept takes a keyword or a symbol, if it comes next.
func (p *parser) accept(s string) bool {
	if t := p.tok(); (t.kind == word || t.kind == symbol) && t.s == s {
		p.at++
		return true
	}
	return false
}

// accept2 takes two keywords, if they come next.
func (p *parser) accept2(a, b string) bool {
	if p.is(a) && p.peek(1).kind == word && p.peek(1).s == b {
		p.at += 2
		return true
	}
	return false
}

func (p *parser) expect(s string) {
	if !p.accept(s) {
		p.syntaxError()
	}
}

// name takes a name.
func (p *parser) name() string {
	t := p.tok()
	if t.kind != word && t.kind != quoted {
		p.syntaxError()
		return ""
	}
	p.at++
	return t.s
}

// enter counts a level of nesting; the caller defers leave.
func (p *parser) enter() {
	if p.depth++; p.depth > maxNesting {
		p.fail("blocks are nested more than %d levels deep", maxNesting)
		p.err.Code = pgerr.StatementTooComplex
	}
}

func (p *parser) leave() { p.depth-- }

// slice returns the source from one token up to, not including, another.
func (p *parser) slice(from, to int) string {
	if from >= to {
		return ""
	}
	return p.src[p.toks[from].start:p.toks[to-1].end]
}

// until moves to the first of some keywords or symbols outside of parentheses, and returns the text
// before it.
func (p *parser) until(stops ...string) Expr {
	from, depth := p.at, 0
	for {
		t := p.tok()
		if t.kind == end {
			p.syntaxError()
			return Expr{}
		}
		if depth == 0 && (t.kind == word || t.kind == symbol) && slices.Contains(stops, t.s) {
			break
		}
		switch {
		case t.kind == symbol && (t.s == "(" || t.s == "["):
			depth++
		case t.kind == symbol && (t.s == ")" || t.s == "]"):
			depth--
		case t.kind == symbol && t.s == ";", t.kind == word && t.s == "case" && depth == 0 && slices.Contains(stops, "then"):
			if t.s == ";" {
				if depth > 0 {
					p.failNear("mismatched parentheses")
				}
				p.fail("missing \"%s\" at end of SQL expression", strings.ToUpper(stops[0]))
				return Expr{}
			}
			p.skipCase()
			continue
		}
		p.at++
	}
	if p.at == from {
		p.failNear("missing expression")
	}
	p.exprCount++
	return Expr{ID: p.exprCount - 1, Line: p.toks[from].line, Pos: p.toks[from].start, Text: p.slice(from, p.at)}
}

// skipCase moves behind a CASE expression, whose THEN ends nothing around it.
func (p *parser) skipCase() {
	depth := 0
	for p.tok().kind != end {
		t := p.advance()
		switch {
		case t.kind == word && t.s == "case":
			depth++
		case t.kind == word && t.s == "end":
			if depth--; depth == 0 {
				return
			}
		}
	}
}

// label parses <<label>>, "" if there is none.
func (p *parser) label() string {
	if !p.accept("<<") {
		return ""
	}
	n := p.name()
	p.expect(">>")
	return n
}

// labeled parses what a label may stand before: a block or a loop.
func (p *parser) labeled() Stmt {
	label := p.label()
	switch {
	case p.is("declare"), p.is("begin"):
		return p.block(label)
	case p.is("loop"), p.is("while"), p.is("for"), p.is("foreach"):
		return p.loop(label)
	}
	p.syntaxError()
	return nil
}

// block parses a block.
func (p *parser) block(label string) *Block {
	p.enter()
	defer p.leave()
	b := &Block{Line: Line(p.tok().line), Label: label}
	if p.accept("declare") {
		for p.err == nil && !p.is("begin") {
			if p.accept("declare") {
				continue
			}
			b.Decls = append(b.Decls, p.decl())
		}
	}
	if b.Line = Line(p.tok().line); p.err != nil {
		return b
	}
	p.expect("begin")
	b.Body = p.stmts("end", "exception")
	if p.accept("exception") {
		for p.err == nil && p.is("when") {
			b.Handlers = append(b.Handlers, p.handler())
		}
		if b.Handlers == nil {
			p.syntaxError()
		}
	}
	b.EndLine = p.tok().line
	p.expect("end")
	p.endLabel(label)
	return b
}

// endLabel parses the label at the end of a block or loop.
func (p *parser) endLabel(label string) {
	at := p.at
	if p.isSymbol(";") || p.tok().kind == end {
		return
	}
	if p.is("end") {
		p.syntaxError()
		return
	}
	n := p.name()
	switch {
	case p.err != nil:
	case label == "":
		p.failAt(at, "end label \"%s\" specified for unlabeled block", n)
	case n != label:
		p.failAt(at, "end label \"%s\" differs from block's label \"%s\"", n, label)
	}
}

// handler parses WHEN conditions THEN statements.
func (p *parser) handler() Handler {
	h := Handler{Line: p.tok().line}
	p.expect("when")
	for p.err == nil {
		h.Conditions = append(h.Conditions, p.condition())
		if !p.accept("or") {
			break
		}
	}
	p.expect("then")
	h.Body = p.stmts("when", "end")
	return h
}

// condition parses the name of an error, or SQLSTATE and its code.
func (p *parser) condition() Condition {
	if p.is("sqlstate") && p.peek(1).kind == text {
		p.at++
		s := p.advance().s
		if len(s) != 5 {
			p.fail("invalid SQLSTATE code")
		}
		return Condition{State: s}
	}
	return Condition{Name: p.name()}
}

// decl parses a declaration.
func (p *parser) decl() Decl {
	d := Decl{Line: p.tok().line, Pos: p.tok().start, Name: p.name()}
	switch {
	case p.accept2("alias", "for"):
		d.Pos, d.Alias = p.tok().start, p.name()
		p.expect(";")
		return d
	case p.is("cursor"), p.is("scroll") && p.peek(1).s == "cursor", p.is("no") && p.peek(1).s == "scroll":
		p.cursorDecl(&d)
		return d
	}
	d.Constant = p.accept("constant")
	d.Type = p.typ("not", "default", ":=", "=", ";", "collate")
	if p.accept("collate") {
		p.name()
	}
	notNull := p.at
	if p.accept2("not", "null") {
		d.NotNull = true
	}
	if p.accept("default") || p.accept(":=") || p.accept("=") {
		x := p.until(";")
		d.Default = &x
	} else if d.NotNull {
		p.failAt(notNull, "variable \"%s\" must have a default value, since it's declared NOT NULL", d.Name)
		p.err.Code = pgerr.NullValueNotAllowed
	}
	p.expect(";")
	return d
}

// cursorDecl parses name [NO] SCROLL CURSOR (arguments) FOR query.
func (p *parser) cursorDecl(d *Decl) {
	d.Type.Cursor = true
	switch {
	case p.accept("scroll"):
		d.Scroll = "scroll"
	case p.accept2("no", "scroll"):
		d.Scroll = "no scroll"
	}
	p.expect("cursor")
	if p.accept("(") {
		for p.err == nil {
			a := Decl{Line: p.tok().line, Name: p.name()}
			a.Type = p.typ(",", ")")
			d.Params = append(d.Params, a)
			if !p.accept(",") {
				break
			}
		}
		p.expect(")")
	}
	if !p.accept("for") {
		p.expect("is")
	}
	x := p.until(";")
	d.Query = &SQL{x.Line, x.Pos, x.Text}
	p.expect(";")
}

// typ parses a type, which ends before one of some words or symbols.
func (p *parser) typ(stops ...string) Type {
	from := p.at
	if t := p.tok(); t.kind == symbol && slices.Contains(stops, t.s) {
		p.failNear("missing data type declaration")
	}
	for i := p.at; p.err == nil && !(p.toks[i].kind != text && slices.Contains(stops, p.toks[i].s)); i++ {
		if p.toks[i].kind == end {
			p.at = i
			p.failNear("incomplete data type declaration")
		}
	}
	if p.err != nil {
		return Type{}
	}
	x := p.until(stops...)
	t := Type{Line: x.Line, Pos: x.Pos, Text: x.Text}
	if n := p.at - from; n >= 3 && p.toks[p.at-2].s == "%" {
		switch of := p.toks[p.at-1].s; of {
		case "type", "rowtype":
			t.Of, t.Text = of, p.slice(from, p.at-2)
		}
	}
	t.Record = strings.EqualFold(t.Text, "record")
	return t
}

// stmts parses statements up to one of some keywords.
func (p *parser) stmts(stops ...string) []Stmt {
	var list []Stmt
	for p.err == nil {
		if t := p.tok(); t.kind == word && slices.Contains(stops, t.s) || t.kind == end {
			break
		}
		if s := p.stmt(); p.err == nil && s != nil {
			list = append(list, s)
		}
	}
	return list
}
