package textsearch

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// Limits of vectors, as PostgreSQL has them.
const (
	MaxWordLen   = 2046
	MaxPosition  = 16383
	MaxPositions = 255
	// MaxVectorLexemes bounds the lexemes of one vector.
	MaxVectorLexemes = 1 << 20
)

// Weight is the weight of a position, D being the least.
type Weight uint8

// The weights.
const (
	WeightD Weight = iota
	WeightC
	WeightB
	WeightA
)

// Letter returns the weight's letter.
func (w Weight) Letter() byte { return "DCBA"[w&3] }

// ParseWeight reads a weight's letter.
func ParseWeight(c byte) (Weight, bool) {
	i := strings.IndexByte("DCBA", c&^0x20)
	return Weight(i), i >= 0
}

// Position is where a lexeme stands in the document, from 1.
type Position struct {
	Pos    uint16
	Weight Weight
}

// Lexeme is a word of a document with its positions, of which there may be none.
type Lexeme struct {
	Word      string
	Positions []Position
}

// Vector is a document as lexemes, sorted by word.
type Vector []Lexeme

// Normal sorts lexemes and joins those of one word. Once step fails, what it returns is of no use.
func Normal(v Vector, step Step) Vector {
	stopped := false
	slices.SortStableFunc(v, func(a, b Lexeme) int {
		if stopped = stopped || step.count(1) != nil; stopped {
			return 0
		}
		return strings.Compare(a.Word, b.Word)
	})
	out := v[:0]
	copied := -1 // the lexeme of out whose positions are its own
	for _, l := range v {
		if step.count(1) != nil {
			return nil
		}
		n := len(out) - 1
		if n < 0 || out[n].Word != l.Word {
			out = append(out, l)
			continue
		}
		if copied != n {
			out[n].Positions = slices.Clip(out[n].Positions)
			copied = n
		}
		out[n].Positions = append(out[n].Positions, l.Positions...)
	}
	for i := range out {
		if step.count(1) != nil {
			return nil
		}
		out[i].Positions = normalPositions(out[i].Positions)
	}
	return out
}

// normalPositions sorts positions, keeps the greatest weight of equal ones and
// cuts what is too much.
func normalPositions(ps []Position) []Position {
	slices.SortStableFunc(ps, func(a, b Position) int { return cmp.Compare(a.Pos, b.Pos) })
	out := ps[:0]
	for _, p := range ps {
		if n := len(out); n > 0 && out[n-1].Pos == p.Pos {
			out[n-1].Weight = max(out[n-1].Weight, p.Weight)
			continue
		}
		out = append(out, p)
	}
	if len(out) > MaxPositions {
		out = out[:MaxPositions]
	}
	return out
}

// Find returns the position of a word in v, or where it would be.
func (v Vector) Find(word string) (int, bool) {
	return slices.BinarySearchFunc(v, word, func(l Lexeme, w string) int { return strings.Compare(l.Word, w) })
}

func appendQuoted(b []byte, word string) []byte {
	b = append(b, '\'')
	for i := 0; i < len(word); i++ {
		if word[i] == '\'' || word[i] == '\\' {
			b = append(b, word[i])
		}
		b = append(b, word[i])
	}
	return append(b, '\'')
}

// String prints v.
func (v Vector) String() string {
	var b []byte
	for i, l := range v {
		if i > 0 {
			b = append(b, ' ')
		}
		b = appendQuoted(b, l.Word)
		for j, p := range l.Positions {
			b = append(b, ":,"[min(j, 1)])
			b = strconv.AppendUint(b, uint64(p.Pos), 10)
			if p.Weight != WeightD {
				b = append(b, p.Weight.Letter())
			}
		}
	}
	return string(b)
}

// scanner reads words of vectors and queries.
type scanner struct {
	all, s string
	what   string // for messages
	step   Step
}

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

func (r *scanner) skip() {
	for r.s != "" && isSpace(r.s[0]) {
		r.s = r.s[1:]
	}
}

func (r *scanner) errSyntax() error {
	return pgerr.New(pgerr.SyntaxError, "syntax error in %s: \"%s\"", r.what, r.all)
}

