package types

import (
	"strings"
	"unicode/utf8"
	"unsafe"
)

// pieceBytes is how long the pieces of a Pieces are, about.
const pieceBytes = 1 << 20

// Pieces collects a long string. Unlike a strings.Builder it does not copy what it has when it grows, which
// takes a tenth of a second at a stretch for some hundred megabytes: a statement that is cancelled would wait
// for it. Once the statement is cancelled, it drops what it gets. The zero value collects without counting steps.
type Pieces struct {
	fc   *FormatContext
	full []string
	size int // of full
	tail []byte
	// stopped says that the statement is cancelled.
	stopped bool
}

// NewPieces returns an empty Pieces that counts its steps with fc.
func NewPieces(fc *FormatContext) Pieces { return Pieces{fc: fc} }

// Len returns how many bytes there are.
func (p *Pieces) Len() int { return p.size + len(p.tail) }

// Tail returns a buffer to append to, SetTail takes what was appended. What is in the buffer before that
// stays as it is.
func (p *Pieces) Tail() []byte { return p.tail }

// SetTail takes back what Tail has given, with what was appended.
func (p *Pieces) SetTail(b []byte) {
	if p.tail = b; len(b) >= pieceBytes {
		p.cut()
	}
}

// cut begins a new piece.
func (p *Pieces) cut() {
	if p.stopped = p.stopped || p.fc.Stopped(len(p.tail)); p.stopped {
		p.tail = p.tail[:0]
		return
	}
	p.full, p.size = append(p.full, unsafe.String(unsafe.SliceData(p.tail), len(p.tail))), p.size+len(p.tail)
	p.tail = make([]byte, 0, pieceBytes+pieceBytes/16) // what is appended next may be a little longer
}

// Append appends s.
func (p *Pieces) Append(s string) {
	for len(s) > pieceBytes && !p.stopped {
		p.tail = append(p.tail, s[:pieceBytes]...)
		s = s[pieceBytes:]
		p.cut()
	}
	if !p.stopped {
		p.SetTail(append(p.tail, s...))
	}
}

// AppendByte appends a byte.
func (p *Pieces) AppendByte(b byte) { p.SetTail(append(p.tail, b)) }

// AppendRune appends a character.
func (p *Pieces) AppendRune(r rune) { p.SetTail(utf8.AppendRune(p.tail, r)) }

// Owned returns the bytes of b, which nobody changes any more, as a string. Only short ones are copied, so that
// what b has room for beside them is free again.
func Owned(b []byte) string {
	if len(b) < pieceBytes {
		return string(b)
	}
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// String returns what was collected, behind head.
func (p *Pieces) String() string { return p.behind("") }

// behind returns what was collected behind head.
func (p *Pieces) behind(head string) string {
	var b strings.Builder
	b.Grow(len(head) + p.Len())
	b.WriteString(head)
	for _, piece := range p.full {
		if p.stopped = p.stopped || p.fc.Stopped(len(piece)); p.stopped {
			break
		}
		b.WriteString(piece)
	}
	b.Write(p.tail)
	return b.String()
}
