package parser

import (
	"strings"
	"unicode/utf8"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// MaxDepth bounds how deep a statement may nest, and how high its tree may be.
const MaxDepth = 4000

// MaxParam is the highest parameter number. The protocol's Bind can't give more than 65,535
// values, EXECUTE can.
const MaxParam = 1 << 17

// Statement is one statement of a text.
type Statement struct {
	AST ast.Statement
	// SQL is the statement's own text, without the semicolon.
	SQL string
	// Offset is the byte offset of SQL in the text parsed. Positions in AST
	// and in errors count from the start of that text, not from Offset.
	Offset int
	// NumParams is the highest $n in the statement.
	NumParams int
	// Escapes says that SQL was read with Options.Escapes, and may mean something else
	// without.
	Escapes bool
}

// Parse parses a text of statements separated by semicolons. Empty statements
// yield nothing.
func Parse(sql string) ([]Statement, error) {
	var p parser
	return p.parse(sql)
}

func (p *parser) parse(sql string) ([]Statement, error) {
	if !p.init(sql) {
		return nil, p.err
	}
	var stmts []Statement
	for {
		for p.accept(';') {
		}
		if p.tok.kind == tokEOF {
			break
		}
		s := p.oneStatement()
		if p.err != nil {
			break
		}
		if p.tok.kind != ';' && p.tok.kind != tokEOF {
			p.syntaxError()
			break
		}
		stmts = append(stmts, s)
	}
	if p.late != nil {
		p.fail(p.late, p.late.Position)
	}
	if p.err != nil {
		return nil, p.err
	}
	return stmts, nil
}

// ParseOne parses a text of at most one statement, as the extended protocol and
// PREPARE require. AST is nil when the text is empty.
func ParseOne(sql string) (Statement, error) {
	return parseOne(&parser{}, sql)
}

// ParseStored is ParseOne for what the server has written itself, as ParseExpr is: it means
// the same whatever the session's settings are, INT is INT4.
func ParseStored(sql string) (Statement, error) {
	return parseOne(&parser{stored: true}, sql)
}

// ParseStandIn is ParseStored for a statement that stands for the one at pos of a client's
// text: that is where all of it lies.
func ParseStandIn(sql string, pos int) (Statement, error) {
	return parseOne(&parser{stored: true, at: pos}, sql)
}

func parseOne(p *parser, sql string) (Statement, error) {
	stmts, err := p.parse(sql)
	if err != nil {
		return Statement{}, err
	}
	switch len(stmts) {
	case 0:
		return Statement{}, nil
	case 1:
		return stmts[0], nil
	default:
		return Statement{}, pgerr.New(pgerr.SyntaxError, "cannot insert multiple commands into a prepared statement")
	}
}

// ParseExpr parses a single expression that is stored, such as a default: see ParseStored.
func ParseExpr(sql string) (ast.Expr, error) {
	p := parser{stored: true}
	if !p.init(sql) {
		return nil, p.err
	}
	x := p.expr()
	p.expectEOF()
	p.checkHeight(x)
	if p.err != nil {
		return nil, p.err
	}
	return x, nil
}

// ParseTypeName parses a type name alone, as regtype input and dialect code
// need it.
func ParseTypeName(sql string) (*ast.TypeName, error) {
	var p parser
	if !p.init(sql) {
		return nil, p.err
	}
	t := p.typeName()
	p.expectEOF()
	if p.err != nil {
		return nil, p.err
	}
	return t, nil
}

// parser is the state of one call.
type parser struct {
	stored  bool // the text is the server's own
	at      int  // the position of all nodes; 0: each has its own
	strings Options
	lex     lexer
	made    int   // bytes since the last call of Options.Step
	tok     token // the next token
	ahead   token // the one after it, when hasAhead
	prevEnd int32 // where the last consumed token ended
	err     *pgerr.Error
	errAt   int32        // where the token of the error starts
	late    *pgerr.Error // an error to report if the statement has no other

	furthest dead // of the alternatives given up in the statement
	hasAhead bool
	altering ast.ObjectKind // what the commands of the ALTER being parsed are for
	// pairAt is one more than the offset of a token that began a pair of words
	// whose second word did not come. An error there is the second word's.
	pairAt int32
	ascii  bool
	// strict leaves PostgreSQL's grammar only; extensions is what was met beyond it.
	strict bool
	notes  Notes
	// markByte and markChar are a byte offset and its character number, from
	// which other positions are counted.
	markByte int
	markChar int

	// runEnd is where the run of parentheses last looked at ends; runIsQuery
	// whether a query follows it.
	runEnd     int32
	runIsQuery bool

	orderPos int // where the last ORDER BY of a call stood
	// labelDepth is the depth of the expression of a select item, after which
	// a word that is an operator may yet be the label.
	labelDepth int

	ints []ast.IntLit // blocks that constants are taken from
	strs []ast.StrLit

	depth     int // nested calls now
	maxDepth  int // the most of them in this statement
	chained   int // tree levels made by loops in this statement
	numParams int
}

// init makes p ready to read sql; false after an error. The callers keep the
// parser on their stack.
func (p *parser) init(sql string) bool {
	p.lex.sql, p.lex.strict, p.lex.strings = sql, p.strict, p.strings
	p.lex.due = stepBytes
	if p.err = p.check(sql); p.err != nil {
		return false
	}
	p.tok = p.lex.next()
	p.checkToken()
	return p.err == nil
}

// isASCII reports whether s has no byte above 127.
func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// check refuses text that no PostgreSQL string can hold, and notes whether all of it is ASCII.
func (p *parser) check(sql string) *pgerr.Error {
	p.ascii = true
	for at := 0; at < len(sql); {
		end := min(at+stepBytes, len(sql))
		for end < len(sql) && !utf8.RuneStart(sql[end]) && end < at+stepBytes+utf8.UTFMax {
			end++
		}
		if piece := sql[at:end]; !isASCII(piece) {
			p.ascii = false
			if !utf8.ValidString(piece) {
				return checkUTF8(sql[at:])
			}
		}
		if strings.IndexByte(sql[at:end], 0) >= 0 {
			return checkUTF8(sql[at:])
		}
		if at = end; at < len(sql) && p.lex.look(at) {
			return p.lex.err
		}
	}
	return nil
}

// checkUTF8 refuses what is no UTF-8, and zero bytes.
func checkUTF8(s string) *pgerr.Error {
	for i := 0; i < len(s); {
		if s[i] == 0 {
			return pgerr.New(pgerr.CharacterNotInRepertoire, `invalid byte sequence for encoding "UTF8": 0x00`)
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n <= 1 {
			return errInvalidUTF8(s[i:])
		}
		i += n
	}
	return nil
}

// errInvalidUTF8 names the bytes of the broken character at the start of s: as
// many as its first byte announces.
func errInvalidUTF8(s string) *pgerr.Error {
	n := 1
	switch c := s[0]; {
	case c >= 0xF0 && c <= 0xF7:
		n = 4
	case c >= 0xE0:
		n = 3
	case c >= 0xC0:
		n = 2
	}
	if s[0] > 0xF7 {
		n = 1
	}
	var b strings.Builder
	for i := 0; i < n && i < len(s); i++ {
		const hex = "0123456789abcdef"
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString("0x")
		b.WriteByte(hex[s[i]>>4])
		b.WriteByte(hex[s[i]&15])
	}
	return pgerr.New(pgerr.CharacterNotInRepertoire, `invalid byte sequence for encoding "UTF8": %s`, b.String())
}

// oneStatement parses a statement and fills in what Parse reports about it.
func (p *parser) oneStatement() Statement {
	p.depth, p.maxDepth, p.chained, p.numParams = 0, 0, 0, 0
	start := p.tok.start
	s := Statement{AST: p.statement(), Offset: int(start), NumParams: p.numParams, Escapes: p.strings.Escapes}
	if p.err == nil {
		s.SQL = p.lex.sql[start:p.prevEnd]
		p.checkHeight(s.AST)
	}
	return s
}

// advance consumes the next token.
func (p *parser) advance() {
	p.prevEnd = p.tok.end
	if p.made += tokenBytes + p.tok.copied(); p.made >= stepBytes {
		p.step()
	}
	if p.hasAhead {
		p.tok, p.hasAhead = p.ahead, false
	} else {
		p.tok = p.lex.next()
	}
	if p.tok.kind == tokError {
		p.checkToken()
	}
}

const (
	// tokenBytes is about what a token of a long list takes in the tree and in the plan.
	tokenBytes = 160
	// stepBytes is how many bytes lie between two calls of Options.Step: some hundred tokens.
	stepBytes = 64 << 10
)

// step passes the bytes made since the last call to Options.Step.
func (p *parser) step() {
	made := p.made
	p.made = 0
	if p.strings.Step == nil || p.err != nil {
		return
	}
	if err := p.strings.Step(made); err != nil {
		e := *pgerr.From(err) // it may be shared
		p.fail(&e, 0)
	}
}

// checkToken turns a lexical error into the parser's error.
func (p *parser) checkToken() {
	if p.tok.kind == tokError {
		e, pos := p.lex.err, 0
		if e.Position > 0 {
			pos = p.charPos(e.Position - 1)
		}
		p.fail(e, pos)
	}
}

// peek returns the kind of the token after the next one.
func (p *parser) peek() kind {
	return p.peekToken().kind
}

// peekToken returns the token after the next one.
func (p *parser) peekToken() token {
	if !p.hasAhead {
		p.ahead, p.hasAhead = p.lex.next(), true
	}
	return p.ahead
}

// scan returns a lexer that stands after the next token, to look further.
func (p *parser) scan() lexer {
	l := p.lex
	l.pos = int(p.tok.end)
	return l
}

// fail records the first error and ends the token stream.
func (p *parser) fail(e *pgerr.Error, pos int) {
	if p.err == nil {
		e.Position = pos
		p.err, p.errAt = e, p.tok.start
	}
	end := int32(len(p.lex.sql))
	p.tok = token{kind: tokEOF, start: end, end: end}
	p.hasAhead = false
	p.lex.pos = len(p.lex.sql)
}

// failLate records an error that PostgreSQL finds after parsing the statement.
func (p *parser) failLate(e *pgerr.Error, pos int) {
	if p.late == nil {
		e.Position = pos
		p.late = e
	}
}

// failf records an error with a code and message at a position.
func (p *parser) failf(code pgerr.Code, pos int, format string, args ...any) {
	if p.err == nil {
		p.fail(pgerr.New(code, format, args...), pos)
	}
}

// syntaxError reports the next token as unexpected.
func (p *parser) syntaxError() { p.errorHere("syntax error") }

// errorHere reports msg at the next token, in PostgreSQL's form.
func (p *parser) errorHere(msg string) {
	if p.err != nil {
		return
	}
	if p.pairAt == p.tok.start+1 {
		p.advance()
	}
	if p.tok.kind == tokEOF {
		p.failf(pgerr.SyntaxError, p.charPos(len(p.lex.sql)), "%s at end of input", msg)
		return
	}
	p.failf(pgerr.SyntaxError, p.pos(), `%s at or near "%s"`, msg, p.lex.sql[p.tok.start:p.tok.end])
}

// unsupported reports a feature that has no syntax tree.
func (p *parser) unsupported(pos int, feature string) {
	if p.err == nil {
		p.fail(pgerr.Unsupported("%s is not supported", feature), pos)
	}
}

// unsupportedLate is unsupported where the rest of the text is to be read first.
func (p *parser) unsupportedLate(pos int, feature string) {
	p.failLate(pgerr.Unsupported("%s is not supported", feature), pos)
}

// charPos returns the 1-based character position of a byte offset.
func (p *parser) charPos(off int) int {
	if p.ascii {
		return off + 1
	}
	s := p.lex.sql
	if off >= p.markByte {
		p.markChar += utf8.RuneCountInString(s[p.markByte:off])
	} else {
		p.markChar -= utf8.RuneCountInString(s[off:p.markByte])
	}
	p.markByte = off
	return p.markChar + 1
}

// pos is the position of the next token.
func (p *parser) pos() int {
	if p.at > 0 {
		return p.at
	}
	return p.charPos(int(p.tok.start))
}

// loc is pos as the field of a node.
func (p *parser) loc() ast.Loc { return ast.Loc{Pos: p.pos()} }

// accept consumes the next token if it is k.
func (p *parser) accept(k kind) bool {
	if p.tok.kind != k {
		return false
	}
	p.advance()
	return true
}

// accept2 consumes the next two tokens if they are a b.
func (p *parser) accept2(a, b kind) bool {
	if !p.is2(a, b) {
		return false
	}
	p.advance()
	p.advance()
	return true
}

// is2 reports whether the next two tokens are a b. PostgreSQL takes the first
// before it sees the second, so if nothing else takes it an error is reported at
// the second; but for NULLS and WITH, which its lexer joins with what follows.
func (p *parser) is2(a, b kind) bool {
	if p.tok.kind != a {
		return false
	}
	if p.peek() == b {
		return true
	}
	if a != kwNulls && a != kwWith {
		p.pairAt = p.tok.start + 1
	}
	return false
}

// expect consumes a token that must be k.
func (p *parser) expect(k kind) {
	if !p.accept(k) {
		p.syntaxError()
	}
}

// expectEOF reports a token where the text should end.
func (p *parser) expectEOF() {
	if p.tok.kind != tokEOF {
		p.syntaxError()
	}
}

// isWord reports whether the next token is the given word, which is no keyword
// of PostgreSQL and was not quoted.
func (p *parser) isWord(w string) bool { return p.tokenIsWord(p.tok, w) }

func (p *parser) tokenIsWord(t token, w string) bool {
	return t.kind == tokIdent && t.str == w && p.lex.sql[t.start] != '"'
}

// acceptWord consumes the next token if it is the given word.
func (p *parser) acceptWord(w string) bool {
	if !p.isWord(w) {
		return false
	}
	p.advance()
	return true
}

// isNameWord is isWord for words that may be keywords too.
func (p *parser) isNameWord(w string) bool {
	t := p.tok
	return (t.kind == tokIdent || isKeyword(t.kind)) && t.str == w && p.lex.sql[t.start] != '"'
}

// enter counts a nested call; false when there are too many.
func (p *parser) enter() bool {
	p.depth++
	if p.depth > p.maxDepth {
		p.maxDepth = p.depth
	}
	if p.depth > MaxDepth {
		p.tooDeep()
		return false
	}
	return true
}

// leave ends what enter began.
func (p *parser) leave() { p.depth-- }

func (p *parser) tooDeep() {
	if p.err == nil {
		p.fail(pgerr.New(pgerr.StatementTooComplex, "stack depth limit exceeded").
			WithHint("The statement nests deeper than %d levels.", MaxDepth), 0)
	}
}

// checkHeight refuses trees that recursive code could not walk safely. Only
// statements that could have such a tree are measured.
func (p *parser) checkHeight(n ast.Node) {
	// The tree levels that one counted call and one chained operator can add at
	// most.
	const perCall, perChained = 4, 2
	if p.err != nil || p.maxDepth*perCall+p.chained*perChained < MaxDepth {
		return
	}
	if !ast.HeightWithin(n, MaxDepth) {
		p.tooDeep()
	}
}