// word reads a bare or quoted word; stops are the bytes that end a bare one.
func (r *scanner) word(stops string) (string, error) {
	if r.s != "" && r.s[0] == '\'' {
		return r.quoted()
	}
	var w wordBytes
	i := 0
	for ; i < len(r.s); i++ {
		if err := r.looks(i); err != nil {
			return "", err
		}
		c := r.s[i]
		if !endsNoWord(c) && (isSpace(c) || strings.IndexByte(stops, c) >= 0) {
			break
		}
		if c == '\\' {
			if i++; i == len(r.s) {
				return "", pgerr.New(pgerr.SyntaxError, "there is no escaped character: \"%s\"", r.all)
			}
			c = r.s[i]
		}
		w.add(c)
	}
	if r.s = r.s[i:]; w.n == 0 {
		return "", r.errSyntax()
	}
	return w.text()
}

// bytesPerStep is how many bytes of a word are read between two steps.
const bytesPerStep = 64 << 10

// looks counts the bytes of a long word before byte i.
func (r *scanner) looks(i int) error {
	if i%bytesPerStep != bytesPerStep-1 {
		return nil
	}
	return r.step.count(bytesPerStep)
}

// endsNoWord reports whether a byte certainly ends no word.
func endsNoWord(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= 0x80 }

// wordBytes are those of a word that is read: of one that is too long, as many as one may have.
type wordBytes struct {
	b []byte
	n int
}

func (w *wordBytes) add(c byte) {
	if w.n++; w.n <= MaxWordLen {
		w.b = append(w.b, c)
	}
}

func (w *wordBytes) text() (string, error) {
	if w.n > MaxWordLen {
		return "", pgerr.New(pgerr.ProgramLimitExceeded, "word is too long (%d bytes, max %d bytes)", w.n, MaxWordLen)
	}
	return string(w.b), nil
}

func (r *scanner) quoted() (string, error) {
	var w wordBytes
	for i := 1; i < len(r.s); i++ {
		if err := r.looks(i); err != nil {
			return "", err
		}
		c := r.s[i]
		switch {
		case c == '\'' && strings.HasPrefix(r.s[i+1:], "'"):
			i++
			w.add(c)
		case c == '\'':
			r.s = r.s[i+1:]
			if w.n == 0 {
				return "", r.errSyntax()
			}
			return w.text()
		case c == '\\' && i+1 < len(r.s):
			i++
			w.add(r.s[i])
		default:
			w.add(c)
		}
	}
	return "", r.errSyntax()
}

// ParseVector reads the text form of a vector.
func ParseVector(s string, step Step) (Vector, error) {
	r := scanner{all: s, s: s, what: "tsvector", step: step}
	var v Vector
	for r.skip(); r.s != ""; r.skip() {
		if err := step.count(1); err != nil {
			return nil, err
		}
		w, err := r.word(":")
		if err != nil {
			return nil, err
		}
		l := Lexeme{Word: w}
		if strings.HasPrefix(r.s, ":") {
			r.s = r.s[1:]
			if l.Positions, err = r.positions(); err != nil {
				return nil, err
			}
		}
		if v = append(v, l); len(v) > MaxVectorLexemes {
			return nil, errTooManyLexemes()
		}
	}
	return Normal(v, step), step.count(0)
}

func errTooManyLexemes() error {
	return pgerr.New(pgerr.ProgramLimitExceeded, "a tsvector holds %d lexemes at most", MaxVectorLexemes)
}

// positions reads 1,2A,3B*.
func (r *scanner) positions() ([]Position, error) {
	var out []Position
	for {
		n, digits := 0, 0
		for digits < len(r.s) && r.s[digits] >= '0' && r.s[digits] <= '9' {
			n = min(n*10+int(r.s[digits]-'0'), MaxPosition)
			digits++
		}
		if digits == 0 {
			return nil, r.errSyntax()
		}
		if n == 0 {
			return nil, pgerr.New(pgerr.SyntaxError, "wrong position info in tsvector: \"%s\"", r.all)
		}
		r.s = r.s[digits:]
		p := Position{Pos: uint16(n)}
		var err error
		if p.Weight, err = r.weight(); err != nil {
			return nil, err
		}
		out = append(out, p)
		if r.s == "" || isSpace(r.s[0]) {
			return out, nil
		}
		if r.s[0] != ',' {
			return nil, r.errSyntax()
		}
		r.s = r.s[1:]
	}
}

// weight reads the letter of a weight, or * for A. D, which says nothing, may stand before another one.
func (r *scanner) weight() (Weight, error) {
	w := WeightD
	for r.s != "" {
		next, ok := ParseWeight(r.s[0])
		if r.s[0] == '*' {
			next, ok = WeightA, true
		}
		switch {
		case !ok:
			return w, nil
		case w != WeightD:
			return w, r.errSyntax()
		}
		w, r.s = next, r.s[1:]
	}
	return w, nil
}

