package pgwire

import (
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strconv"

	"github.com/lichendb/lichen/internal/pgwire/wire"
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/types/typeio"
)

// maxRow bounds a DataRow, as PostgreSQL does.
const maxRow = 1<<30 - 1

// rowFormat is how the rows of a statement are sent: the encoding of each column,
// and RowDescription.
type rowFormat struct {
	enc   []encoder
	codes []int16 // as given by Bind; empty is all text
	desc  []byte
}

// encoder sends the values of a column.
type encoder struct {
	kind encoding
	typ  *types.T
}

type encoding uint8

const (
	encText    encoding = iota // typeio.AppendText
	encBinary                  // typeio.AppendBinary
	encRaw                     // the text or bytes of the datum as they are
	encIntText                 // decimal digits
	encInt2                    // big-endian
	encInt4
	encInt8
)

// newRowFormat makes the format of rows with the given columns and format codes:
// none for text, one for all columns or one for each.
func newRowFormat(cols []plan.Column, codes []int16) *rowFormat {
	f := &rowFormat{codes: slices.Clone(codes)}
	f.set(cols)
	return f
}

// set makes f the format of rows with the given columns, with the codes it has.
func (f *rowFormat) set(cols []plan.Column) {
	f.enc = f.enc[:0]
	for i := range cols {
		f.enc = append(f.enc, encoder{kind: encodingOf(cols[i].Type, f.code(i)), typ: cols[i].Type})
	}
	f.desc = f.appendDescription(f.desc[:0], cols)
}

func (f *rowFormat) code(col int) int16 {
	switch len(f.codes) {
	case 0:
		return formatText
	case 1:
		return f.codes[0]
	}
	return f.codes[col]
}

func (f *rowFormat) has(codes []int16) bool { return slices.Equal(f.codes, codes) }

func encodingOf(t *types.T, code int16) encoding {
	switch {
	case t.Family == types.StringFamily && t.Oid != types.Char.Oid:
		return encRaw
	case code == formatText && (t.IsInteger() || t.Is(types.Oid)):
		return encIntText
	case code == formatText && t.Family == types.JSONFamily:
		return encRaw
	case code == formatText:
		return encText
	case t.Family == types.BytesFamily:
		return encRaw
	case t.Family == types.IntFamily && t.Len() == 4:
		return encInt4
	case t.Is(types.Int2):
		return encInt2
	case t.Is(types.Int8):
		return encInt8
	}
	return encBinary
}

// appendDescription appends RowDescription.
func (f *rowFormat) appendDescription(b []byte, cols []plan.Column) []byte {
	be := binary.BigEndian
	b = append(b, wire.RowDescription, 0, 0, 0, 0)
	b = be.AppendUint16(b, uint16(len(cols)))
	for i := range cols {
		c := &cols[i]
		t := c.Type.Described()
		b = append(append(b, c.Name...), 0)
		b = be.AppendUint32(b, c.TableOid)
		b = be.AppendUint16(b, uint16(c.Attnum))
		b = be.AppendUint32(b, t.Oid)
		b = be.AppendUint16(b, uint16(t.Len()))
		b = be.AppendUint32(b, uint32(t.Typmod))
		b = be.AppendUint16(b, uint16(f.code(i)))
	}
	be.PutUint32(b[1:], uint32(len(b)-1))
	return b
}

func appendParamDescription(b []byte, params []*types.T) []byte {
	be := binary.BigEndian
	b = append(b, wire.ParameterDescription, 0, 0, 0, 0)
	b = be.AppendUint16(b, uint16(len(params)))
	for _, t := range params {
		oid := types.Unknown.Oid
		if t != nil {
			oid = t.Oid
		}
		b = be.AppendUint32(b, oid)
	}
	be.PutUint32(b[1:], uint32(len(b)-1))
	return b
}

const (
	// valueGrowth is how many bytes of output a byte of a value may become, as bytea does.
	valueGrowth = 2
	// elementText is about how much text an element of an array becomes.
	elementText = 16
)

