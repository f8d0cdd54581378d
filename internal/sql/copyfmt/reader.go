package copyfmt

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// maxShown bounds how many bytes of the data an error shows.
const maxShown = 100

// Reader makes rows of the data of COPY FROM.
type Reader struct {
	// Table is named in the context of errors.
	Table string

	o      *Options
	cols   []column
	fc     *types.FormatContext
	lines  lineReader
	fields fieldSplitter
	begun  bool
	binary *binaryReader // of the binary format, nil otherwise
	// What an error is about: the line if it was read, and the column being parsed.
	line     []byte
	haveLine bool
	col      int // -1: none
	// places are those of the rows since Forget, shown the beginnings of their lines, one after another.
	places []place
	shown  []byte
}

// place is where a row stands in the data.
type place struct {
	number int // of its line
	end    int // of its line's beginning in Reader.shown
}

// column is a column to be read.
type column struct {
	name string
	typ  *types.T
	how  parseKind
	// forceNotNull and forceNull are the csv options of these names.
	forceNotNull, forceNull bool
}

// parseKind is how a value is made from bytes.
type parseKind uint8

const (
	// parseCopy: the type may keep the text (time zones and names are cached), so
	// it gets a copy.
	parseCopy parseKind = iota
	// parseShared: the datum may share memory with the line.
	parseShared
	// parseString: the text, already checked, is the value.
	parseString
)

// NewReader returns a reader of rows of the given columns; o must be validated.
// next returns the next chunk of data, which must stay intact until the
// following call, and io.EOF after the last.
func NewReader(o *Options, cols []plan.Column, fc *types.FormatContext, next func() ([]byte, error)) *Reader {
	if o.Encoding != nil && !o.binary {
		next = (&decoder{encoding: o.Encoding, fc: fc, next: next}).chunk
	}
	r := &Reader{
		o: o, fc: fc, col: -1, lines: lineReader{o: o, next: next},
		fields: fieldSplitter{o: o, fc: fc, limit: len(cols)},
	}
	if o.binary {
		r.binary = &binaryReader{fc: fc, bytes: byteReader{next: next}, encoding: o.Encoding}
	}
	for i := range cols {
		c := column{name: cols[i].Name, typ: cols[i].Type, how: kindOf(cols[i].Type)}
		c.forceNotNull = o.forceNotNull != nil && o.forceNotNull[i]
		c.forceNull = o.forceNull != nil && o.forceNull[i]
		r.cols = append(r.cols, c)
	}
	return r
}

func kindOf(t *types.T) parseKind {
	switch t.Oid {
	case types.Text.Oid, types.Varchar.Oid, types.Bpchar.Oid:
		return parseString
	}
	switch t.Family {
	case types.IntFamily:
		if !t.IsReg() {
			return parseShared
		}
	case types.BoolFamily, types.FloatFamily, types.DecimalFamily, types.StringFamily, types.BytesFamily,
		types.DateFamily, types.TimeFamily, types.TimestampFamily, types.UUIDFamily, types.JSONFamily:
		return parseShared
	}
	return parseCopy
}

// Limit has the memory that long lines take counted against a pool, until Close.
func (r *Reader) Limit(mem *quota.Pool) { r.lines.mem.Init(mem) }

// Close gives the memory back.
func (r *Reader) Close() { r.lines.mem.Close() }

// NextRow fills row, which has one element per column, and reports whether there
// was one more. The datums are valid until the next call.
func (r *Reader) NextRow(row []types.Datum) (bool, error) {
	var more bool
	var err error
	if r.binary != nil {
		more, err = r.nextBinary(row)
	} else {
		more, err = r.nextText(row)
	}
	if more && err == nil {
		r.keepPlace()
	}
	return more, err
}

// keepPlace remembers the place of the row that was read last.
func (r *Reader) keepPlace() {
	if r.binary != nil {
		r.places = append(r.places, place{number: r.binary.row})
		return
	}
	r.shown = append(r.shown, r.line[:min(len(r.line), maxShown+1)]...)
	r.places = append(r.places, place{number: r.lines.number, end: len(r.shown)})
}

// Forget forgets the places of the rows up to now.
func (r *Reader) Forget() { r.places, r.shown = r.places[:0], r.shown[:0] }

// FailedAt says that the n-th row since Forget, from 0, could not be stored: Locate adds its place. If
// NextRow has not returned so many rows, the error is about the one that it failed to read.
func (r *Reader) FailedAt(n int) {
	if n >= len(r.places) {
		return
	}
	r.col = -1
	at, start := r.places[n], 0
	if r.binary != nil {
		r.binary.row = at.number
		return
	}
	if n > 0 {
		start = r.places[n-1].end
	}
	r.lines.number, r.line, r.haveLine = at.number, r.shown[start:at.end], true
}

// Number returns the number of the line of the n-th row since Forget, from 0, or that of the row in the binary format.
func (r *Reader) Number(n int) int64 { return int64(r.places[n].number) }

