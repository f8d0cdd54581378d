package plpgsql

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// stmt parses a statement.
func (p *parser) stmt() Stmt {
	t := p.tok()
	line := Line(t.line)
	if t.kind == symbol && t.s == "<<" {
		return p.afterBlock(p.labeled())
	}
	if t.kind == quoted || t.kind == word && p.assigns() {
		return p.assign()
	}
	if t.kind != word {
		p.syntaxError()
		return nil
	}
	switch t.s {
	case "declare", "begin":
		return p.afterBlock(p.labeled())
	case "loop", "while", "for", "foreach":
		return p.loop("")
	case "if":
		return p.ifStmt()
	case "case":
		return p.caseStmt()
	case "exit", "continue":
		return p.exit()
	case "return":
		return p.returnStmt()
	case "raise":
		return p.raise()
	case "assert":
		return p.assert()
	case "null":
		p.at++
		p.expect(";")
		return &Null{line}
	case "execute":
		return p.dynamic()
	case "get":
		return p.diagnostics()
	case "commit", "rollback":
		return p.transaction()
	case "open":
		return p.open()
	case "fetch", "move":
		return p.fetch()
	case "close":
		p.at++
		s := &Close{Line: line, Cursor: p.target()}
		p.expect(";")
		return s
	}
	return p.sql()
}

// afterBlock parses the semicolon behind a block.
func (p *parser) afterBlock(s Stmt) Stmt {
	if _, ok := s.(*Block); ok {
		p.expect(";")
	}
	return s
}

// assigns reports whether a statement is an assignment: a target comes before := or =.
func (p *parser) assigns() bool {
	depth := 0
	for i := p.at + 1; i < len(p.toks); i++ {
		t := &p.toks[i]
		switch {
		case t.kind == symbol && t.s == "[":
			depth++
		case t.kind == symbol && t.s == "]":
			depth--
		case depth > 0 && t.kind != end:
		case t.kind == symbol && (t.s == ":=" || t.s == "="):
			return true
		case t.kind == symbol && t.s == ".", (t.kind == word || t.kind == quoted) && p.toks[i-1].s == ".":
		default:
			return false
		}
	}
	return false
}

func (p *parser) assign() Stmt {
	from := p.tok().start
	s := &Assign{Line: Line(p.tok().line), Target: p.target()}
	if !p.accept(":=") {
		p.expect("=")
	}
	if s.Value = p.until(";"); p.err == nil {
		s.Before = p.src[from:s.Value.Pos]
	}
	p.expect(";")
	return s
}

// target parses where a value goes.
func (p *parser) target() Target {
	p.targetCount++
	t := Target{ID: p.targetCount - 1, Line: p.tok().line, Pos: p.tok().start, Parts: []string{p.name()}}
	for p.err == nil {
		switch {
		case p.accept("[") && p.err == nil:
			t.Path = append(t.Path, p.subscript())
		case !p.accept("."):
			return t
		case t.Path == nil:
			t.Parts = append(t.Parts, p.name())
		default:
			t.Path = append(t.Path, Step{Field: p.name()})
		}
	}
	return t
}

// subscript parses a subscript or a slice behind its bracket.
func (p *parser) subscript() Step {
	var s Step
	if !p.isSymbol(":") {
		x := p.until("]", ":")
		s.From = &x
	}
	if s.Slice = p.accept(":"); s.Slice && !p.isSymbol("]") {
		x := p.until("]")
		s.To = &x
	}
	p.expect("]")
	return s
}

// targets parses targets between commas.
func (p *parser) targets() []Target {
	var list []Target
	for p.err == nil {
		list = append(list, p.target())
		if !p.accept(",") {
			break
		}
	}
	return list
}

func (p *parser) returnStmt() Stmt {
	line, pos := Line(p.tok().line), p.tok().start
	p.at++
	switch {
	case p.isSymbol(";"):
		p.at++
		return &Return{Line: line, Pos: p.toks[p.at-1].start}
	case p.accept("next"):
		s := &ReturnNext{Line: line, Pos: pos}
		if !p.isSymbol(";") {
			x := p.until(";")
			s.Value = &x
		}
		p.expect(";")
		return s
	case p.accept2("query", "execute"):
		x := p.until(";", "using")
		s := &ReturnQuery{Line: line, Pos: pos, Dynamic: &x, Using: p.using(";")}
		p.expect(";")
		return s
	case p.accept("query"):
		x := p.until(";")
		p.expect(";")
		return &ReturnQuery{Line: line, Pos: pos, Query: &SQL{x.Line, x.Pos, x.Text}}
	}
	x := p.until(";")
	p.expect(";")
	return &Return{Line: line, Pos: x.Pos, Value: &x}
}

