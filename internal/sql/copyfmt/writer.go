package copyfmt

import (
	"bytes"

	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// Writer makes the lines of COPY TO.
type Writer struct {
	o    *Options
	cols []plan.Column
	fc   *types.FormatContext
	line []byte
	tmp  []byte
	out  []byte // the line in another encoding
	// special marks the bytes that can't stand in a line as they are.
	special [256]bool
}

// NewWriter returns a writer of rows of the given columns; o must be validated.
func NewWriter(o *Options, cols []plan.Column, fc *types.FormatContext) *Writer {
	w := &Writer{o: o, cols: cols, fc: fc}
	marks := "\b\f\n\r\t\v\\"
	if o.csv {
		marks = "\n\r" + string(rune(o.quoteChar))
	}
	for i := range len(marks) {
		w.special[marks[i]] = true
	}
	w.special[o.delim] = true
	if o.csv {
		w.special[o.quoteChar] = true
	}
	return w
}

// Header returns the header line, nil if there is none. It is valid until the
// next call.
func (w *Writer) Header() ([]byte, error) {
	if w.o.binary {
		return w.binaryHeader(), nil
	}
	if w.o.headerMode == headerNone {
		return nil, nil
	}
	w.line = w.line[:0]
	for i := range w.cols {
		w.delimit(i)
		start := len(w.line)
		w.line = append(w.line, w.cols[i].Name...)
		w.protect(start, false)
	}
	w.line = append(w.line, '\n')
	return w.encoded()
}

// encoded returns the line in the encoding of the data.
func (w *Writer) encoded() ([]byte, error) {
	if w.o.Encoding == nil {
		return w.line, nil
	}
	var err error
	w.out, err = w.o.Encoding.Encode(w.out[:0], w.line, w.fc)
	return w.out, err
}

// Row returns a row's line with its newline. It is valid until the next call. It fails
// with 22P05 if the encoding does not have a character.
func (w *Writer) Row(row []types.Datum) ([]byte, error) {
	if w.o.binary {
		return w.binaryRow(row)
	}
	w.line = w.line[:0]
	for i := range w.cols {
		w.delimit(i)
		if row[i].IsNull() {
			w.line = append(w.line, w.o.nullText...)
			continue
		}
		start := len(w.line)
		w.line = typeio.AppendText(w.line, w.cols[i].Type, row[i], w.fc)
		w.protect(start, w.o.forceQuote != nil && w.o.forceQuote[i])
	}
	w.line = append(w.line, '\n')
	if err := w.fc.CountSteps(0); err != nil { // the line may have been cut short
		return nil, err
	}
	return w.encoded()
}

func (w *Writer) delimit(col int) {
	if col > 0 {
		w.line = append(w.line, w.o.delim)
	}
}

// protect escapes or quotes the field that begins at start of the line, as far
// as it needs it.
func (w *Writer) protect(start int, force bool) {
	field := w.line[start:]
	plain, pace := true, w.fc.Pace()
	for i, c := range field {
		if pace.Stopped(i) {
			break
		}
		if w.special[c] {
			plain = false
			break
		}
	}
	if w.o.csv {
		if force || !plain || string(field) == w.o.nullText || len(w.cols) == 1 && string(field) == "\\." {
			w.quote(start)
		}
		return
	}
	if !plain {
		w.escape(start)
	}
}

func (w *Writer) quote(start int) {
	w.tmp = append(w.tmp[:0], w.line[start:]...)
	out := append(w.line[:start], w.o.quoteChar)
	pace := w.fc.Pace()
	for i, c := range w.tmp {
		if pace.Stopped(i) {
			break
		}
		if c == w.o.quoteChar || c == w.o.escapeChar {
			out = append(out, w.o.escapeChar)
		}
		out = append(out, c)
	}
	w.line = append(out, w.o.quoteChar)
}

func (w *Writer) escape(start int) {
	w.tmp = append(w.tmp[:0], w.line[start:]...)
	out := w.line[:start]
	pace := w.fc.Pace()
	for i, c := range w.tmp {
		if pace.Stopped(i) {
			break
		}
		if !w.special[c] {
			out = append(out, c)
			continue
		}
		if letter := bytes.IndexByte(controls, c); letter >= 0 {
			c = controlLetters[letter]
		}
		out = append(out, '\\', c)
	}
	w.line = out
}

// The control characters that the text format has letters for.
var (
	controls       = []byte("\b\f\n\r\t\v")
	controlLetters = []byte("bfnrtv")
)
