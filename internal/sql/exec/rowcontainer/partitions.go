package rowcontainer

import (
	"encoding/binary"

	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/sql/exec/expr"
	"github.com/lichendb/lichen/internal/sql/types"
	"github.com/lichendb/lichen/internal/sql/vector"
)

const (
	// partitionBits of a hash choose the partition at each level.
	partitionBits = 4
	fanout        = 1 << partitionBits
)

// Partitions keeps rows whose keys find no memory, divided by the hash of the key, and returns them
// partition by partition. What a partition has no memory for is divided again, by other bits.
type Partitions struct {
	st      *expr.State
	width   int
	level   int // of the partitions that are written
	files   [fanout]*File
	active  bool
	pending []partition
	reading *File
	disk    int64
}

// partition is one that is written.
type partition struct {
	file  *File
	level int // of what it is divided into
}

// Open empties p and binds it to an execution.
func (p *Partitions) Open(st *expr.State, width int) {
	p.Close()
	p.st, p.width, p.level, p.disk = st, width, 0, 0
}

// Close gives the space back.
func (p *Partitions) Close() {
	for i, f := range p.files {
		if f != nil {
			f.Free()
			p.files[i] = nil
		}
	}
	for _, q := range p.pending {
		q.file.Free()
	}
	if p.reading != nil {
		p.reading.Free()
	}
	p.pending, p.reading, p.active = nil, nil, false
}

// Active reports whether rows were added since Open or Next: from then on a key that is not in memory
// must not get there, as rows of it may be here.
func (p *Partitions) Active() bool { return p.active }

// Add keeps a copy of a row whose key has hash h.
func (p *Partitions) Add(h uint64, row types.Row) error {
	p.active = true
	f := &p.files[h>>(p.level*partitionBits)&(fanout-1)]
	if *f == nil {
		*f = NewFile(&p.st.Temp, p.st.Mem, p.width)
	}
	return (*f).Add(row)
}

// Next returns a reader of the next partition, nil if there is none. The rows of one before are gone
// then.
func (p *Partitions) Next() (*FileReader, error) {
	if p.reading != nil {
		p.reading.Free()
		p.reading = nil
	}
	if err := p.end(); err != nil || len(p.pending) == 0 {
		return nil, err
	}
	if plant.On(plant.PartitionLost) && len(p.pending) > 1 {
		p.pending = p.pending[1:]
	}
	last := len(p.pending) - 1
	next := p.pending[last]
	p.pending = p.pending[:last]
	p.reading, p.level = next.file, next.level
	r := p.reading.Read()
	return &r, p.st.Canceled()
}

// end ends the partitions that are written.
func (p *Partitions) end() error {
	p.active = false
	for i, f := range p.files {
		if f == nil {
			continue
		}
		p.files[i] = nil
		p.pending = append(p.pending, partition{f, p.level + 1})
		if err := f.Flush(); err != nil {
			return err
		}
		p.disk += f.Bytes()
	}
	return nil
}

// hashBytes returns a hash of b.
func hashBytes(b []byte) uint64 {
	h := uint64(len(b)) + 1
	for ; len(b) >= 8; b = b[8:] {
		h = mix(h ^ binary.LittleEndian.Uint64(b))
	}
	for _, c := range b {
		h = h<<8 ^ h>>56 ^ uint64(c)
	}
	return mix(h)
}

// hashNull is the hash of a NULL key.
const hashNull = 0

// Hash returns the hash of a key that Find or Put has looked at last.
func (t *KeyTable) Hash(vals types.Row) uint64 {
	switch {
	case !t.single:
		return hashBytes(t.buf)
	case vals[0].IsNull():
		return hashNull
	}
	return mix(uint64(vals[0].Int()))
}

// Hash returns the hash of the key that cols have at i.
func (t *GroupTable) Hash(cols []*vector.Vector, i uint16) uint64 {
	switch {
	case !t.single:
		t.encode(cols, i)
		return hashBytes(t.buf)
	case cols[0].Nulls.Has(i):
		return hashNull
	}
	return mix(uint64(cols[0].Ints[i]))
}

// VectorReader reads the rows of a File as columns.
type VectorReader struct {
	r    *FileReader
	fams []types.Family
	cols []*vector.Vector
}

// NewVectorReader returns a reader of rows with columns of the given families.
func NewVectorReader(r *FileReader, fams []types.Family) *VectorReader {
	v := &VectorReader{r: r, fams: fams, cols: make([]*vector.Vector, len(fams))}
	for c := range fams {
		v.cols[c] = &vector.Vector{}
	}
	return v
}

// Next fills b with up to most rows; a batch without positions is the end.
func (v *VectorReader) Next(b *vector.Batch, most int) error {
	b.N, b.Sel, b.Cols, b.Err = 0, nil, v.cols, nil
	most = min(most, vector.BatchRows)
	for c := range v.cols {
		v.cols[c].Reset(v.fams[c], most)
	}
	for b.N < most {
		row, err := v.r.Next()
		if err != nil {
			return err
		}
		if row == nil {
			break
		}
		for c, d := range row {
			v.cols[c].Set(uint16(b.N), d)
		}
		b.N++
	}
	b.Sel = vector.All(b.N)
	return nil
}

// AppendRow appends the values that cols have at i.
func AppendRow(row types.Row, cols []*vector.Vector, i uint16) types.Row {
	for _, v := range cols {
		row = append(row, v.Datum(i))
	}
	return row
}
