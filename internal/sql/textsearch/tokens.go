package textsearch

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// tokenKind is the kind of a token, as the default parser of PostgreSQL tells
// them apart.
type tokenKind uint8

const (
	tokenBlank tokenKind = iota
	tokenASCIIWord
	tokenWord
	tokenNumWord
	tokenEmail
	tokenURL
	tokenHost
	tokenPath
	tokenFile
	tokenFloat
	tokenInt
	tokenVersion
	tokenTag
	tokenEntity
	tokenProtocol
	tokenHWord // a hyphenated word as a whole, of letters only
	tokenNumHWord
)

// Limits of how far the parser looks for the end of a token: what is longer is
// no host name, path or tag.
const (
	maxTokenScan = 512
	maxTagScan   = 1 << 14
)

// ahead cuts s some way after i.
func ahead(s string, i, limit int) string { return s[:min(len(s), i+limit)] }

// token is a piece of text; from and to tell where it stands.
type token struct {
	kind     tokenKind
	part     bool // of a hyphenated word
	text     string
	from, to int
}

// tokenizer walks over a text.
type tokenizer struct {
	s     string
	emit  func(token)
	blank bool // what came last is
	step  Step
	bytes int // that step has not counted yet
	err   error
}

// eachToken calls f for every token of a text, in order. Parts of a hyphenated
// word follow the whole.
func eachToken(s string, step Step, f func(token)) error {
	t := tokenizer{s: s, emit: f, step: step}
	for i := 0; i < len(t.s) && t.err == nil; {
		from := i
		if i = t.next(i); t.err == nil {
			t.err = step.count(i - from)
		}
	}
	return t.err
}

// Step counts bytes of a text that were worked on; its error ends the work. A nil Step lets it
// go on.
type Step func(bytes int) error

func (s Step) count(n int) error {
	if s == nil {
		return nil
	}
	return s(n)
}

// pass counts bytes of the text that were walked over, as step does, some at a time. It reports
// whether the work goes on.
func (t *tokenizer) pass(n int) bool {
	const stride = 1 << 10
	if t.bytes += n; t.bytes >= stride && t.err == nil {
		t.err = t.step.count(t.bytes)
		t.bytes = 0
	}
	return t.err == nil
}

func (t *tokenizer) out(kind tokenKind, from, to int) int {
	t.blank = kind == tokenBlank
	t.emit(token{kind: kind, text: t.s[from:to], from: from, to: to})
	return to
}

func (t *tokenizer) outPart(kind tokenKind, from, to int) {
	if !t.pass(to - from) {
		return
	}
	t.emit(token{kind: kind, part: true, text: t.s[from:to], from: from, to: to})
}

func isLetter(r rune) bool { return unicode.IsLetter(r) || unicode.IsMark(r) }

func isDigitByte(c byte) bool { return c >= '0' && c <= '9' }

// runEnd returns where the run of letters and digits that begins at i ends, and
// what it holds. Once the work is to end, so does the text.
func (t *tokenizer) runEnd(i int) (end int, letters, digits, ascii bool) {
	ascii = true
	for end = i; end < len(t.s); {
		r, n := utf8.DecodeRuneInString(t.s[end:])
		switch {
		case isLetter(r) && r != utf8.RuneError:
			letters = true
			ascii = ascii && r < utf8.RuneSelf
		case unicode.IsDigit(r):
			digits = true
		default:
			return end, letters, digits, ascii
		}
		if end += n; !t.pass(n) {
			t.s = t.s[:end]
		}
	}
	return end, letters, digits, ascii
}

// next emits what begins at i and returns where it ends.
func (t *tokenizer) next(i int) int {
	c := t.s[i]
	switch c {
	case '<':
		if end := tagEnd(t.s, i); end > 0 {
			return t.out(tokenTag, i, end)
		}
	case '&':
		if end := entityEnd(t.s, i); end > 0 {
			return t.out(tokenEntity, i, end)
		}
	case '/', '~':
		if c == '~' && t.blank { // it is one more blank
			break
		}
		if end := fileEnd(t.s, i); end > 0 {
			return t.out(tokenFile, i, end)
		}
	case '-', '+':
		if end, kind := numberEnd(t.s, i); end > 0 {
			return t.out(kind, i, end)
		}
	}
	end, letters, _, _ := t.runEnd(i)
	if end == i {
		_, n := utf8.DecodeRuneInString(t.s[i:])
		return t.out(tokenBlank, i, i+n)
	}
	if letters {
		if end := protocolEnd(t.s, i); end > 0 {
			return t.out(tokenProtocol, i, end)
		}
	}
	if end := emailEnd(t.s, i); end > 0 {
		return t.out(tokenEmail, i, end)
	}
	if hostEnd := hostEnd(t.s, i); hostEnd > 0 {
		return t.url(i, hostEnd)
	}
	if end := fileEnd(t.s, i); end > 0 && strings.Contains(t.s[i:end], "/") {
		return t.out(tokenFile, i, end)
	}
	if end := nameEnd(t.s, i); end > 0 {
		return t.out(tokenFile, i, end)
	}
	if end, kind := numberEnd(t.s, i); end > 0 {
		return t.out(kind, i, end)
	}
	return t.word(i)
}

