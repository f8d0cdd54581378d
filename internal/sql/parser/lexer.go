package parser

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/lichendb/lichen/internal/sql/ast"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// token is one lexical unit; start and end are byte offsets.
type token struct {
	kind  kind
	start int32
	end   int32
	num   int64  // of tokInt and tokParam
	str   string // of names, strings, numbers and operators
}

// copied is about how many bytes of the token lie outside of the text: a string without
// anything to be replaced is part of it.
func (t token) copied() int {
	const quotes = 2
	n := int(t.end - t.start)
	if t.kind == tokString && len(t.str) == n-quotes {
		return 0
	}
	return n
}

// lexer cuts a statement text into tokens. It is a small value: a copy looks
// ahead without disturbing the original.
type lexer struct {
	sql string
	pos int
	// strict reads no constant of the dialects.
	strict bool
	// strings says how constants are read; escapeAt is where the last one with escapes has
	// its first.
	strings  Options
	escapeAt int
	// long is the last name that was truncated, as it was written.
	long string
	err  *pgerr.Error // set with the first tokError; position is a byte offset
	// due is the offset from which on look is called.
	due int
}

// Character classes, by byte.
const (
	charSpace = 1 << iota
	charIdentStart
	charIdentCont
	charDigit
	charOp
	charSelf // single-character tokens that are never part of an operator
)

var charClass = buildCharClass()

func buildCharClass() (t [256]uint8) {
	for c := 0; c < 256; c++ {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_', c >= 0x80:
			t[c] = charIdentStart | charIdentCont
		case c >= '0' && c <= '9':
			t[c] = charDigit | charIdentCont
		}
	}
	t['$'] |= charIdentCont
	for _, c := range " \t\n\r\f" {
		t[c] |= charSpace
	}
	for _, c := range "~!@#^&|`?+-*/%<>=" {
		t[c] |= charOp
	}
	for _, c := range ",()[].;:" {
		t[c] |= charSelf
	}
	return t
}

// next returns the next token; at the end of the text, tokEOF for ever.
func (l *lexer) next() token {
	if !l.skipSpace() {
		return token{kind: tokError, start: int32(l.pos), end: int32(len(l.sql))}
	}
	if l.pos >= len(l.sql) {
		return token{kind: tokEOF, start: int32(len(l.sql)), end: int32(len(l.sql))}
	}
	c := l.sql[l.pos]
	cl := charClass[c]
	switch {
	case cl&charIdentStart != 0:
		return l.word(c)
	case cl&charDigit != 0:
		return l.number()
	case cl&charOp != 0:
		return l.operator()
	case cl&charSelf != 0:
		return l.self(c)
	}
	switch c {
	case '\'':
		if l.strings.Escapes {
			return l.escapeString(l.pos, l.pos+1)
		}
		return l.plainString(l.pos, l.pos+1, tokString)
	case '"':
		return l.quotedIdent(l.pos, l.pos+1)
	case '$':
		return l.dollar()
	}
	return l.take(kind(c), 1)
}

// take makes a token of the next n bytes.
func (l *lexer) take(k kind, n int) token {
	t := token{kind: k, start: int32(l.pos), end: int32(l.pos + n)}
	l.pos += n
	return t
}

// stopped reports whether the statement is cancelled, which then is the lexer's error. What passes
// over many bytes of one token asks it at every offset.
func (l *lexer) stopped(i int) bool { return i >= l.due && l.look(i) }

func (l *lexer) look(i int) bool {
	l.due = i + stepBytes
	if l.strings.Step == nil {
		return false
	}
	err := l.strings.Step(0)
	if err != nil {
		e := *pgerr.From(err) // it may be shared
		l.err = &e
	}
	return err != nil
}

// stop returns the token for what stopped has found.
func (l *lexer) stop(start int) token {
	l.pos = len(l.sql)
	return token{kind: tokError, start: int32(start), end: int32(len(l.sql))}
}

// fail records an error at byte offset start and returns the token for it.
func (l *lexer) fail(start int, err *pgerr.Error) token {
	err.Position = start + 1
	l.err = err
	l.pos = len(l.sql)
	return token{kind: tokError, start: int32(start), end: int32(len(l.sql))}
}

// failNear is fail with PostgreSQL's "at or near", which quotes the text from
// start to end.
func (l *lexer) failNear(start, end int, msg string) token {
	return l.fail(start, pgerr.New(pgerr.SyntaxError, `%s at or near "%s"`, msg, l.sql[start:end]))
}

