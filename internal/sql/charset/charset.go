package charset

import (
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"
	"unsafe"

	"golang.org/x/text/encoding"

	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Encoding is an encoding of PostgreSQL. It may be used by many goroutines.
type Encoding struct {
	Name string
	// ID is the number by which PostgreSQL knows it.
	ID int

	definition
}

type registry struct {
	byID   []*Encoding
	byName map[string]*Encoding
}

var all = sync.OnceValue(func() *registry {
	r := &registry{byName: map[string]*Encoding{}}
	for id, d := range definitions() {
		e := &Encoding{Name: d.name, ID: id, definition: d}
		r.byID = append(r.byID, e)
		r.byName[clean(d.name)] = e
		for _, a := range strings.Fields(d.aliases) {
			r.byName[a] = e
		}
	}
	return r
})

// Find returns the encoding of a name, in any of its spellings; nil if there is none.
func Find(name string) *Encoding { return all().byName[clean(name)] }

// ByID returns the encoding of a number; nil if there is none.
func ByID(id int) *Encoding {
	if id < 0 || id >= len(all().byID) {
		return nil
	}
	return all().byID[id]
}

// Longest is how many bytes a character has at most.
func (e *Encoding) Longest() int { return e.longest }

// Plain reports whether text in the encoding is kept as it is: UTF8, and SQL_ASCII, which
// says nothing about its bytes.
func (e *Encoding) Plain() bool { return e.ID == utf8ID || e.ID == sqlASCII }

// ClientOnly reports whether no database can have the encoding: a byte of ASCII may be part
// of another character in it.
func (e *Encoding) ClientOnly() bool { return e.ID >= firstClientOnly }

// Supported reports whether text can be converted.
func (e *Encoding) Supported() bool { return e.Plain() || e.single != nil || e.multi != nil }

// Unsupported is the error of a conversion that there is not: 0A000.
func (e *Encoding) Unsupported() error {
	return pgerr.Unsupported("conversion between %s and UTF8 is not supported", e.Name)
}

// Decode appends text, which is in the encoding, to dst as UTF8. It fails with 22021 if the
// bytes are no text, with 22P05 if Unicode has no such character, and with the error of fc once
// the statement is cancelled; fc may be nil.
func (e *Encoding) Decode(dst, text []byte, fc *types.FormatContext) ([]byte, error) {
	switch {
	case e.Plain():
		return append(dst, text...), types.VerifyUTF8(unsafe.String(unsafe.SliceData(text), len(text)), fc)
	case e.single != nil:
		return inPieces(dst, text, fc, e.Whole, e.decodeSingle)
	case e.multi != nil:
		return inPieces(dst, text, fc, e.Whole, e.decodeMulti)
	}
	return dst, e.Unsupported()
}

// DecodeString is Decode of a string.
func (e *Encoding) DecodeString(s string, fc *types.FormatContext) (string, error) {
	b, err := e.Decode(nil, []byte(s), fc)
	return unsafe.String(unsafe.SliceData(b), len(b)), err
}

// EncodeString is Encode of a string.
func (e *Encoding) EncodeString(s string, fc *types.FormatContext) (string, error) {
	b, err := e.Encode(nil, []byte(s), fc)
	return unsafe.String(unsafe.SliceData(b), len(b)), err
}

// inPieces converts text piece by piece, between which it counts steps; whole returns how much
// of a piece are whole characters.
func inPieces(dst, text []byte, fc *types.FormatContext, whole func([]byte) int, convert func(dst, text []byte) ([]byte, error)) ([]byte, error) {
	for len(text) > types.StepBytes {
		n := whole(text[:types.StepBytes])
		var err error
		if dst, err = convert(dst, text[:n]); err != nil {
			return dst, err
		}
		text = text[n:]
		if err := fc.CountSteps(n); err != nil {
			return dst, err
		}
	}
	return convert(dst, text)
}

// wholeRunes returns how much of UTF8 comes before its last character.
func wholeRunes(text []byte) int {
	n := len(text) - 1
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return n
}

func (e *Encoding) decodeSingle(dst, text []byte) ([]byte, error) {
	for i, b := range text {
		switch r := e.char(b); {
		case b == 0:
			return dst, e.invalid(text[i : i+1])
		case r == utf8.RuneError:
			return dst, e.unknown(text[i : i+1])
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return dst, nil
}

// char returns the character of a byte of a one-byte encoding, utf8.RuneError if there is none.
func (e *Encoding) char(b byte) rune {
	switch {
	case b < utf8.RuneSelf, e.iso && b < 0xa0:
		return rune(b)
	case strings.IndexByte(e.holes, b) >= 0:
		return utf8.RuneError
	}
	if r, ok := e.other[b]; ok {
		return r
	}
	return e.single.DecodeByte(b)
}

// byteOf is the reverse of char; false if there is none.
func (e *Encoding) byteOf(r rune) (byte, bool) {
	if e.iso && r < 0xa0 {
		return byte(r), true
	}
	for b, o := range e.other {
		if o == r {
			return b, true
		}
	}
	b, ok := e.single.EncodeRune(r)
	return b, ok && e.char(b) == r
}

func (e *Encoding) decodeMulti(dst, text []byte) ([]byte, error) {
	d := e.multi.NewDecoder()
	for len(text) > 0 {
		if text[0] < utf8.RuneSelf && text[0] != 0 {
			dst, text = append(dst, text[0]), text[1:]
			continue
		}
		n, ok := e.cut(text)
		if !ok || text[0] == 0 {
			return dst, e.invalid(text[:min(n, len(text))])
		}
		r := e.multiChar(d, text[:n])
		if r == utf8.RuneError {
			return dst, e.unknown(text[:n])
		}
		dst, text = utf8.AppendRune(dst, r), text[n:]
	}
	return dst, nil
}

// multiChar returns the character of some bytes, utf8.RuneError if there is none.
func (e *Encoding) multiChar(d *encoding.Decoder, char []byte) rune {
	if e.beyond != nil && len(char) == 2 && e.beyond(char) {
		return utf8.RuneError
	}
	var buf [2 * utf8.UTFMax]byte
	d.Reset()
	n, in, err := d.Transform(buf[:], char, true)
	r, size := utf8.DecodeRune(buf[:n])
	if err != nil || in != len(char) || size != n {
		return utf8.RuneError
	}
	return r
}

// Whole returns how much of text, the beginning of more, consists of whole characters.
func (e *Encoding) Whole(text []byte) int {
	if e.multi == nil {
		return len(text)
	}
	at := 0
	for at < len(text) {
		n, _ := e.cut(text[at:])
		if n > len(text)-at || e.longest > 2 && text[at] >= utf8.RuneSelf && len(text)-at < e.longest {
			break // the next bytes may be part of it
		}
		at += n
	}
	return at
}

// Encode appends text, which is UTF8, to dst in the encoding. It fails with 22P05 if that
// does not have a character, and as Decode does once the statement is cancelled.
func (e *Encoding) Encode(dst, text []byte, fc *types.FormatContext) ([]byte, error) {
	if e.Plain() {
		return append(dst, text...), nil
	}
	if !e.Supported() {
		return dst, e.Unsupported()
	}
	return inPieces(dst, text, fc, wholeRunes, func(dst, text []byte) ([]byte, error) { return e.encode(dst, text, nil) })
}

// EncodeLossy is Encode that puts a question mark in the place of what the encoding does not
// have.
func (e *Encoding) EncodeLossy(dst, text []byte) []byte {
	if e.Plain() || !e.Supported() {
		return append(dst, text...)
	}
	dst, _ = e.encode(dst, text, []byte("?")) // nothing fails
	return dst
}

func (e *Encoding) encode(dst, text, instead []byte) ([]byte, error) {
	var both coder
	for len(text) > 0 {
		if text[0] < utf8.RuneSelf {
			dst, text = append(dst, text[0]), text[1:]
			continue
		}
		r, n := utf8.DecodeRune(text)
		out, ok := e.appendChar(dst, r, &both)
		switch {
		case ok:
			dst = out
		case instead != nil:
			dst = append(dst, instead...)
		default:
			return dst, pgerr.New(pgerr.UntranslatableCharacter,
				"character with byte sequence %s in encoding \"UTF8\" has no equivalent in encoding \"%s\"", hex(text[:n]), e.Name)
		}
		text = text[n:]
	}
	return dst, nil
}

// coder converts both ways.
type coder struct {
	encoder *encoding.Encoder
	decoder *encoding.Decoder
}

// appendChar appends one character; false if the encoding does not have it: tables may have
// more than that, and what does not come back.
func (e *Encoding) appendChar(dst []byte, r rune, both *coder) ([]byte, bool) {
	if e.single != nil {
		b, ok := e.byteOf(r)
		return append(dst, b), ok
	}
	if r == utf8.RuneError {
		return dst, false
	}
	if both.encoder == nil {
		*both = coder{e.multi.NewEncoder(), e.multi.NewDecoder()}
	}
	var char [utf8.UTFMax]byte
	var out [8]byte
	both.encoder.Reset()
	n, _, err := both.encoder.Transform(out[:], utf8.AppendRune(char[:0], r), true)
	if err != nil {
		return dst, false
	}
	size, ok := e.cut(out[:n])
	if !ok || size != n || e.multiChar(both.decoder, out[:n]) != r {
		return dst, false
	}
	return append(dst, out[:n]...), true
}

// Length returns how many characters s has, which is in the encoding. Its pieces count as
// steps of fc.
func (e *Encoding) Length(s string, fc *types.FormatContext) (int64, error) {
	u, err := e.DecodeString(s, fc)
	return int64(utf8.RuneCountInString(u)), err
}

func (e *Encoding) invalid(char []byte) error {
	return pgerr.New(pgerr.CharacterNotInRepertoire, "invalid byte sequence for encoding \"%s\": %s", e.Name, hex(char))
}

func (e *Encoding) unknown(char []byte) error {
	return pgerr.New(pgerr.UntranslatableCharacter,
		"character with byte sequence %s in encoding \"%s\" has no equivalent in encoding \"UTF8\"", hex(char), e.Name)
}

func hex(b []byte) string { return fmt.Sprintf("% #x", b) }
