package copyfmt

import (
	"bytes"
	"slices"

	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
)

// field is one value of a line, unquoted and unescaped.
type field struct {
	val  []byte
	null bool // val, as it stood in the line, is the NULL text
}

// fieldSplitter splits lines into fields.
type fieldSplitter struct {
	o  *Options
	fc *types.FormatContext // may be nil
	// fields are those of the current line, at most limit; count is how many there
	// were.
	fields []field
	count  int
	limit  int
	// scratch holds values that differ from the bytes in the line. It is as large
	// as the line before splitting begins, so that it does not move.
	scratch []byte
}

// split splits a line; plain says that it has no backslash (text) or quote (csv). Besides the
// line's errors it returns that of fc once the statement is cancelled.
func (s *fieldSplitter) split(line []byte, plain bool) error {
	s.fields, s.count = s.fields[:0], 0
	if plain {
		s.splitPlain(line)
		return nil
	}
	s.scratch = slices.Grow(s.scratch[:0], len(line))
	if s.o.csv {
		return s.splitCSV(line)
	}
	return s.splitText(line)
}

func (s *fieldSplitter) add(raw, val []byte, quoted bool) {
	s.count++
	if len(s.fields) < s.limit {
		s.fields = append(s.fields, field{val: val, null: !quoted && string(raw) == s.o.nullText})
	}
}

func (s *fieldSplitter) splitPlain(line []byte) {
	for {
		i := bytes.IndexByte(line, s.o.delim)
		if i < 0 {
			s.add(line, line, false)
			return
		}
		s.add(line[:i], line[:i], false)
		line = line[i+1:]
	}
}

func (s *fieldSplitter) splitText(line []byte) error {
	size, pace := len(line), s.fc.Pace()
	for more := true; more; {
		i, escaped := 0, false
		for i < len(line) && line[i] != s.o.delim {
			if pace.Stopped(size - len(line) + i) {
				return s.fc.CountSteps(0)
			}
			if line[i] == '\\' {
				escaped = true
				if i++; i == len(line) {
					break
				}
			}
			i++
		}
		raw := line[:i]
		if more = i < len(line); more {
			line = line[i+1:]
		}
		val := raw
		if escaped && string(raw) != s.o.nullText {
			var err error
			if val, err = s.unescape(raw); err != nil {
				return err
			}
		}
		s.add(trimLoneBackslash(raw, more), val, false)
	}
	return nil
}

// trimLoneBackslash cuts a backslash at the end of the line that escapes
// nothing: it does not count when the field is compared with the NULL text.
func trimLoneBackslash(raw []byte, more bool) []byte {
	if more {
		return raw
	}
	n := 0
	for n < len(raw) && raw[len(raw)-1-n] == '\\' {
		n++
	}
	if n%2 == 1 {
		return raw[:len(raw)-1]
	}
	return raw
}

// unescape resolves the backslash sequences of a field.
func (s *fieldSplitter) unescape(raw []byte) ([]byte, error) {
	start, binary := len(s.scratch), false
	out, pace := s.scratch, s.fc.Pace()
	for i := 0; i < len(raw); {
		if pace.Stopped(i) {
			return nil, s.fc.CountSteps(0)
		}
		c := raw[i]
		i++
		if c != '\\' {
			out = append(out, c)
			continue
		}
		if i == len(raw) {
			break
		}
		c = raw[i]
		i++
		switch {
		case c >= '0' && c <= '7':
			v := int(c - '0')
			for n := 1; n < 3 && i < len(raw) && raw[i] >= '0' && raw[i] <= '7'; n++ {
				v = v<<3 | int(raw[i]-'0')
				i++
			}
			c = byte(v)
			binary = binary || c == 0 || c >= 0x80
		case c == 'x' && i < len(raw) && hexDigit(raw[i]) >= 0:
			v := hexDigit(raw[i])
			i++
			if i < len(raw) && hexDigit(raw[i]) >= 0 {
				v = v<<4 | hexDigit(raw[i])
				i++
			}
			c = byte(v)
			binary = binary || c == 0 || c >= 0x80
		default:
			if n := bytes.IndexByte(controlLetters, c); n >= 0 {
				c = controls[n]
			}
		}
		out = append(out, c)
	}
	s.scratch = out
	val := out[start:]
	if binary {
		return val, types.VerifyUTF8(string(val), s.fc)
	}
	return val, nil
}

func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

func (s *fieldSplitter) splitCSV(line []byte) error {
	for more := true; more; {
		if i := bytes.IndexByte(line, s.o.delim); i >= 0 && bytes.IndexByte(line[:i], s.o.quoteChar) < 0 {
			s.add(line[:i], line[:i], false)
			line = line[i+1:]
			continue
		}
		n, err := s.csvField(line)
		if err != nil {
			return err
		}
		if more = n < len(line); more {
			line = line[n+1:]
		}
	}
	return nil
}

// csvField adds the field at the start of line and returns where it ends.
func (s *fieldSplitter) csvField(line []byte) (int, error) {
	start, quoted, inQuote := len(s.scratch), false, false
	out, pace := s.scratch, s.fc.Pace()
	i := 0
	for ; i < len(line); i++ {
		if pace.Stopped(i) {
			return 0, s.fc.CountSteps(0)
		}
		c := line[i]
		switch {
		case !inQuote && c == s.o.delim:
			s.scratch = out
			s.add(line[:i], out[start:], quoted)
			return i, nil
		case !inQuote && c == s.o.quoteChar:
			quoted, inQuote = true, true
			continue
		case inQuote && c == s.o.escapeChar && i+1 < len(line) &&
			(line[i+1] == s.o.escapeChar || line[i+1] == s.o.quoteChar):
			i++
			c = line[i]
		case inQuote && c == s.o.quoteChar:
			inQuote = false
			continue
		}
		out = append(out, c)
	}
	if inQuote {
		return 0, pgerr.New(pgerr.BadCopyFileFormat, "unterminated CSV quoted field")
	}
	s.scratch = out
	s.add(line, out[start:], quoted)
	return len(line), nil
}