// skipSpace moves past white space and comments; false after an error.
func (l *lexer) skipSpace() bool {
	s := l.sql
	for l.pos < len(s) {
		c := s[l.pos]
		switch {
		case charClass[c]&charSpace != 0:
			if l.pos++; l.stopped(l.pos) {
				return false
			}
		case c == '-' && l.pos+1 < len(s) && s[l.pos+1] == '-':
			l.skipLine()
		case c == '/' && l.pos+1 < len(s) && s[l.pos+1] == '*':
			if !l.skipBlockComment() {
				return false
			}
		default:
			return true
		}
	}
	return true
}

// skipLine moves to the end of the line.
func (l *lexer) skipLine() {
	for l.pos < len(l.sql) && l.sql[l.pos] != '\n' && l.sql[l.pos] != '\r' && !l.stopped(l.pos) {
		l.pos++
	}
}

// skipBlockComment moves past a comment, which may contain others.
func (l *lexer) skipBlockComment() bool {
	start, depth := l.pos, 0
	for l.pos < len(l.sql) {
		if l.stopped(l.pos) {
			return false
		}
		rest := l.sql[l.pos:min(len(l.sql), l.pos+stepBytes)]
		star := strings.IndexByte(rest, '*')
		switch {
		case star < 0:
			l.pos += len(rest)
			if rest[len(rest)-1] == '/' && l.pos < len(l.sql) {
				l.pos-- // perhaps of a beginning
			}
		case star > 0 && rest[star-1] == '/':
			depth++
			l.pos += star + 1
		case strings.HasPrefix(l.sql[l.pos+star+1:], "/"):
			l.pos += star + 2
			if depth--; depth == 0 {
				return true
			}
		default:
			l.pos += star + 1
		}
	}
	l.failNear(start, len(l.sql), "unterminated /* comment")
	return false
}

// word reads a name or keyword, or a string whose prefix is a letter.
func (l *lexer) word(c byte) token {
	if l.pos+1 < len(l.sql) && l.sql[l.pos+1] <= '\'' {
		if t, ok := l.prefixed(c); ok {
			return t
		}
	}
	start, i := l.pos, l.pos
	s := l.sql
	var h uint32
	upper := false
	for end := i; i == end && end < len(s); {
		if end = min(len(s), i+stepBytes); i > start && l.look(i) {
			return l.stop(start)
		}
		for i < end && charClass[s[i]]&charIdentCont != 0 {
			b := s[i]
			if b >= 'A' && b <= 'Z' {
				upper = true
				b += 'a' - 'A'
			}
			h = h*hashFactor + uint32(b)
			i++
		}
	}
	l.pos = i
	t := token{kind: tokIdent, start: int32(start), end: int32(i)}
	if i-start <= maxKeywordLen {
		if k := lookupKeyword(s[start:i], h); k != 0 {
			t.kind = k
			t.str = keywordWord(k)
			return t
		}
	}
	name := s[start:i]
	if upper {
		name = lowerASCII(name)
	}
	t.str = l.truncateIdent(name)
	return t
}

// prefixed reads E'...', B'...', X'...', N'...', U&'...' and U&"...".
func (l *lexer) prefixed(c byte) (token, bool) {
	start := l.pos
	next := l.sql[start+1]
	if next == '&' && (c == 'u' || c == 'U') && start+2 < len(l.sql) {
		switch l.sql[start+2] {
		case '\'':
			return l.unicodeString(start), true
		case '"':
			return l.unicodeIdent(start), true
		}
		return token{}, false
	}
	if next != '\'' {
		return token{}, false
	}
	switch c {
	case 'e', 'E':
		return l.escapeString(start, start+2), true
	case 'b', 'B':
		if t, ok := l.escapedBits(start); ok {
			return t, true
		}
		return l.plainString(start, start+2, tokBit), true
	case 'x', 'X':
		return l.plainString(start, start+2, tokHex), true
	case 'n', 'N':
		t := l.take(kwNchar, 1)
		t.str = keywordWord(kwNchar)
		return t, true
	}
	return token{}, false
}

// lowerASCII folds A to Z only: in UTF-8 other letters keep their case.
func lowerASCII(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}

// truncateIdent cuts a name to ast.MaxIdentLen bytes, between characters.
func (l *lexer) truncateIdent(s string) string {
	if len(s) <= ast.MaxIdentLen {
		return s
	}
	l.long = s
	n := ast.MaxIdentLen
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// number reads an integer or a numeric constant.
func (l *lexer) number() token {
	s, start := l.sql, l.pos
	i := skipDigits(s, start)
	isInt := true
	if i < len(s) && s[i] == '.' && !(i+1 < len(s) && s[i+1] == '.') {
		isInt = false
		i = skipDigits(s, i+1)
	}
	return l.finishNumber(start, i, isInt)
}

// finishNumber reads the exponent, if any, of the number whose mantissa ends
// before i.
func (l *lexer) finishNumber(start, i int, isInt bool) token {
	s := l.sql
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		j := i + 1
		if j < len(s) && (s[j] == '+' || s[j] == '-') {
			j++
		}
		end := skipDigits(s, j)
		if end == j {
			return l.failNear(start, j, "trailing junk after numeric literal")
		}
		isInt, i = false, end
	}
	if i < len(s) && charClass[s[i]]&charIdentStart != 0 {
		return l.failNear(start, skipIdent(s, i), "trailing junk after numeric literal")
	}
	l.pos = i
	t := token{kind: tokNum, start: int32(start), end: int32(i), str: s[start:i]}
	if isInt {
		if v, ok := parseInt(t.str); ok {
			t.kind, t.num = tokInt, v
		}
	}
	return t
}