var levels = []string{"debug", "log", "info", "notice", "warning", "exception"}

// raise parses RAISE.
func (p *parser) raise() Stmt {
	s := &Raise{Line: Line(p.tok().line), Level: "exception"}
	p.at++
	if p.accept(";") {
		s.Bare = true
		return s
	}
	if t := p.tok(); t.kind == word && slices.Contains(levels, t.s) {
		s.Level = t.s
		p.at++
	}
	switch t := p.tok(); {
	case t.kind == text:
		s.Format = &t.s
		p.at++
		for p.err == nil && p.accept(",") {
			s.Args = append(s.Args, p.until(",", ";", "using"))
		}
	case p.is("using"), p.isSymbol(";"):
	default:
		s.Cond = p.condition()
	}
	if p.accept("using") {
		p.raiseOptions(s)
	}
	p.expect(";")
	if s.Format != nil {
		s.checkFormat(p)
	}
	return s
}

// checkFormat refuses another number of parameters than the format has places for.
func (s *Raise) checkFormat(p *parser) {
	n := strings.Count(strings.ReplaceAll(*s.Format, "%%", ""), "%")
	switch {
	case len(s.Args) > n:
		p.failOn("too many parameters specified for RAISE", s.At())
	case len(s.Args) < n:
		p.failOn("too few parameters specified for RAISE", s.At())
	}
}

// failOn fails on a line: PostgreSQL tells no position.
func (p *parser) failOn(message string, line int) {
	p.fail("%s", message)
	p.err.Position, p.err.Context = 0, "near line "+strconv.Itoa(line)
}

func (p *parser) raiseOptions(s *Raise) {
	for p.err == nil {
		switch p.tok().s {
		case "message", "detail", "hint", "errcode", "column", "constraint", "datatype", "table", "schema":
		default:
			p.failNear("unrecognized RAISE statement option")
		}
		o := RaiseOption{Name: p.name()}
		if !p.accept("=") {
			p.expect(":=")
		}
		o.Value = p.until(",", ";")
		s.Options = append(s.Options, o)
		if !p.accept(",") {
			break
		}
	}
}

func (p *parser) assert() Stmt {
	s := &Assert{Line: Line(p.tok().line)}
	p.at++
	s.Cond = p.until(",", ";")
	if p.accept(",") {
		x := p.until(";")
		s.Message = &x
	}
	p.expect(";")
	return s
}

// dynamic parses EXECUTE, with INTO and USING in any order.
func (p *parser) dynamic() Stmt {
	s := &Dynamic{Line: Line(p.tok().line)}
	p.at++
	s.Text = p.until("into", "using", ";")
	for p.err == nil && !p.isSymbol(";") {
		if p.accept("into") {
			s.Strict = p.accept("strict")
			s.Into = p.targets()
			continue
		}
		p.expect("using")
		s.Using = p.list("into", ";")
	}
	p.expect(";")
	return s
}

// diagnosticItems are the items of GET DIAGNOSTICS, and whether they are of an error.
var diagnosticItems = map[string]bool{
	"row_count": false, "pg_context": false, "returned_sqlstate": true, "message_text": true, "pg_exception_detail": true,
	"pg_exception_hint": true, "pg_exception_context": true, "column_name": true, "constraint_name": true, "table_name": true,
	"schema_name": true, "pg_datatype_name": true,
}

func (p *parser) diagnostics() Stmt {
	s := &Diagnostics{Line: Line(p.tok().line)}
	from := p.at
	p.at++
	if s.Stacked = p.accept("stacked"); !s.Stacked {
		p.accept("current")
	}
	p.expect("diagnostics")
	for p.err == nil {
		d := Diagnostic{Target: p.target()}
		if !p.accept("=") {
			p.expect(":=")
		}
		stacked, known := diagnosticItems[p.tok().s]
		if !known {
			p.failNear("unrecognized GET DIAGNOSTICS item")
		}
		d.Item = p.name()
		switch {
		case s.Stacked && !stacked:
			p.failAt(from, "diagnostics item %s is not allowed in GET STACKED DIAGNOSTICS", strings.ToUpper(d.Item))
		case stacked && !s.Stacked:
			p.failAt(from, "diagnostics item %s is not allowed in GET CURRENT DIAGNOSTICS", strings.ToUpper(d.Item))
		}
		s.Items = append(s.Items, d)
		if !p.accept(",") {
			break
		}
	}
	p.expect(";")
	return s
}

