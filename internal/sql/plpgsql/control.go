package plpgsql

import "strconv"

// ifStmt parses IF.
func (p *parser) ifStmt() Stmt {
	p.enter()
	defer p.leave()
	s := &If{Line: Line(p.tok().line)}
	for p.err == nil {
		var b Branch
		p.at++ // IF or ELSIF
		b.Cond = p.until("then")
		p.expect("then")
		b.Body = p.stmts("elsif", "elseif", "else", "end")
		s.Branches = append(s.Branches, b)
		if !p.is("elsif") && !p.is("elseif") {
			break
		}
	}
	if p.accept("else") {
		s.Else = p.stmts("end")
	}
	p.expect("end")
	p.expect("if")
	p.expect(";")
	return s
}

// caseStmt parses CASE.
func (p *parser) caseStmt() Stmt {
	p.enter()
	defer p.leave()
	s := &Case{Line: Line(p.tok().line)}
	p.expect("case")
	if !p.is("when") {
		x := p.until("when")
		s.Value = &x
	}
	for p.err == nil && p.accept("when") {
		var b Branch
		b.Cond = p.until("then")
		p.expect("then")
		b.Body = p.stmts("when", "else", "end")
		s.Branches = append(s.Branches, b)
	}
	if p.accept("else") {
		s.HasElse, s.Else = true, p.stmts("end")
	}
	p.expect("end")
	p.expect("case")
	p.expect(";")
	return s
}

// loop parses LOOP, WHILE, FOR and FOREACH.
func (p *parser) loop(label string) Stmt {
	p.enter()
	defer p.leave()
	line := Line(p.tok().line)
	switch {
	case p.accept("loop"):
		s := &Loop{Line: line, Label: label}
		s.Body = p.loopBody(label)
		return s
	case p.accept("while"):
		s := &Loop{Line: line, Label: label}
		x := p.until("loop")
		s.Cond = &x
		p.expect("loop")
		s.Body = p.loopBody(label)
		return s
	case p.accept("foreach"):
		return p.forEach(line, label)
	}
	p.expect("for")
	return p.forStmt(line, label)
}

// loopBody parses the statements of a loop, and its end.
func (p *parser) loopBody(label string) []Stmt {
	list := p.stmts("end")
	p.expect("end")
	p.expect("loop")
	p.endLabel(label)
	p.expect(";")
	return list
}

func (p *parser) forEach(line Line, label string) Stmt {
	s := &ForEach{Line: line, Label: label, Targets: p.targets()}
	if p.accept("slice") {
		n, err := strconv.Atoi(p.advance().s)
		if err != nil || n < 0 {
			p.syntaxError()
		}
		s.Slice = n
	}
	p.expect("in")
	p.expect("array")
	s.Array = p.until("loop")
	p.expect("loop")
	s.Body = p.loopBody(label)
	return s
}

// forStmt parses FOR behind this word: over integers if .. comes before LOOP.
func (p *parser) forStmt(line Line, label string) Stmt {
	targets := p.targets()
	p.expect("in")
	if p.err != nil {
		return nil
	}
	q := &ForQuery{Line: line, Label: label, Targets: targets}
	if p.is("execute") {
		p.at++
		x := p.until("loop", "using")
		q.Dynamic = &x
		q.Using = p.using("loop")
		return p.forQuery(q)
	}
	if p.integers() {
		return p.forInt(line, label, targets)
	}
	if t := p.tok(); t.kind == word && (p.peek(1).s == "loop" || p.cursorCall()) {
		q.Cursor = p.name()
		if p.accept("(") && !p.accept(")") {
			q.Using = p.arguments()
			p.expect(")")
		}
		return p.forQuery(q)
	}
	x := p.until("loop")
	q.Query = &SQL{x.Line, x.Pos, x.Text}
	return p.forQuery(q)
}

func (p *parser) forQuery(q *ForQuery) Stmt {
	p.expect("loop")
	q.Body = p.loopBody(q.Label)
	return q
}

// cursorCall reports whether a name with arguments comes next, and nothing behind them.
func (p *parser) cursorCall() bool {
	if p.peek(1).s != "(" {
		return false
	}
	depth := 0
	for i := p.at + 1; i < len(p.toks); i++ {
		switch t := &p.toks[i]; {
		case t.kind == symbol && t.s == "(":
			depth++
		case t.kind == symbol && t.s == ")":
			if depth--; depth == 0 {
				return i+1 < len(p.toks) && p.toks[i+1].kind == word && p.toks[i+1].s == "loop"
			}
		case t.kind == symbol && t.s == ";":
			return false
		}
	}
	return false
}

// integers reports whether .. comes before LOOP.
func (p *parser) integers() bool {
	depth := 0
	for i := p.at; i < len(p.toks); i++ {
		switch t := &p.toks[i]; {
		case t.kind == symbol && t.s == "(":
			depth++
		case t.kind == symbol && t.s == ")":
			depth--
		case t.kind == symbol && t.s == ".." && depth == 0:
			return true
		case t.kind == word && t.s == "loop", t.kind == symbol && t.s == ";":
			return false
		}
	}
	return false
}

func (p *parser) forInt(line Line, label string, targets []Target) Stmt {
	s := &ForInt{Line: line, Label: label}
	if len(targets) != 1 || len(targets[0].Parts) != 1 {
		p.fail("integer FOR loop must have only one target variable")
		return s
	}
	s.Var = targets[0].Parts[0]
	s.Reverse = p.accept("reverse")
	s.From = p.until("..")
	p.expect("..")
	s.To = p.until("loop", "by")
	if p.accept("by") {
		x := p.until("loop")
		s.By = &x
	}
	p.expect("loop")
	s.Body = p.loopBody(label)
	return s
}

// using parses USING and a list of expressions, if it comes next.
func (p *parser) using(stop string) []Expr {
	if !p.accept("using") {
		return nil
	}
	return p.list(stop)
}

// list parses expressions between commas, up to a word or symbol.
func (p *parser) list(stops ...string) []Expr {
	var out []Expr
	for p.err == nil {
		out = append(out, p.until(append([]string{","}, stops...)...))
		if !p.accept(",") {
			break
		}
	}
	return out
}

// arguments parses those of a bound cursor, some of which may be given by their names.
func (p *parser) arguments() []Expr {
	var out []Expr
	for p.err == nil {
		name := ""
		if next := p.peek(1); p.tok().kind == word && next.kind == symbol && (next.s == ":=" || next.s == "=>") {
			name = p.name()
			p.at++
		}
		x := p.until(",", ")")
		x.Name = name
		out = append(out, x)
		if !p.accept(",") {
			break
		}
	}
	return out
}

// exit parses EXIT and CONTINUE.
func (p *parser) exit() Stmt {
	s := &Exit{Line: Line(p.tok().line), Pos: p.tok().start, Continue: p.is("continue")}
	p.at++
	if !p.isSymbol(";") && !p.is("when") {
		s.Pos, s.Label = p.tok().start, p.name()
	}
	if p.accept("when") {
		x := p.until(";")
		s.When = &x
	}
	p.expect(";")
	return s
}