func skipDigits(s string, i int) int {
	for i < len(s) && charClass[s[i]]&charDigit != 0 {
		i++
	}
	return i
}

// skipIdent returns the offset after the characters of a name from i on.
func skipIdent(s string, i int) int {
	for i < len(s) && charClass[s[i]]&charIdentCont != 0 {
		i++
	}
	return i
}

// parseInt returns the value of digits that fit int64.
func parseInt(digits string) (int64, bool) {
	if len(digits) <= 18 {
		var v int64
		for i := 0; i < len(digits); i++ {
			v = v*10 + int64(digits[i]-'0')
		}
		return v, true
	}
	v, err := strconv.ParseInt(digits, 10, 64)
	return v, err == nil
}

// self reads punctuation.
func (l *lexer) self(c byte) token {
	var next byte
	if l.pos+1 < len(l.sql) {
		next = l.sql[l.pos+1]
	}
	switch {
	case c == ':' && next == ':':
		return l.take(tokCast, 2)
	case c == ':' && next == '=':
		return l.take(tokColonEq, 2)
	case c == '.' && next == '.':
		return l.take(tokDotDot, 2)
	case c == '.' && charClass[next]&charDigit != 0:
		start := l.pos
		return l.finishNumber(start, skipDigits(l.sql, start+1), false)
	}
	return l.take(kind(c), 1)
}

// operator reads the longest operator that PostgreSQL's rules allow: up to a
// comment, and not ending in + or - unless it has a character that no operator
// of standard SQL has.
func (l *lexer) operator() token {
	s, start := l.sql, l.pos
	end := start
	free := false // has one of ~ ! @ # ^ & | ` ? %
	for end < len(s) && charClass[s[end]]&charOp != 0 {
		if end+1 < len(s) && (s[end] == '-' && s[end+1] == '-' || s[end] == '/' && s[end+1] == '*') {
			break
		}
		end++
	}
	for i := start; i < end; i++ {
		if strings.IndexByte("~!@#^&|`?%", s[i]) >= 0 {
			free = true
		}
	}
	for !free && end-start > 1 && (s[end-1] == '+' || s[end-1] == '-') {
		end--
	}
	op := s[start:end]
	switch len(op) {
	case 1:
		if strings.IndexByte("+-*/%^<>=", op[0]) >= 0 {
			return l.take(kind(op[0]), 1)
		}
	case 2:
		switch op {
		case "=>":
			return l.take(tokArrow, 2)
		case "<=":
			return l.take(tokLE, 2)
		case ">=":
			return l.take(tokGE, 2)
		case "<>", "!=":
			return l.take(tokNE, 2)
		}
	}
	if len(op) > ast.MaxIdentLen {
		return l.failNear(start, end, "operator too long")
	}
	t := l.take(tokOp, len(op))
	t.str = op
	return t
}

// dollar reads a parameter or a dollar-quoted string.
func (l *lexer) dollar() token {
	s, start := l.sql, l.pos
	if start+1 < len(s) && charClass[s[start+1]]&charDigit != 0 {
		end := skipDigits(s, start+1)
		if end < len(s) && charClass[s[end]]&charIdentStart != 0 {
			return l.failNear(start, skipIdent(s, end), "trailing junk after parameter")
		}
		t := l.take(tokParam, end-start)
		v, ok := parseInt(s[start+1 : end])
		if !ok {
			v = MaxParam + 1
		}
		t.num = v
		return t
	}
	i := start + 1
	for i < len(s) && s[i] != '$' && charClass[s[i]]&charIdentCont != 0 {
		i++
	}
	if i >= len(s) || s[i] != '$' {
		return l.take('$', 1)
	}
	delim := s[start : i+1]
	n := strings.Index(s[i+1:], delim)
	if n < 0 {
		return l.failNear(start, len(s), "unterminated dollar-quoted string")
	}
	t := l.take(tokString, 2*len(delim)+n)
	t.str = s[i+1 : i+1+n]
	return t
}