// nameEnd returns where a file name with dots in it ends, 0 if there is none.
func nameEnd(s string, i int) int {
	s = ahead(s, i, maxTokenScan)
	if c := s[i] | 0x20; c < 'a' || c > 'z' {
		return 0
	}
	j, dots := i, 0
	for j < len(s) && (isHostByte(s[j]) || s[j] == '.' && j+1 < len(s) && isHostByte(s[j+1]) && s[j+1] != '-' && s[j+1] != '_') {
		if s[j] == '.' {
			dots++
		}
		j++
	}
	for dots > 0 && (s[j-1] == '-' || s[j-1] == '_') {
		j--
	}
	if j < len(s) && dots > 0 {
		if r, _ := utf8.DecodeRuneInString(s[j:]); r >= utf8.RuneSelf && isLetter(r) {
			return 0
		}
	}
	if dots == 0 {
		return 0
	}
	return j
}

// url emits a host, with its path as a URL.
func (t *tokenizer) url(i, host int) int {
	end := host
	if end < len(t.s) && t.s[end] == '/' {
		for end < len(t.s) && t.s[end] > ' ' && t.s[end] != '<' && t.s[end] != '>' && t.s[end] != '"' && t.s[end] < utf8.RuneSelf {
			end++
		}
		for end > host+1 && strings.IndexByte(".,;:!?)'", t.s[end-1]) >= 0 {
			end--
		}
	}
	if end <= host+1 {
		return t.out(tokenHost, i, host)
	}
	t.out(tokenURL, i, end)
	t.out(tokenHost, i, host)
	return t.out(tokenPath, host, end)
}

// word emits a word, or a hyphenated one with its parts.
func (t *tokenizer) word(i int) int {
	type part struct {
		from, to               int
		letters, digits, ascii bool
	}
	var parts []part
	at := i
	for {
		end, letters, digits, ascii := t.runEnd(at)
		if end == at || len(parts) > 0 && !letters && !digits {
			break
		}
		parts = append(parts, part{at, end, letters, digits, ascii})
		if !letters || end+1 >= len(t.s) || t.s[end] != '-' {
			break
		}
		if !startsWithLetter(strings.TrimLeft(t.s[end+1:], "0123456789")) {
			break // a number, with its sign
		}
		at = end + 1
	}
	kind := func(p part) tokenKind {
		switch {
		case p.digits:
			return tokenNumWord
		case p.ascii:
			return tokenASCIIWord
		}
		return tokenWord
	}
	last := parts[len(parts)-1].to
	if len(parts) == 1 {
		if !parts[0].letters {
			return t.out(tokenInt, i, last)
		}
		return t.out(kind(parts[0]), i, last)
	}
	whole := tokenHWord
	for _, p := range parts {
		if p.digits {
			whole = tokenNumHWord
		}
	}
	t.out(whole, i, last)
	for i, p := range parts {
		if i > 0 {
			t.out(tokenBlank, p.from-1, p.from)
		}
		if p.letters {
			t.outPart(kind(p), p.from, p.to)
		} else {
			t.outPart(tokenInt, p.from, p.to)
		}
	}
	if last < len(t.s) && t.s[last] == '-' { // not the sign of a number
		last = t.out(tokenBlank, last, last+1)
	}
	return last
}

func startsWithLetter(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return isLetter(r)
}

// tagEnd returns where a markup tag ends, 0 if there is none.
func tagEnd(s string, i int) int {
	s = ahead(s, i, maxTagScan)
	if i+1 >= len(s) {
		return 0
	}
	c := s[i+1]
	if !(c == '/' || c == '!' || c == '?' || c|0x20 >= 'a' && c|0x20 <= 'z') {
		return 0
	}
	if strings.HasPrefix(s[i:], "<!--") {
		if end := strings.Index(s[i+4:], "-->"); end >= 0 {
			return i + 4 + end + 3
		}
		return 0
	}
	quote := byte(0)
	for j := i + 1; j < len(s); j++ {
		switch c := s[j]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '>':
			return j + 1
		case c == '<':
			return 0
		}
	}
	return 0
}