// FailedAtNumber says that the row of that number could not be stored, or one that is not known if it is 0: Locate
// adds the number alone.
func (r *Reader) FailedAtNumber(number int64) {
	r.col, r.haveLine = -1, false
	if r.binary != nil {
		r.binary.row = int(number)
		return
	}
	r.lines.number = int(number)
}

// nextText is NextRow for the text and the csv format.
func (r *Reader) nextText(row []types.Datum) (bool, error) {
	if !r.begun {
		r.begun = true
		if more, err := r.header(); !more || err != nil {
			return false, err
		}
	}
	if more, err := r.readLine(); !more || err != nil {
		return false, err
	}
	if len(r.cols) == 0 {
		if len(r.line) > 0 {
			return false, errExtraData()
		}
		return true, nil
	}
	if err := r.fields.split(r.line, !r.lines.special); err != nil {
		return false, err
	}
	if r.fields.count > len(r.cols) {
		return false, errExtraData()
	}
	for i := range r.cols {
		if i >= r.fields.count {
			r.col = -1
			return false, pgerr.New(pgerr.BadCopyFileFormat, "missing data for column \"%s\"", r.cols[i].name)
		}
		r.col = i
		var err error
		if row[i], err = r.value(&r.cols[i], &r.fields.fields[i]); err != nil {
			return false, err
		}
	}
	r.col = -1
	return true, nil
}

func errExtraData() error {
	return pgerr.New(pgerr.BadCopyFileFormat, "extra data after last expected column")
}

// readLine reads the next line and checks that it is text.
func (r *Reader) readLine() (bool, error) {
	r.haveLine = false
	line, more, err := r.lines.line()
	if !more || err != nil {
		return false, err
	}
	if err := types.VerifyUTF8(shared(line), r.fc); err != nil {
		return false, err
	}
	r.line, r.haveLine = line, true
	return true, nil
}

func (r *Reader) value(c *column, f *field) (types.Datum, error) {
	if r.o.csv {
		switch {
		case f.null && c.forceNotNull:
			f.null = false
		case c.forceNull && string(f.val) == r.o.nullText:
			f.null = true
		}
	}
	if f.null {
		return types.Null, nil
	}
	switch c.how {
	case parseString:
		d := types.NewString(shared(f.val))
		if c.typ.Typmod >= 0 {
			return types.ApplyTypmod(d, c.typ, false, nil)
		}
		return d, nil
	case parseShared:
		return typeio.ParseText(c.typ, shared(f.val), r.fc)
	}
	return typeio.ParseText(c.typ, string(f.val), r.fc)
}

// shared returns b as a string without copying: see invariant C4.
func shared(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// header reads the header line, if there is one.
func (r *Reader) header() (bool, error) {
	if r.o.headerMode == headerNone {
		return true, nil
	}
	more, err := r.readLine()
	if err != nil || r.o.headerMode != headerMatch {
		return more, err
	}
	if !more { // no data at all is an empty header
		r.line, r.haveLine = nil, true
	}
	if err := r.fields.split(r.line, !r.lines.special); err != nil {
		return false, err
	}
	if r.fields.count != len(r.cols) {
		return false, pgerr.New(pgerr.BadCopyFileFormat, "wrong number of fields in header line: got %d, expected %d",
			r.fields.count, len(r.cols))
	}
	for i, f := range r.fields.fields {
		name := r.cols[i].name
		if f.null {
			return false, pgerr.New(pgerr.BadCopyFileFormat,
				"column name mismatch in header line field %d: got null value (\"%s\"), expected \"%s\"", i+1, r.o.nullText, name)
		}
		if string(f.val) != name {
			return false, pgerr.New(pgerr.BadCopyFileFormat,
				"column name mismatch in header line field %d: got \"%s\", expected \"%s\"", i+1, f.val, name)
		}
	}
	return more, nil
}

// copyContext is what the context of an error in the data begins with.
const copyContext = "COPY "

// Locate adds where in the data it was met to an error of reading a row or of
// storing it. Errors that are not for the client stay as they are.
func (r *Reader) Locate(err error) error {
	var e *pgerr.Error
	if !errors.As(err, &e) || strings.Contains(e.Context, copyContext) {
		return err
	}
	return e.Within(r.context())
}

func (r *Reader) context() string {
	if r.binary != nil {
		return r.binaryContext()
	}
	at := fmt.Sprintf(copyContext+"%s, line %d", r.Table, r.lines.number)
	switch {
	case r.lines.number == 0:
		return copyContext + r.Table
	case r.haveLine && r.col >= 0 && r.fields.fields[r.col].null:
		return fmt.Sprintf("%s, column %s: null input", at, r.cols[r.col].name)
	case r.haveLine && r.col >= 0:
		return fmt.Sprintf("%s, column %s: \"%s\"", at, r.cols[r.col].name, clip(r.fields.fields[r.col].val))
	case r.haveLine:
		return fmt.Sprintf("%s: \"%s\"", at, clip(r.line))
	}
	return at
}

func clip(b []byte) string {
	if len(b) <= maxShown {
		return string(b)
	}
	n := maxShown
	for n > 0 && !utf8.RuneStart(b[n]) {
		n--
	}
	return string(b[:n]) + "..."
}