func (p *parser) transaction() Stmt {
	s := &Transaction{Line: Line(p.tok().line), Rollback: p.is("rollback")}
	p.at++
	if p.accept("and") {
		s.Chain = !p.accept("no")
		p.expect("chain")
	}
	p.expect(";")
	return s
}

// open parses OPEN of a cursor, bound to a query or not.
func (p *parser) open() Stmt {
	s := &Open{Line: Line(p.tok().line)}
	p.at++
	s.Cursor = p.target()
	if p.accept("(") {
		s.Args = p.arguments()
		p.expect(")")
		p.expect(";")
		return s
	}
	switch {
	case p.accept("scroll"):
		s.Scroll = "scroll"
	case p.accept2("no", "scroll"):
		s.Scroll = "no scroll"
	}
	if p.accept("for") {
		if p.accept("execute") {
			x := p.until(";", "using")
			s.Dynamic, s.Using = &x, p.using(";")
		} else {
			x := p.until(";")
			s.Query = &SQL{x.Line, x.Pos, x.Text}
		}
	}
	s.End = p.tok().start
	p.expect(";")
	return s
}

// fetch parses FETCH and MOVE [direction FROM | IN] cursor INTO targets.
func (p *parser) fetch() Stmt {
	s := &Fetch{Line: Line(p.tok().line), Move: p.is("move")}
	p.at++
	from := p.at
	for i := p.at; i < len(p.toks) && p.toks[i].s != ";" && p.toks[i].s != "into"; i++ {
		if t := &p.toks[i]; t.kind == word && (t.s == "from" || t.s == "in") {
			s.Direction, p.at = p.slice(from, i), i+1
			break
		}
	}
	switch p.tok().s {
	case "next", "prior", "first", "last", "forward", "backward", "all":
		if n := p.peek(1); s.Direction == "" && n.kind == word && n.s != "into" {
			s.Direction = p.advance().s
		}
	}
	s.Cursor = p.target()
	if p.accept("into") {
		s.Into = p.targets()
	}
	p.expect(";")
	if p.err == nil && !s.Move && s.Into == nil {
		p.syntaxError()
	}
	return s
}

// sql parses a statement in SQL, in which INTO is blanked out so that positions stay.
func (p *parser) sql() Stmt {
	s := &Execute{Line: Line(p.tok().line)}
	s.Perform, s.Call = p.is("perform"), p.is("call") || p.is("do")
	if s.Perform {
		p.at++
	}
	from := p.at
	intoFrom, intoTo := p.sqlEnd(s)
	s.SQL = SQL{Line: p.toks[from].line, Pos: p.toks[from].start, Text: p.slice(from, p.at)}
	if intoTo > 0 {
		start := p.toks[from].start
		a, b := p.toks[intoFrom].start-start, p.toks[intoTo-1].end-start
		blank := strings.Repeat(" ", utf8.RuneCountInString(s.SQL.Text[a:b]))
		s.SQL.Text = strings.TrimRight(s.SQL.Text[:a]+blank+s.SQL.Text[b:], " \t\r\n\f")
	}
	if s.Perform {
		const sel = "SELECT " // shorter than PERFORM
		s.SQL.Text, s.SQL.Pos = sel+s.SQL.Text, s.SQL.Pos-len(sel)
	}
	p.expect(";")
	return s
}

// sqlEnd moves to the end of a statement in SQL. It returns from where to where INTO stands.
func (p *parser) sqlEnd(s *Execute) (from, to int) {
	depth := 0
	for p.err == nil {
		t := p.tok()
		switch {
		case t.kind == end:
			p.syntaxError()
			return from, to
		case t.kind == symbol && t.s == ";" && depth > 0:
			p.failNear("mismatched parentheses")
			return from, to
		case t.kind == symbol && t.s == ";":
			return from, to
		case t.kind == symbol && (t.s == "(" || t.s == "["):
			depth++
		case t.kind == symbol && (t.s == ")" || t.s == "]"):
			depth--
		case t.kind == word && t.s == "into" && depth == 0 && p.intoTargets():
			if s.Into != nil {
				p.failNear("INTO specified more than once")
				return from, to
			}
			from = p.at
			p.at++
			s.Strict = p.accept("strict")
			s.Into = p.targets()
			to = p.at
			continue
		}
		p.at++
	}
	return from, to
}

// intoTargets reports whether INTO is that of PL/pgSQL: not of INSERT or MERGE.
func (p *parser) intoTargets() bool {
	before := p.toks[p.at-1]
	return !(before.kind == word && (before.s == "insert" || before.s == "merge"))
}