// room is about how many bytes a row takes, apart from small values.
func (f *rowFormat) room(row []types.Datum) (size int) {
	for i := range row {
		n := len(row[i].Str())
		if f.enc[i].kind == encRaw {
			size += n
			continue
		}
		size += valueGrowth * n
		if n >= quota.LargeValue && row[i].Family() == types.ArrayFamily {
			size += elementText * row[i].ArrayLen()
		}
	}
	return size
}

// appendRow appends the body of DataRow.
func (f *rowFormat) appendRow(b []byte, row []types.Datum, fc *types.FormatContext) []byte {
	be := binary.BigEndian
	b = be.AppendUint16(b, uint16(len(f.enc)))
	for i := range f.enc {
		b = f.enc[i].append(b, &row[i], fc)
	}
	return b
}

// append appends a field of DataRow.
func (e *encoder) append(b []byte, d *types.Datum, fc *types.FormatContext) []byte {
	be := binary.BigEndian
	if d.IsNull() {
		return append(b, 0xff, 0xff, 0xff, 0xff)
	}
	switch e.kind {
	case encRaw:
		s := d.Str()
		b = be.AppendUint32(b, uint32(len(s)))
		return append(b, s...)
	case encInt4:
		b = append(b, 0, 0, 0, 4)
		return be.AppendUint32(b, uint32(d.Int()))
	case encInt8:
		b = append(b, 0, 0, 0, 8)
		return be.AppendUint64(b, uint64(d.Int()))
	case encInt2:
		b = append(b, 0, 0, 0, 2)
		return be.AppendUint16(b, uint16(d.Int()))
	}
	return e.appendValue(b, *d, fc)
}

// asBytes reports whether a value is sent as its bytes, or their hexadecimal digits.
func (e *encoder) asBytes(d *types.Datum, fc *types.FormatContext) (digits, ok bool) {
	if d.IsNull() {
		return false, false
	}
	digits = e.kind == encText && e.typ.Family == types.BytesFamily && (fc == nil || fc.ByteaOutput == types.ByteaHex)
	return digits, digits || e.kind == encRaw
}

// longBytes is how many bytes the long values of a row have that are sent as they are, or as digits.
func (f *rowFormat) longBytes(row []types.Datum, fc *types.FormatContext) (size int) {
	for i := range row {
		n := len(row[i].Str())
		if n < quota.LargeValue {
			continue
		}
		if digits, ok := f.enc[i].asBytes(&row[i], fc); digits {
			size += hex.EncodedLen(n)
		} else if ok {
			size += n
		}
	}
	return size
}

// appendLongRow is appendRow, but w refers to the long values.
func (f *rowFormat) appendLongRow(w *wire.Conn, row []types.Datum, fc *types.FormatContext) {
	be := binary.BigEndian
	b := be.AppendUint16(w.Out(), uint16(len(f.enc)))
	for i := range f.enc {
		e, d := &f.enc[i], &row[i]
		s := d.Str()
		digits, ok := e.asBytes(d, fc)
		switch {
		case !ok || len(s) < quota.LargeValue:
			b = e.append(b, d, fc)
			continue
		case digits:
			b = append(be.AppendUint32(b, uint32(len(byteaPrefix)+hex.EncodedLen(len(s)))), byteaPrefix...)
		default:
			b = be.AppendUint32(b, uint32(len(s)))
		}
		w.SetOut(b)
		w.Refer(s, digits)
	}
	w.SetOut(b)
}

// byteaPrefix precedes the digits of a bytea.
const byteaPrefix = `\x`

// appendValue appends a value whose length is known only afterwards.
func (e *encoder) appendValue(b []byte, d types.Datum, fc *types.FormatContext) []byte {
	start := len(b)
	b = append(b, 0, 0, 0, 0)
	switch e.kind {
	case encIntText:
		b = strconv.AppendInt(b, d.Int(), 10)
	case encText:
		b = typeio.AppendText(b, e.typ, d, fc)
	default:
		b = typeio.AppendBinary(b, e.typ, d, fc)
	}
	binary.BigEndian.PutUint32(b[start:], uint32(len(b)-start-4))
	return b
}

func errRowTooLong() error {
	return pgerr.New(pgerr.ProgramLimitExceeded, "a row of the result is longer than %d bytes", maxRow)
}