// AppendBinary appends the binary form of v.
func (v Vector) AppendBinary(dst []byte) []byte {
	be := binary.BigEndian
	dst = be.AppendUint32(dst, uint32(len(v)))
	for _, l := range v {
		dst = append(append(dst, l.Word...), 0)
		dst = be.AppendUint16(dst, uint16(len(l.Positions)))
		for _, p := range l.Positions {
			dst = be.AppendUint16(dst, uint16(p.Weight)<<14|p.Pos)
		}
	}
	return dst
}

// decoder reads binary forms; after the first error it yields zeros.
type decoder struct {
	s   string
	bad bool
}

func (d *decoder) take(n int) string {
	if n > len(d.s) {
		d.bad, d.s = true, ""
		return strings.Repeat("\x00", n)
	}
	t := d.s[:n]
	d.s = d.s[n:]
	return t
}

func (d *decoder) u8() byte { return d.take(1)[0] }

func (d *decoder) u16() uint16 { b := d.take(2); return uint16(b[0])<<8 | uint16(b[1]) }

func (d *decoder) u32() uint32 { return uint32(d.u16())<<16 | uint32(d.u16()) }

func (d *decoder) cstring() string {
	i := strings.IndexByte(d.s, 0)
	if i < 0 || i > MaxWordLen {
		d.bad, d.s = true, ""
		return ""
	}
	t := d.s[:i]
	d.s = d.s[i+1:]
	return t
}

func errBinary(what string) error {
	return pgerr.New(pgerr.InvalidBinaryRepresentation, "incorrect binary data format in %s", what)
}

// DecodeVector reads the binary form of a vector.
func DecodeVector(s string) (Vector, error) {
	d := decoder{s: s}
	n := d.u32()
	if n > MaxVectorLexemes {
		return nil, errBinary("tsvector")
	}
	var v Vector
	for range n {
		l := Lexeme{Word: d.cstring()}
		count := d.u16()
		if d.bad || count > MaxPositions || l.Word == "" || !validUTF8(l.Word) {
			return nil, errBinary("tsvector")
		}
		for range count {
			p := d.u16()
			if p&MaxPosition == 0 {
				return nil, errBinary("tsvector")
			}
			l.Positions = append(l.Positions, Position{Pos: p & MaxPosition, Weight: Weight(p >> 14)})
		}
		v = append(v, l)
	}
	if d.bad || d.s != "" {
		return nil, errBinary("tsvector")
	}
	return Normal(v, nil), nil
}

// Strip drops positions and weights.
func (v Vector) Strip() Vector {
	out := make(Vector, len(v))
	for i, l := range v {
		out[i].Word = l.Word
	}
	return out
}

// MaxPos returns the greatest position in v.
func (v Vector) MaxPos() int {
	m := 0
	for _, l := range v {
		if n := len(l.Positions); n > 0 {
			m = max(m, int(l.Positions[n-1].Pos))
		}
	}
	return m
}

// Concat puts b after a: its positions are counted on from a's last.
func Concat(a, b Vector, step Step) Vector {
	shift := a.MaxPos()
	out := make(Vector, 0, len(a)+len(b))
	for _, l := range a {
		l.Positions = slices.Clone(l.Positions)
		out = append(out, l)
	}
	for _, l := range b {
		ps := make([]Position, 0, len(l.Positions))
		for _, p := range l.Positions {
			p.Pos = uint16(min(int(p.Pos)+shift, MaxPosition))
			ps = append(ps, p)
		}
		out = append(out, Lexeme{l.Word, ps})
	}
	return Normal(out, step)
}

// SetWeight gives every position, or those of the given words, a weight.
func (v Vector) SetWeight(w Weight, words map[string]bool) Vector {
	out := make(Vector, len(v))
	for i, l := range v {
		out[i] = Lexeme{l.Word, slices.Clone(l.Positions)}
		if words != nil && !words[l.Word] {
			continue
		}
		for j := range out[i].Positions {
			out[i].Positions[j].Weight = w
		}
	}
	return out
}

// Filter keeps the positions of the given weights, and the lexemes that have one.
func (v Vector) Filter(mask uint8) Vector {
	var out Vector
	for _, l := range v {
		var ps []Position
		for _, p := range l.Positions {
			if mask&(1<<p.Weight) != 0 {
				ps = append(ps, p)
			}
		}
		if len(ps) > 0 {
			out = append(out, Lexeme{l.Word, ps})
		}
	}
	return out
}
