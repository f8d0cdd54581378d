package copyio

import (
	"bytes"

	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/copyfmt"
	"github.com/lichendb/lichen/internal/sql/types"
)

// Output sends what COPY TO writes.
type Output struct {
	w *copyfmt.Writer
	// sink takes a line or a chunk.
	sink func([]byte) error
	// header is that of the binary format, until it is sent.
	header []byte
	mem    quota.Account // of the longest line so far
}

// NewOutput returns what sends the lines of w to sink; long lines count against mem.
func NewOutput(w *copyfmt.Writer, sink func([]byte) error, mem *quota.Pool) *Output {
	o := &Output{w: w, sink: sink}
	o.mem.Init(mem)
	return o
}

// Close gives the memory back.
func (o *Output) Close() { o.mem.Close() }

// Begin writes the header. That of the binary format goes out in one message with what
// follows it, where clients look for it.
func (o *Output) Begin(binary bool) error {
	h, err := o.w.Header()
	if err != nil {
		return err
	}
	if binary {
		o.header = bytes.Clone(h)
		return nil
	}
	if h == nil {
		return nil
	}
	return o.sink(h)
}

// lineGrowth is how many bytes of a line a byte of a value may become.
const lineGrowth = 2

// room accounts for a long line that is to be made.
func (o *Output) room(row types.Row) error {
	size := int64(0)
	for i := range row {
		size += lineGrowth * int64(len(row[i].Str()))
	}
	if size < quota.LargeValue || size <= o.mem.Used() {
		return nil
	}
	return o.mem.Grow(size - o.mem.Used())
}

// Row sends a row.
func (o *Output) Row(row types.Row) error {
	if err := o.room(row); err != nil {
		return err
	}
	line, err := o.w.Row(row)
	if err != nil {
		return err
	}
	return o.send(line)
}

func (o *Output) send(p []byte) error {
	if o.header != nil {
		p = append(o.header, p...)
		o.header = nil
	}
	return o.sink(p)
}

// End sends what follows the rows.
func (o *Output) End() error {
	if t := o.w.Trailer(); t != nil {
		return o.send(t)
	}
	return nil
}
