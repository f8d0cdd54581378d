package timeseries

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"math/bits"
	"strings"
	"time"

	"github.com/lichendb/lichen/internal/fs"
)

// A file begins with magic and version; a row with the names follows, then rows of metrics. Every row is its length, its
// checksum and its payload.
const (
	magic   = "lichents"
	version = 1
	// maxRow bounds the payload of a row, maxNames the names of a file.
	maxRow   = 1 << 20
	maxNames = 10_000
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendRow frames a payload.
func appendRow(dst, payload []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(payload)))
	dst = binary.LittleEndian.AppendUint32(dst, crc32.Checksum(payload, castagnoli))
	return append(dst, payload...)
}

// header returns the bytes that a file of some names begins with.
func header(names []string) []byte {
	p := binary.AppendUvarint(nil, uint64(len(names)))
	for _, n := range names {
		p = binary.AppendUvarint(p, uint64(len(n)))
		p = append(p, n...)
	}
	return appendRow(append([]byte(magic), version), p)
}

// state is what a row is told relative to: the one before.
type state struct {
	at     int64 // Unix milliseconds
	values []uint64
}

// encode returns the payload of a row, and makes it the one before. Metrics that stay take a byte.
func (s *state) encode(dst []byte, at int64, values []float64) []byte {
	dst = binary.AppendVarint(dst, at-s.at)
	s.at = at
	for i, v := range values {
		b := math.Float64bits(v)
		dst = binary.AppendUvarint(dst, bits.ReverseBytes64(b^s.values[i]))
		s.values[i] = b
	}
	return dst
}

var errDamaged = errors.New("a damaged row of metrics")

// decode reads the payload of a row into values.
func (s *state) decode(p []byte, values []float64) error {
	d, n := binary.Varint(p)
	if n <= 0 {
		return errDamaged
	}
	s.at += d
	p = p[n:]
	for i := range values {
		x, n := binary.Uvarint(p)
		if n <= 0 {
			return errDamaged
		}
		s.values[i] ^= bits.ReverseBytes64(x)
		values[i] = math.Float64frombits(s.values[i])
		p = p[n:]
	}
	return nil
}

// reader reads the rows of a file's bytes.
type reader struct {
	rest  []byte
	names []string
	state state
	row   []float64
}

// openFile reads a file and its header.
func openFile(fsys fs.FS, path string) (*reader, error) {
	f, err := fsys.Open(path)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(f)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return nil, err
	}
	if len(b) <= len(magic) || !strings.HasPrefix(string(b), magic) {
		return nil, fmt.Errorf("%s has no metrics", path)
	}
	if v := b[len(magic)]; v != version {
		return nil, fmt.Errorf("%s has metrics of version %d: this program reads version %d", path, v, version)
	}
	r := &reader{rest: b[len(magic)+1:]}
	p, ok := r.payload()
	if !ok || !r.readNames(p) {
		return nil, fmt.Errorf("%s: %w", path, errDamaged)
	}
	return r, nil
}

func (r *reader) readNames(p []byte) bool {
	count, n := binary.Uvarint(p)
	if n <= 0 || count > maxNames {
		return false
	}
	p = p[n:]
	for range count {
		size, n := binary.Uvarint(p)
		if n <= 0 || size > uint64(len(p)-n) {
			return false
		}
		r.names = append(r.names, string(p[n:n+int(size)]))
		p = p[n+int(size):]
	}
	r.state.values, r.row = make([]uint64, count), make([]float64, count)
	return true
}

// payload returns that of the next row; false at the end, or before a damaged one.
func (r *reader) payload() ([]byte, bool) {
	size, n := binary.Uvarint(r.rest)
	const sum = 4
	if n <= 0 || size > maxRow || uint64(len(r.rest)-n) < size+sum {
		return nil, false
	}
	check := binary.LittleEndian.Uint32(r.rest[n:])
	p := r.rest[n+sum : n+sum+int(size)]
	if crc32.Checksum(p, castagnoli) != check {
		return nil, false
	}
	r.rest = r.rest[n+sum+int(size):]
	return p, true
}

// next returns the next row, which is valid until the following call; false after the last one.
func (r *reader) next() (at time.Time, values []float64, ok bool) {
	p, ok := r.payload()
	if !ok || r.state.decode(p, r.row) != nil {
		return time.Time{}, nil, false
	}
	return time.UnixMilli(r.state.at), r.row, true
}