// entityEnd returns where a character entity ends, 0 if there is none.
func entityEnd(s string, i int) int {
	j := i + 1
	if j < len(s) && s[j] == '#' {
		j++
	}
	start := j
	for j < len(s) && (isDigitByte(s[j]) || s[j]|0x20 >= 'a' && s[j]|0x20 <= 'z') {
		j++
	}
	if j == start || j >= len(s) || s[j] != ';' {
		return 0
	}
	return j + 1
}

// numberEnd returns where a number begins at i ends, and its kind: 12, -1.5,
// 1e10, 8.3.0 (a version). Without a sign a number does not end in the middle of a
// word.
func numberEnd(s string, i int) (int, tokenKind) {
	j := i
	signed := s[j] == '-' || s[j] == '+'
	if signed {
		j++
	}
	digits := func() bool {
		start := j
		for j < len(s) && isDigitByte(s[j]) {
			j++
		}
		return j > start
	}
	if !digits() {
		return 0, 0
	}
	kind := tokenInt
	dots := 0
	for j+1 < len(s) && s[j] == '.' && isDigitByte(s[j+1]) {
		j++
		digits()
		dots++
	}
	if dots > 0 {
		kind = tokenFloat
	}
	if dots > 1 {
		if signed {
			return 0, 0
		}
		kind = tokenVersion
	} else if j < len(s) && s[j]|0x20 == 'e' {
		save := j
		j++
		if j < len(s) && (s[j] == '-' || s[j] == '+') {
			j++
		}
		if digits() {
			kind = tokenFloat
		} else {
			j = save
		}
	}
	if j < len(s) && dots == 0 && !signed {
		if r, _ := utf8.DecodeRuneInString(s[j:]); isLetter(r) {
			return 0, 0
		}
	}
	return j, kind
}

func isHostByte(c byte) bool {
	return isDigitByte(c) || c|0x20 >= 'a' && c|0x20 <= 'z' || c == '-' || c == '_'
}

// hostEnd returns where a host name ends: labels with a dot between them, of
// which the last has letters.
func hostEnd(s string, i int) int {
	s = ahead(s, i, maxTokenScan)
	j, dots, letters := i, 0, 0
	for j < len(s) {
		switch c := s[j]; {
		case isHostByte(c):
			if !isDigitByte(c) && c != '-' && c != '_' {
				letters++
			}
			j++
			continue
		case c == '.' && j > i && s[j-1] != '.' && j+1 < len(s) && isHostByte(s[j+1]) && s[j+1] != '-' && s[j+1] != '_':
			dots, letters = dots+1, 0
			j++
			continue
		}
		break
	}
	if dots == 0 || letters < 2 || s[j-1] == '-' || s[j-1] == '_' {
		return 0
	}
	if j < len(s) {
		if r, _ := utf8.DecodeRuneInString(s[j:]); isLetter(r) || r == '@' {
			return 0
		}
		if s[j] == ':' && j+1 < len(s) && isDigitByte(s[j+1]) {
			for j++; j < len(s) && isDigitByte(s[j]); j++ {
			}
		}
	}
	return j
}

// emailEnd returns where an address user@host ends.
func emailEnd(s string, i int) int {
	s = ahead(s, i, maxTokenScan)
	j := i
	for j < len(s) && (isHostByte(s[j]) || s[j] == '.' || s[j] == '+') {
		j++
	}
	if j == i || j+1 >= len(s) || s[j] != '@' || s[j-1] == '.' {
		return 0
	}
	return hostEnd(s, j+1)
}

// protocolEnd returns where http:// and the like end.
func protocolEnd(s string, i int) int {
	s = ahead(s, i, maxTokenScan)
	j := i
	for j < len(s) && s[j]|0x20 >= 'a' && s[j]|0x20 <= 'z' {
		j++
	}
	if j > i && strings.HasPrefix(s[j:], "://") {
		return j + 3
	}
	return 0
}

// fileEnd returns where a file path ends: names with slashes between them.
func fileEnd(s string, i int) int {
	s = ahead(s, i, maxTokenScan)
	j, names, slashes := i, 0, 0
	if strings.HasPrefix(s[j:], "~/") {
		j++
	}
	for j < len(s) {
		if s[j] == '/' {
			if j+1 >= len(s) || !(isHostByte(s[j+1]) || s[j+1] == '.') {
				break
			}
			slashes++
			j++
			continue
		}
		start := j
		for j < len(s) && (isHostByte(s[j]) || s[j] == '.' && j+1 < len(s) && (isHostByte(s[j+1]) || s[j+1] == '/' || s[j+1] == '.')) {
			j++
		}
		if j == start {
			break
		}
		names++
	}
	if slashes == 0 || names == 0 {
		return 0
	}
	if j < len(s) {
		if r, _ := utf8.DecodeRuneInString(s[j:]); r >= utf8.RuneSelf && isLetter(r) {
			return 0
		}
	}
	return j
}
