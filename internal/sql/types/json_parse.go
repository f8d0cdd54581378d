package types

import (
	"strconv"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/lichendb/lichen/internal/sql/ascii"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// maxJSONDepth bounds the nesting of JSON input.
const maxJSONDepth = 6400

// JSONKind tells the kinds of JSON value apart, in jsonb's sort order.
type JSONKind uint8

// The kinds.
const (
	KindNull JSONKind = iota
	KindString
	KindNumber
	KindBool
	KindArray
	KindObject
)

// JSONValue is a parsed JSON value, as jsonb sees it: an object's keys are
// unique and sorted by length, then bytewise.
type JSONValue struct {
	Kind  JSONKind
	Bool  bool
	Str   string    // KindString
	Num   Datum     // KindNumber: a decimal
	Elems JSONElems // KindArray
	// Fields are the members of a KindObject; a slice of pointers to millions of them grows and is
	// sorted without a long pause.
	Fields []*JSONField
}

// JSONField is a member of an object.
type JSONField struct {
	Key   string
	Value JSONValue
}

// ParseJSON parses JSON text with jsonb's rules: the last of equal keys wins,
// escapes are decoded, numbers are numeric. fc may be nil.
func ParseJSON(s string, fc *FormatContext) (JSONValue, error) {
	p := jsonParser{s: s, build: true, fc: fc}
	v, err := p.document()
	return v, p.located(err)
}

// ValidateJSON checks JSON text by the looser rules of type json, which keeps
// the text as it is. fc may be nil.
func ValidateJSON(s string, fc *FormatContext) error {
	p := jsonParser{s: s, fc: fc}
	_, err := p.document()
	return p.located(err)
}

// ParsedJSONSize estimates the memory that the value of a JSON text takes once it is parsed.
func ParsedJSONSize(s string) int {
	values := 1 + strings.Count(s, ",") + strings.Count(s, "[") + strings.Count(s, "{")
	return values * int(unsafe.Sizeof(JSONField{})+unsafe.Sizeof(&JSONField{}))
}

// jsonParser is a recursive descent parser over a one-token lookahead.
type jsonParser struct {
	s     string
	pos   int // after the token
	tok   string
	kind  jsonToken
	str   string // decoded string, when build
	build bool
	depth int
	free  []JSONField    // room for members
	made  int            // how many free had room for at first
	fc    *FormatContext // counts the steps; may be nil
}

type jsonToken uint8

const (
	jsonEnd jsonToken = iota
	jsonPunct
	jsonString
	jsonNumber
	jsonTrue
	jsonFalse
	jsonNull
)

func errJSON(format string, args ...any) *pgerr.Error {
	return pgerr.New(pgerr.InvalidTextRepresentation, "invalid input syntax for type json").WithDetail(format, args...)
}

// maxJSONContext is how much of a line an error shows, in bytes.
const maxJSONContext = 50

// located adds to a syntax error where it is: the line, and what of it was read.
func (p *jsonParser) located(err error) error {
	if c := pgerr.CodeOf(err); err == nil || c != pgerr.InvalidTextRepresentation && c != pgerr.UntranslatableCharacter {
		return err
	}
	e := pgerr.From(err)
	line := strings.LastIndexByte(p.s[:p.pos], '\n') + 1
	from := line
	for p.pos-from >= maxJSONContext {
		_, n := utf8.DecodeRuneInString(p.s[from:])
		from += n
	}
	before, after := "...", "..."
	if from-line <= len(before) {
		from, before = line, ""
	}
	if p.pos == len(p.s) || p.s[p.pos] == '\n' || p.s[p.pos] == '\r' {
		after = ""
	}
	e.Context = "JSON data, line " + strconv.Itoa(strings.Count(p.s[:p.pos], "\n")+1) + ": " + before + p.s[from:p.pos] + after
	return e
}

func (p *jsonParser) errToken(tok string) error { return errJSON("Token \"%s\" is invalid.", tok) }

// errExpected reports the lookahead where what was wanted.
func (p *jsonParser) errExpected(what string) error {
	if p.kind == jsonEnd {
		return errJSON("The input string ended unexpectedly.")
	}
	return errJSON("Expected %s, but found \"%s\".", what, p.tok)
}

func (p *jsonParser) document() (JSONValue, error) {
	if err := p.next(); err != nil {
		return JSONValue{}, err
	}
	v, err := p.value("JSON value")
	if err != nil {
		return v, err
	}
	if p.kind != jsonEnd {
		return v, p.errExpected("end of input")
	}
	return v, nil
}

func (p *jsonParser) value(expected string) (v JSONValue, err error) {
	if err := p.fc.CountSteps(1); err != nil {
		return v, err
	}
	switch p.kind {
	case jsonString:
		v = JSONValue{Kind: KindString, Str: p.str}
	case jsonNumber:
		v.Kind = KindNumber
		if err := p.fc.CountSteps(len(p.tok)); err != nil {
			return v, err
		}
		if p.build {
			if v.Num, err = ParseDecimal(p.tok); err != nil {
				return v, err
			}
		}
	case jsonTrue, jsonFalse:
		v = JSONValue{Kind: KindBool, Bool: p.kind == jsonTrue}
	case jsonNull:
	case jsonPunct:
		if p.tok == "{" || p.tok == "[" {
			return p.nested()
		}
		fallthrough
	default:
		return v, p.errExpected(expected)
	}
	return v, p.next()
}

func (p *jsonParser) nested() (v JSONValue, err error) {
	if p.depth++; p.depth > maxJSONDepth {
		return v, pgerr.New(pgerr.StatementTooComplex, "stack depth limit exceeded").WithDetail(
			"JSON nests deeper than %d levels.", maxJSONDepth)
	}
	if p.tok == "{" {
		v, err = p.object()
	} else {
		v, err = p.array()
	}
	p.depth--
	return v, err
}

func (p *jsonParser) punct(c string) bool { return p.kind == jsonPunct && p.tok == c }

func (p *jsonParser) array() (JSONValue, error) {
	v := JSONValue{Kind: KindArray}
	if err := p.next(); err != nil || p.punct("]") {
		if err == nil {
			err = p.next()
		}
		return v, err
	}
	for {
		e, err := p.value("JSON value")
		if err != nil {
			return v, err
		}
		if p.build {
			v.Elems.Append(e)
		}
		if p.punct("]") {
			return v, p.next()
		}
		if !p.punct(",") {
			return v, p.errExpected(`"," or "]"`)
		}
		if err := p.next(); err != nil {
			return v, err
		}
	}
}

func (p *jsonParser) object() (JSONValue, error) {
	v := JSONValue{Kind: KindObject}
	if err := p.next(); err != nil || p.punct("}") {
		if err == nil {
			err = p.next()
		}
		return v, err
	}
	expected := `string or "}"`
	for {
		f, err := p.field(expected)
		if err != nil {
			return v, err
		}
		if p.build {
			v.Fields = append(v.Fields, p.member(f))
		}
		if p.punct("}") {
			v.Fields = sortFields(v.Fields, p.fc)
			return v, p.next()
		}
		if !p.punct(",") {
			return v, p.errExpected(`"," or "}"`)
		}
		if err := p.next(); err != nil {
			return v, err
		}
		expected = "string"
	}
}

// member returns f in memory that it shares with other members.
func (p *jsonParser) member(f JSONField) *JSONField {
	if len(p.free) == 0 {
		p.made = min(max(shortJSON, 2*p.made), jsonPiece)
		p.free = make([]JSONField, p.made)
	}
	m := &p.free[0]
	*m, p.free = f, p.free[1:]
	return m
}

func (p *jsonParser) field(expected string) (f JSONField, err error) {
	if p.kind != jsonString {
		return f, p.errExpected(expected)
	}
	f.Key = p.str
	if err = p.next(); err != nil {
		return f, err
	}
	if !p.punct(":") {
		return f, p.errExpected(`":"`)
	}
	if err = p.next(); err != nil {
		return f, err
	}
	f.Value, err = p.value("JSON value")
	return f, err
}

// next reads the next token.
func (p *jsonParser) next() error {
	for p.pos < len(p.s) && strings.IndexByte(" \t\n\r", p.s[p.pos]) >= 0 {
		p.pos++
	}
	start := p.pos
	if start == len(p.s) {
		p.kind, p.tok = jsonEnd, ""
		return nil
	}
	switch c := p.s[start]; {
	case strings.IndexByte("{}[],:", c) >= 0:
		p.pos++
		p.kind, p.tok = jsonPunct, p.s[start:p.pos]
		return nil
	case c == '"':
		return p.lexString()
	case c == '-' || ascii.IsDigit(c):
		return p.lexNumber()
	}
	return p.lexWord()
}

func isJSONWord(c byte) bool { return ascii.IsLetter(c) || ascii.IsDigit(c) || c == '_' || c >= 0x80 }

func (p *jsonParser) wordEnd(i int) int {
	for i < len(p.s) && isJSONWord(p.s[i]) {
		i++
	}
	return i
}

func (p *jsonParser) lexWord() error {
	end := p.wordEnd(p.pos)
	if end == p.pos {
		p.pos++
		return p.errToken(p.s[p.pos-1 : p.pos])
	}
	p.tok = p.s[p.pos:end]
	p.pos = end
	switch p.tok {
	case "true":
		p.kind = jsonTrue
	case "false":
		p.kind = jsonFalse
	case "null":
		p.kind = jsonNull
	default:
		return p.errToken(p.tok)
	}
	return nil
}

func (p *jsonParser) lexNumber() error {
	i, ok := scanJSONNumber(p.s, p.pos)
	end := p.wordEnd(i)
	p.tok = p.s[p.pos:end]
	p.pos, p.kind = end, jsonNumber
	if !ok || end != i {
		return p.errToken(p.tok)
	}
	return nil
}

// scanJSONNumber returns where the number at s[i] ends, or false with where it
// goes wrong.
func scanJSONNumber(s string, i int) (int, bool) {
	digits := func() bool {
		start := i
		for i < len(s) && ascii.IsDigit(s[i]) {
			i++
		}
		return i > start
	}
	if s[i] == '-' {
		i++
	}
	if i < len(s) && s[i] == '0' {
		i++
	} else if !digits() {
		return i, false
	}
	if i < len(s) && s[i] == '.' {
		if i++; !digits() {
			return i, false
		}
	}
	if i < len(s) && s[i]|0x20 == 'e' {
		i++
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		if !digits() {
			return i, false
		}
	}
	return i, true
}

func (p *jsonParser) lexString() error {
	start := p.pos
	i := start + 1
	for i < len(p.s) && p.s[i] != '"' && p.s[i] != '\\' && p.s[i] >= 0x20 {
		i++
	}
	if i < len(p.s) && p.s[i] == '"' { // no escapes: share the input's memory
		p.str, p.tok = p.s[start+1:i], p.s[start:i+1]
		p.pos, p.kind = i+1, jsonString
		return nil
	}
	l := jsonStringLexer{s: p.s, start: start, i: i, build: p.build}
	if p.build {
		l.out = append(l.out, p.s[start+1:i]...)
	}
	if err := l.run(); err != nil {
		p.pos = min(l.i, len(p.s))
		return err
	}
	p.str, p.tok = string(l.out), p.s[start:l.i]
	p.pos, p.kind = l.i, jsonString
	return nil
}

// jsonStringLexer reads a string literal with escapes.
type jsonStringLexer struct {
	s     string
	start int
	i     int
	build bool
	out   []byte
	high  rune // pending high surrogate
}

func (l *jsonStringLexer) errEnd() error {
	l.i = len(l.s)
	return errJSON("Token \"%s\" is invalid.", l.s[l.start:])
}

func (l *jsonStringLexer) run() error {
	for l.i < len(l.s) {
		c := l.s[l.i]
		if c < 0x20 {
			return errJSON("Character with value 0x%02x must be escaped.", c)
		}
		if c == '\\' {
			if err := l.escape(); err != nil {
				return err
			}
			continue
		}
		if l.high != 0 {
			if c == '"' {
				l.i++
			}
			return errJSON("Unicode low surrogate must follow a high surrogate.")
		}
		l.i++
		if c == '"' {
			return nil
		}
		if l.build {
			l.out = append(l.out, c)
		}
	}
	return l.errEnd()
}

func (l *jsonStringLexer) escape() error {
	l.i++
	if l.i == len(l.s) {
		return l.errEnd()
	}
	c := l.s[l.i]
	if c == 'u' {
		return l.unicode()
	}
	if l.high != 0 {
		return errJSON("Unicode low surrogate must follow a high surrogate.")
	}
	k := strings.IndexByte(`"\/bfnrt`, c)
	if k < 0 {
		_, n := utf8.DecodeRuneInString(l.s[l.i:])
		l.i += n
		return errJSON("Escape sequence \"\\%s\" is invalid.", l.s[l.i-n:l.i])
	}
	l.i++
	if l.build {
		l.out = append(l.out, "\"\\/\b\f\n\r\t"[k])
	}
	return nil
}

func (l *jsonStringLexer) unicode() error {
	l.i++
	end := l.i + 4
	if end > len(l.s) {
		for j := l.i; j < len(l.s); j++ {
			if !isHex(l.s[j]) {
				return errJSON(`"\u" must be followed by four hexadecimal digits.`)
			}
		}
		return l.errEnd()
	}
	n, err := strconv.ParseUint(l.s[l.i:end], 16, 32)
	if err != nil {
		for isHex(l.s[l.i]) {
			l.i++
		}
		l.i++
		return errJSON(`"\u" must be followed by four hexadecimal digits.`)
	}
	l.i = end
	if !l.build {
		return nil
	}
	return l.codePoint(rune(n))
}

func (l *jsonStringLexer) codePoint(r rune) error {
	switch {
	case r == 0:
		return pgerr.New(pgerr.UntranslatableCharacter, "unsupported Unicode escape sequence").
			WithDetail(`\u0000 cannot be converted to text.`)
	case r >= 0xd800 && r <= 0xdbff:
		if l.high != 0 {
			return errJSON("Unicode high surrogate must not follow a high surrogate.")
		}
		l.high = r
		return nil
	case r >= 0xdc00 && r <= 0xdfff:
		if l.high == 0 {
			return errJSON("Unicode low surrogate must follow a high surrogate.")
		}
		r = 0x10000 + (l.high-0xd800)<<10 + (r - 0xdc00)
		l.high = 0
	case l.high != 0:
		return errJSON("Unicode low surrogate must follow a high surrogate.")
	}
	l.out = utf8.AppendRune(l.out, r)
	return nil
}

func isHex(c byte) bool { return ascii.IsDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }
