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

// maxDivisions bounds how often rows are divided again: by then all bits of the hash but a few have
// been used.
const maxDivisions = 64/partitionBits - 1

// Sides of Partitions: a join divides the rows of both its inputs, others have one side.
const (
	BuildSide = iota
	ProbeSide
	maxSides
)

// Partitions keeps rows whose keys find no memory, divided by the hash of the key, and returns them
// partition by partition. What a partition has no memory for is divided again, by other bits.
type Partitions struct {
	st      *expr.State
	widths  [maxSides]int
	level   int // of the partitions that are written
	files   [fanout][maxSides]*File
	active  bool
	pending []partition
	reading partition
	count   int // of the partitions that were written
	disk    int64
}

// partition is one that is written: a file for each side that has rows.
type partition struct {
	files [maxSides]*File
	level int  // of what it is divided into
	whole bool // dividing it again would change nothing
}

func (q *partition) free() {
	for side, f := range q.files {
		if f != nil {
			f.Free()
			q.files[side] = nil
		}
	}
}

// Open empties p and binds it to an execution; widths are those of the rows of each side.
func (p *Partitions) Open(st *expr.State, widths ...int) {
	p.Close()
	p.st, p.level, p.count, p.disk = st, 0, 0, 0
	copy(p.widths[:], widths)
}

// Close gives the space back.
func (p *Partitions) Close() {
	for i := range p.files {
		q := partition{files: p.files[i]}
		q.free()
		p.files[i] = q.files
	}
	for i := range p.pending {
		p.pending[i].free()
	}
	p.reading.free()
	p.pending, p.active = nil, false
}

// Active reports whether rows were added since Open or Next: from then on a key that is not in memory
// must not get there, as rows of it may be here.
func (p *Partitions) Active() bool { return p.active }

// Add keeps a copy of a row of the build side whose key has hash h.
func (p *Partitions) Add(h uint64, row types.Row) error { return p.AddTo(BuildSide, h, row) }

// AddTo keeps a copy of a row of a side whose key has hash h.
func (p *Partitions) AddTo(side int, h uint64, row types.Row) error {
	p.active = true
	f := &p.files[partOf(h, p.level)][side]
	if *f == nil {
		*f = NewFile(&p.st.Temp, p.st.Mem, p.widths[side])
	}
	return (*f).Add(row)
}

// partOf returns the partition of a hash at a level. It takes the high bits first: hash tables take the
// low ones.
func partOf(h uint64, level int) int {
	return int(h >> (64 - (min(level, maxDivisions)+1)*partitionBits) & (fanout - 1))
}

// End says that a side has no more rows: it takes no memory any more.
func (p *Partitions) End(side int) error {
	for i := range p.files {
		if f := p.files[i][side]; f != nil {
			if err := f.Flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// Next returns a reader of the build side of the next partition, nil if there is none. The rows of one
// before are gone then.
func (p *Partitions) Next() (*FileReader, error) {
	p.reading.free()
	if err := p.end(); err != nil || len(p.pending) == 0 {
		return nil, err
	}
	if plant.On(plant.PartitionLost) && len(p.pending) > 1 {
		p.pending = p.pending[1:]
	}
	last := len(p.pending) - 1
	p.reading = p.pending[last]
	p.pending = p.pending[:last]
	p.level = p.reading.level
	return p.Read(BuildSide), p.st.Canceled()
}

// Read returns a reader of a side of the partition that Next went to.
func (p *Partitions) Read(side int) *FileReader {
	var r FileReader
	if f := p.reading.files[side]; f != nil {
		r = f.Read()
	}
	return &r
}

// Rows returns how many rows a side of that partition has.
func (p *Partitions) Rows(side int) int {
	if f := p.reading.files[side]; f != nil {
		return f.Len()
	}
	return 0
}

// Divisible reports whether that partition can be divided into smaller ones.
func (p *Partitions) Divisible() bool { return !p.reading.whole && p.reading.level < maxDivisions }

// Written returns how many partitions were written and what they took of the disk.
func (p *Partitions) Written() (count int, disk int64) { return p.count, p.disk }

// end ends the partitions that are written.
func (p *Partitions) end() error {
	p.active = false
	first := len(p.pending)
	for i := range p.files {
		q := partition{files: p.files[i], level: p.level + 1}
		p.files[i] = [maxSides]*File{}
		if q.files == [maxSides]*File{} {
			continue
		}
		p.pending = append(p.pending, q)
		p.count++
		for _, f := range q.files {
			if f == nil {
				continue
			}
			if err := f.Flush(); err != nil {
				return err
			}
			p.disk += f.Bytes()
		}
	}
	p.findWhole(p.pending[first:])
	return nil
}

// findWhole marks the partition that has all rows of the build side: they have one key, or few.
func (p *Partitions) findWhole(written []partition) {
	var only *partition
	for i := range written {
		if written[i].files[BuildSide] == nil {
			continue
		}
		if only != nil {
			return
		}
		only = &written[i]
	}
	if only != nil {
		only.whole = true
	}
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

// HashOf returns the hash of any key.
func (t *KeyTable) HashOf(vals types.Row) (uint64, error) {
	if !t.single {
		if err := t.encode(vals); err != nil {
			return 0, err
		}
	}
	return t.Hash(vals), nil
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

// batchBytes bounds a batch of wide rows: it is to find memory where there is little.
const batchBytes = 32 << 10

// Next fills b with up to most rows; a batch without positions is the end.
func (v *VectorReader) Next(b *vector.Batch, most int) error {
	b.N, b.Sel, b.Cols, b.Err = 0, nil, v.cols, nil
	most = min(most, vector.BatchRows)
	for c := range v.cols {
		v.cols[c].Reset(v.fams[c], most)
	}
	for size := 0; b.N < most && size < batchBytes; b.N++ {
		row, err := v.r.Next()
		if err != nil {
			return err
		}
		if row == nil {
			break
		}
		size += v.r.Size()
		for c, d := range row {
			v.cols[c].Set(uint16(b.N), d)
		}
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
