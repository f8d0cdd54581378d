package pgwire

import (
	"github.com/lichendb/lichen/internal/pgwire/wire"
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// results sends the results of statements: sql.Results.
type results struct {
	c      *conn
	format *rowFormat
	simple rowFormat // of simple queries: always text
	source copySource
	mark   wire.Mark
	// batch is where the results of several statements begin that may be taken back, hold
	// how much output is held back for them.
	batch wire.Mark
	hold  int
}

// Mark implements sql.Results.
func (r *results) Mark() {
	r.c.wire.Hold(r.hold)
	r.mark = r.c.wire.Mark()
}

// Hold implements sql.Holder.
func (r *results) Hold(bytes int) { r.c.wire.Hold(max(bytes, r.hold)) }

// MarkBatch implements sql.BatchHolder.
func (r *results) MarkBatch(bytes int) {
	r.hold = bytes
	r.c.wire.Hold(bytes)
	r.batch = r.c.wire.Mark()
}

// RewindBatch implements sql.BatchHolder.
func (r *results) RewindBatch() bool { return !r.c.broken && r.c.wire.Rewind(r.batch) }

// UnmarkBatch implements sql.BatchHolder.
func (r *results) UnmarkBatch() {
	r.hold = 0
	r.c.wire.Hold(0)
}

// Held implements sql.Holder.
func (r *results) Held() int { return r.c.wire.Since(r.mark) }

// Rewind implements sql.Results.
func (r *results) Rewind() bool { return !r.c.broken && r.c.wire.Rewind(r.mark) }

// begin makes r ready for a statement of the extended protocol whose rows have
// the given format, or for a simple query, which says its columns itself.
func (r *results) begin(f *rowFormat) { r.format = f }

// Columns implements sql.Results.
func (r *results) Columns(cols []plan.Column) error {
	r.simple.set(cols)
	r.format = &r.simple
	return r.c.sendDescription(r.format)
}

// BinaryColumns implements sql.BinaryColumns.
func (r *results) BinaryColumns(cols []plan.Column) error {
	r.format = newRowFormat(cols, []int16{formatBinary})
	return r.c.sendDescription(r.format)
}

// Row implements sql.Results.
func (r *results) Row(row []types.Datum) error {
	if r.format == nil || len(row) != len(r.format.enc) {
		return pgerr.Assertion("a row of %d columns does not fit its description", len(row))
	}
	w := r.c.wire
	w.Begin(wire.DataRow)
	enc, fc := r.c.ses.Encoding(), r.c.ses.Format()
	room, long := r.format.room(row), 0
	if room >= quota.LargeValue && enc == nil {
		long = r.format.longBytes(row, fc)
	}
	refers := w.Refers(long)
	if refers {
		room -= long
	}
	if err := w.Reserve(room); err != nil {
		w.Abandon()
		return errMessageMemory(err)
	}
	if refers {
		r.format.appendLongRow(w, row, fc)
	} else if enc != nil {
		b, err := r.format.appendRowIn(w.Out(), row, fc, enc)
		w.SetOut(b)
		if err != nil {
			w.Abandon()
			return err
		}
	} else {
		w.SetOut(r.format.appendRow(w.Out(), row, fc))
	}
	if err := fc.CountSteps(0); err != nil { // the row may have been cut short
		w.Abandon()
		return err
	}
	if n := w.End(); n > maxRow {
		w.Abandon()
		return errRowTooLong()
	}
	return r.flushed()
}

func (r *results) flushed() error {
	return r.c.written(r.c.wire.FlushIfLong())
}

// Complete implements sql.Results.
func (r *results) Complete(tag string) error {
	r.c.wire.CommandComplete(tag)
	return r.flushed()
}

// Empty implements sql.Results.
func (r *results) Empty() error {
	r.c.wire.Empty(wire.EmptyQueryResponse)
	return nil
}

// Notice implements sql.Results.
func (r *results) Notice(severity string, e *pgerr.Error) { r.c.Notice(severity, e) }

// CopyOut implements sql.Results.
func (r *results) CopyOut(columns int, binary bool) error {
	r.copyResponse(wire.CopyOutResponse, columns, binary)
	return nil
}

// CopyData implements sql.Results.
func (r *results) CopyData(p []byte) error {
	w := r.c.wire
	w.Begin(wire.CopyData)
	if err := w.Reserve(len(p)); err != nil {
		w.Abandon()
		return errMessageMemory(err)
	}
	w.Bytes(p)
	w.End()
	return r.flushed()
}

// CopyDone implements sql.Results.
func (r *results) CopyDone() error {
	r.c.wire.Empty(wire.CopyDone)
	return nil
}

// CopyIn implements sql.Results.
func (r *results) CopyIn(columns int, binary bool) (sql.CopySource, error) {
	r.copyResponse(wire.CopyInResponse, columns, binary)
	if err := r.c.written(r.c.wire.Flush()); err != nil {
		return nil, err
	}
	r.source = copySource{c: r.c}
	return &r.source, nil
}

func (r *results) copyResponse(typ byte, columns int, binary bool) {
	format := int16(formatText)
	if binary {
		format = formatBinary
	}
	w := r.c.wire
	w.Begin(typ)
	w.Byte(byte(format))
	w.Int16(int16(columns))
	for range columns {
		w.Int16(format)
	}
	w.End()
}
