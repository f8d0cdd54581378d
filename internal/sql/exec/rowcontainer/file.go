package rowcontainer

import (
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/tempstore"
)

// File is a list of rows in the temporary file of an execution.
type File struct {
	width  int
	stream *tempstore.Stream
	buf    []byte
	acc    quota.Account
}

// NewFile returns an empty list of rows in sp. The block that is being written counts against mem if
// it has room: who spills gives back far more at once.
func NewFile(sp *tempstore.Space, mem *quota.Pool, width int) *File {
	f := &File{width: width, stream: sp.NewStream()}
	f.acc.Init(mem)
	_ = f.acc.Grow(sp.BlockBytes())
	return f
}

// Len returns the number of rows.
func (f *File) Len() int { return int(f.stream.Len()) }

// Bytes returns how much of the disk the rows take.
func (f *File) Bytes() int64 { return f.stream.Bytes() }

// Add appends a row.
func (f *File) Add(row types.Row) error {
	f.buf = f.buf[:0]
	for _, d := range row {
		f.buf = types.AppendEncoded(f.buf, d)
	}
	return expr.TempError(f.stream.Append(f.buf))
}

// Flush ends a list, which takes no memory any more.
func (f *File) Flush() error {
	f.buf = nil
	f.acc.Close()
	return expr.TempError(f.stream.Flush())
}

// Free gives the space back.
func (f *File) Free() {
	f.acc.Close()
	f.stream.Free()
}

// FileReader reads the rows of a File one after the other.
type FileReader struct {
	width int
	r     tempstore.Reader
	slots []types.Datum
	size  int // of the last row
}

// slotRows is for how many rows a reader makes room at a time.
const slotRows = 64

// Read returns a reader that begins with the first row.
func (f *File) Read() FileReader { return FileReader{width: f.width, r: f.stream.Read()} }

// ReadFrom returns a reader that begins with row i.
func (f *File) ReadFrom(i int) (FileReader, error) {
	r, err := f.stream.ReadFrom(int64(i))
	return FileReader{width: f.width, r: r}, expr.TempError(err)
}

// Pos returns the number of the row that Next returns.
func (r *FileReader) Pos() int { return int(r.r.Record()) }

// Size returns how many bytes the last row takes in the file.
func (r *FileReader) Size() int { return r.size }

// Next returns the next row, nil behind the last. It stays intact. The zero FileReader has none.
func (r *FileReader) Next() (types.Row, error) {
	p, err := r.r.Next()
	if p == nil || err != nil {
		return nil, expr.TempError(err)
	}
	r.size = len(p)
	if len(r.slots) < r.width || r.slots == nil {
		r.slots = make([]types.Datum, max(1, r.width*slotRows))
	}
	row := r.slots[:r.width:r.width]
	r.slots = r.slots[r.width:]
	s := viewString(p)
	for i := range row {
		if row[i], s, err = types.DecodeEncoded(s); err != nil {
			return nil, expr.TempError(err)
		}
	}
	return row, nil
}
