package copyfmt

import (
	"bytes"
	"errors"
	"io"
	"slices"

	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// MaxLine bounds a line of COPY FROM, in bytes.
const MaxLine = 256 << 20

// lineEnd is how the lines of the data end: the first line decides.
type lineEnd uint8

const (
	endUnknown lineEnd = iota
	endNL
	endCR
	endCRNL
)

// lineReader cuts chunks into lines. Quoted newlines do not end a csv line.
type lineReader struct {
	o    *Options
	next func() ([]byte, error)
	// rest is what of the chunks has not been read; it lies in the last chunk or
	// in buf, which joins chunks when a line crosses them.
	rest []byte
	buf  []byte
	mem  quota.Account // of buf, and of what is made of a line that lies there
	// eof says that next has nothing more, done that no line follows.
	eof    bool
	done   bool
	end    lineEnd
	number int // of the current line, as PostgreSQL counts
	// special says that the current line holds backslashes (text) or quotes (csv).
	special bool
}

// line returns the next line without its end; false after the last one. It is
// valid until the next call.
func (l *lineReader) line() ([]byte, bool, error) {
	l.number++
	if l.done {
		return nil, false, nil
	}
	if line, ok := l.plainLine(); ok {
		return line, true, nil
	}
	l.special = true
	s := lineScan{lineReader: l}
	line, err := s.scan()
	if err == nil {
		err = l.interpret(line)
	}
	if err != nil {
		return nil, false, err
	}
	return line, !l.done || len(line) > 0, nil
}

// plainLine handles the usual line: one that lies within the chunk, ends with a
// newline and has nothing to be interpreted.
func (l *lineReader) plainLine() ([]byte, bool) {
	if l.end > endNL {
		return nil, false
	}
	i := bytes.IndexByte(l.rest, '\n')
	if i < 0 {
		return nil, false
	}
	line := l.rest[:i]
	if bytes.IndexByte(line, '\r') >= 0 {
		return nil, false
	}
	if l.o.csv {
		if bytes.IndexByte(line, l.o.quoteChar) >= 0 || len(line) > 0 && line[0] == '\\' {
			return nil, false
		}
	} else if bytes.IndexByte(line, '\\') >= 0 {
		return nil, false
	}
	l.end, l.special = endNL, false
	l.rest = l.rest[i+1:]
	return line, true
}

// fill appends the next chunk to rest, or sets eof.
func (l *lineReader) fill() error {
	if len(l.rest) > MaxLine {
		return pgerr.New(pgerr.ProgramLimitExceeded, "a line of COPY data is longer than %d bytes", MaxLine)
	}
	if err := l.keepRest(); err != nil {
		return err
	}
	chunk, err := l.next()
	switch {
	case errors.Is(err, io.EOF):
		l.eof = true
		return nil
	case err != nil:
		return err
	}
	if len(l.rest) == 0 {
		l.rest = chunk
		return nil
	}
	if err := l.room(len(l.buf) + len(chunk)); err != nil {
		return err
	}
	l.buf = append(l.buf, chunk...)
	l.rest = l.buf
	return nil
}

// keepRest has rest lie at the beginning of buf, since the chunk goes away. A long line, which
// comes in many chunks, lies there already: moving it each time would take quadratic time.
func (l *lineReader) keepRest() error {
	if len(l.rest) == 0 || len(l.buf) > 0 && &l.rest[0] == &l.buf[0] {
		return nil
	}
	if err := l.room(len(l.rest)); err != nil {
		return err
	}
	l.buf = append(l.buf[:0], l.rest...)
	l.rest = l.buf
	return nil
}

// interpret notes whether a line has something to be interpreted, and accounts for what is
// made of it then.
func (l *lineReader) interpret(line []byte) error {
	c := byte('\\')
	if l.o.csv {
		c = l.o.quoteChar
	}
	if l.special = bytes.IndexByte(line, c) >= 0; !l.special || len(line) < quota.LargeValue {
		return nil
	}
	if n := int64(cap(l.buf)+len(line)) - l.mem.Used(); n > 0 {
		return l.mem.Grow(n)
	}
	return nil
}

// growth is by which part of itself a long buffer grows.
const growth = 4

// room makes room for n bytes in buf, which counts against the memory of the statement.
func (l *lineReader) room(n int) error {
	if n <= cap(l.buf) {
		return nil
	}
	if n < quota.LargeValue {
		l.buf = slices.Grow(l.buf, n-len(l.buf))
		return nil
	}
	size, held := n+cap(l.buf)/growth, l.mem.Used()
	if err := l.mem.Grow(int64(size)); err != nil {
		return err
	}
	l.buf = append(make([]byte, 0, size), l.buf...)
	l.mem.Shrink(held)
	return nil
}

// drain reads the data to its end and throws it away.
func (l *lineReader) drain() error {
	for !l.eof {
		l.rest = nil
		if err := l.fill(); err != nil {
			return err
		}
	}
	l.rest = nil
	return nil
}

// lineScan looks for the end of one line byte by byte.
type lineScan struct {
	*lineReader
	pos     int // in rest
	inQuote bool
	escaped bool // the byte before is an escape within quotes
}

// peek returns the byte n places after pos; ok is false behind the end of data.
func (s *lineScan) peek(n int) (c byte, ok bool, err error) {
	for s.pos+n >= len(s.rest) {
		if s.eof {
			return 0, false, nil
		}
		if err := s.fill(); err != nil {
			return 0, false, err
		}
	}
	return s.rest[s.pos+n], true, nil
}

// take ends the line at pos and skips the n bytes of its end.
func (s *lineScan) take(n int, end lineEnd) []byte {
	line := s.rest[:s.pos]
	s.rest = s.rest[s.pos+n:]
	s.end = end
	return line
}

func (s *lineScan) scan() ([]byte, error) {
	for {
		c, ok, err := s.peek(0)
		if err != nil {
			return nil, err
		}
		if !ok {
			s.done = true
			return s.take(0, s.end), nil
		}
		if s.o.csv {
			s.quotes(c)
		}
		switch {
		case c == '\r' && !s.inQuote:
			return s.carriageReturn()
		case c == '\n' && !s.inQuote:
			if s.end == endCR || s.end == endCRNL {
				return nil, s.badEnd("newline", "n")
			}
			return s.take(1, endNL), nil
		case c == '\\' && (!s.o.csv || s.pos == 0):
			line, found, err := s.backslash()
			if found || err != nil {
				return line, err
			}
		default:
			s.pos++
		}
	}
}

// quotes keeps track of quoting. Where quote and escape differ, an escape counts
// within quotes only, and not when it is itself escaped.
func (s *lineScan) quotes(c byte) {
	quote, escape := s.o.quoteChar, s.o.escapeChar
	distinct := quote != escape
	if distinct && s.inQuote && c == escape {
		s.escaped = !s.escaped
	}
	if c == quote && !s.escaped {
		s.inQuote = !s.inQuote
	}
	if !distinct || c != escape {
		s.escaped = false
	}
	eol := byte('\r')
	if s.end == endNL {
		eol = '\n'
	}
	if s.inQuote && c == eol {
		s.number++
	}
}

func (s *lineScan) carriageReturn() ([]byte, error) {
	if s.end == endNL {
		return nil, s.badEnd("carriage return", "r")
	}
	if s.end == endCR {
		return s.take(1, endCR), nil
	}
	next, _, err := s.peek(1)
	switch {
	case err != nil:
		return nil, err
	case next == '\n':
		return s.take(2, endCRNL), nil
	case s.end == endCRNL:
		return nil, s.badEnd("carriage return", "r")
	}
	return s.take(1, endCR), nil
}

func (s *lineScan) badEnd(what, letter string) error {
	if s.o.csv {
		return pgerr.New(pgerr.BadCopyFileFormat, "unquoted %s found in data", what).
			WithHint("Use quoted CSV field to represent %s.", what)
	}
	return pgerr.New(pgerr.BadCopyFileFormat, "literal %s found in data", what).
		WithHint("Use \"\\%s\" to represent %s.", letter, what)
}

// backslash handles a backslash at pos: in the text format it takes the meaning
// off the next byte, and \. alone ends the data.
func (s *lineScan) backslash() (line []byte, found bool, err error) {
	next, ok, err := s.peek(1)
	if err != nil {
		return nil, false, err
	}
	if ok && next == '.' {
		end, err := s.endMarker()
		if err != nil {
			return nil, false, err
		}
		if end {
			line := s.take(0, s.end)
			s.done = true
			// The line may lie in the chunk that drain replaces.
			s.buf = append(s.buf[:0], line...)
			return s.buf, true, s.drain()
		}
	}
	s.pos++
	if ok && !s.o.csv {
		s.pos++
	}
	return nil, false, nil
}

// endMarker checks what follows \. at pos: it must end the line as the lines
// before did. In csv it may also be data.
func (s *lineScan) endMarker() (bool, error) {
	at := 2
	if s.end == endCRNL {
		c, _, err := s.peek(at)
		switch {
		case err != nil:
			return false, err
		case c == '\n' && !s.o.csv:
			return false, errMarkerStyle()
		case c != '\r' && !s.o.csv:
			return false, errMarkerCorrupt()
		case c != '\r':
			return false, nil
		}
		at++
	}
	c, _, err := s.peek(at)
	switch {
	case err != nil:
		return false, err
	case c != '\r' && c != '\n' && !s.o.csv:
		return false, errMarkerCorrupt()
	case c != '\r' && c != '\n':
		return false, nil
	case s.end == endCR && c != '\r', (s.end == endNL || s.end == endCRNL) && c != '\n':
		return false, errMarkerStyle()
	}
	return true, nil
}

func errMarkerStyle() error {
	return pgerr.New(pgerr.BadCopyFileFormat, "end-of-copy marker does not match previous newline style")
}

func errMarkerCorrupt() error {
	return pgerr.New(pgerr.BadCopyFileFormat, "end-of-copy marker corrupt")
}
