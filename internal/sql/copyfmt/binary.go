package copyfmt

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/lichendb/lichen/internal/sql/charset"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// binarySignature begins the binary format; flags and the length of an extension
// follow it.
const binarySignature = "PGCOPY\n\xff\r\n\x00"

const (
	// binaryTrailer is the field count that ends the data.
	binaryTrailer = -1
	// maxBinaryField bounds a field, as PostgreSQL's longest value does.
	maxBinaryField = 1 << 30
	// criticalFlags are those that a reader must understand, withOids the one that
	// PostgreSQL once did.
	criticalFlags = 0xffff0000
	withOids      = 1 << 16
)

// Binary reports whether the format is the binary one.
func (o *Options) Binary() bool { return o.binary }

// checkBinary refuses the options that only lines and texts have.
func (o *Options) checkBinary() error {
	switch {
	case o.delimiter.set:
		return pgerr.New(pgerr.SyntaxError, "cannot specify DELIMITER in BINARY mode")
	case o.null.set:
		return pgerr.New(pgerr.SyntaxError, "cannot specify NULL in BINARY mode")
	case o.headerMode != headerNone:
		return pgerr.Unsupported("cannot specify HEADER in BINARY mode")
	}
	return nil
}

// binaryHeader makes the beginning of the data: no flags, no extension.
func (w *Writer) binaryHeader() []byte {
	w.line = append(w.line[:0], binarySignature...)
	w.line = binary.BigEndian.AppendUint64(w.line, 0)
	return w.line
}

// binaryRow makes a row: the number of fields, and each with its length.
func (w *Writer) binaryRow(row []types.Datum) ([]byte, error) {
	be := binary.BigEndian
	w.line = be.AppendUint16(w.line[:0], uint16(len(w.cols)))
	for i := range w.cols {
		at := len(w.line)
		w.line = be.AppendUint32(w.line, 1<<32-1)
		if row[i].IsNull() {
			continue
		}
		d := row[i]
		if w.o.Encoding != nil {
			var err error
			if d, err = typeio.BinaryText(w.cols[i].Type, d, w.o.Encoding.EncodeString, w.fc); err != nil {
				return nil, err
			}
		}
		w.line = typeio.AppendBinary(w.line, w.cols[i].Type, d, w.fc)
		be.PutUint32(w.line[at:], uint32(len(w.line)-at-4))
	}
	return w.line, nil
}

// Trailer returns what ends the data, nil if nothing does.
func (w *Writer) Trailer() []byte {
	if !w.o.binary {
		return nil
	}
	return []byte{0xff, 0xff}
}

// byteReader reads bytes over the boundaries of the client's chunks.
type byteReader struct {
	next  func() ([]byte, error)
	chunk []byte
	buf   []byte // what did not lie in one chunk
}

// take returns the next n bytes, valid until the next call; io.EOF if there are none
// at all, io.ErrUnexpectedEOF if there are fewer.
func (r *byteReader) take(n int) ([]byte, error) {
	if len(r.chunk) >= n {
		b := r.chunk[:n]
		r.chunk = r.chunk[n:]
		return b, nil
	}
	r.buf = r.buf[:0]
	for {
		k := min(n-len(r.buf), len(r.chunk))
		r.buf = append(r.buf, r.chunk[:k]...)
		r.chunk = r.chunk[k:]
		if len(r.buf) == n {
			return r.buf, nil
		}
		var err error
		if r.chunk, err = r.next(); err != nil {
			if errors.Is(err, io.EOF) && len(r.buf) > 0 {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
}

func (r *byteReader) int32() (int32, error) {
	b, err := r.take(4)
	if err != nil {
		return 0, err
	}
	return int32(binary.BigEndian.Uint32(b)), nil
}

// binaryReader makes rows of the binary format.
type binaryReader struct {
	fc       *types.FormatContext
	encoding *charset.Encoding // of text; nil: it is UTF8
	bytes    byteReader
	row      int
	begun    bool
}

func badBinary(format string, args ...any) error {
	return pgerr.New(pgerr.BadCopyFileFormat, format, args...)
}

// unexpectedEnd turns the end of the data into an error for the client.
func unexpectedEnd(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return badBinary("unexpected EOF in COPY data")
	}
	return err
}

// header reads the beginning of the data.
func (b *binaryReader) header() error {
	sig, err := b.bytes.take(len(binarySignature))
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), err == nil && string(sig) != binarySignature:
		return badBinary("COPY file signature not recognized")
	case err != nil:
		return err
	}
	flags, err := b.bytes.int32()
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return badBinary("invalid COPY file header (missing flags)")
	case err != nil:
		return err
	case flags&withOids != 0:
		return badBinary("invalid COPY file header (WITH OIDS)")
	case uint32(flags)&criticalFlags != 0:
		return badBinary("unrecognized critical flags in COPY file header")
	}
	n, err := b.bytes.int32()
	if err == nil && n < 0 || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return badBinary("invalid COPY file header (missing length)")
	}
	for ; err == nil && n > 0; n-- {
		_, err = b.bytes.take(1)
	}
	if err != nil {
		return badBinary("invalid COPY file header (wrong length)")
	}
	return nil
}

// fields reads the number of fields of the next row; more is false at the end.
func (b *binaryReader) fields(want int) (more bool, err error) {
	p, err := b.bytes.take(2)
	switch {
	case errors.Is(err, io.EOF):
		return false, nil // PostgreSQL takes data without a trailer too
	case err != nil:
		return false, unexpectedEnd(err)
	}
	n := int(int16(binary.BigEndian.Uint16(p)))
	if n == binaryTrailer {
		switch _, err := b.bytes.take(1); {
		case err == nil:
			return false, badBinary("received copy data after EOF marker")
		case !errors.Is(err, io.EOF):
			return false, err
		}
		return false, nil
	}
	b.row++
	if n != want {
		return false, badBinary("row field count is %d, expected %d", n, want)
	}
	return true, nil
}

// value reads one field.
func (b *binaryReader) value(t *types.T) (types.Datum, error) {
	n, err := b.bytes.int32()
	switch {
	case err != nil:
		return types.Null, unexpectedEnd(err)
	case n == -1:
		return types.Null, nil
	case n < 0 || n >= maxBinaryField:
		return types.Null, badBinary("invalid field size")
	}
	p, err := b.bytes.take(int(n))
	if err != nil {
		return types.Null, unexpectedEnd(err)
	}
	var decode typeio.Converter
	if b.encoding != nil {
		decode = b.encoding.DecodeString
	}
	d, err := typeio.ParseBinaryText(t, p, decode, b.fc)
	if err == nil {
		err = types.CheckFields(t, d, b.fc)
	}
	return d, err
}

// nextBinary is NextRow for the binary format.
func (r *Reader) nextBinary(row []types.Datum) (bool, error) {
	b := r.binary
	if !b.begun {
		b.begun = true
		if err := b.header(); err != nil {
			return false, err
		}
	}
	r.col = -1
	if more, err := b.fields(len(r.cols)); !more || err != nil {
		return false, err
	}
	for i := range r.cols {
		r.col = i
		var err error
		if row[i], err = b.value(r.cols[i].typ); err != nil {
			return false, err
		}
	}
	r.col = -1
	return true, nil
}

func (r *Reader) binaryContext() string {
	if r.binary.row == 0 {
		return copyContext + r.Table
	}
	at := fmt.Sprintf(copyContext+"%s, line %d", r.Table, r.binary.row)
	if r.col >= 0 {
		at += ", column " + r.cols[r.col].name
	}
	return at
}
