package tempstore

import (
	"encoding/binary"
	"slices"
	"sort"
)

// Stream is a list of records. They are appended, then read as often as wanted; a record may be
// longer than a block.
type Stream struct {
	space  *Space
	blocks []block
	starts []start // of blocks: for At
	buf    []byte  // what is not in a block yet
	n      int64   // records
}

// start says where the first record that begins in a block is. Where none begins, it has the number
// of the next one, and a later block has the place.
type start struct {
	record int64 // its number
	at     int   // where it begins
}

// NewStream returns an empty stream.
func (s *Space) NewStream() *Stream { return &Stream{space: s} }

// Len returns the number of records.
func (s *Stream) Len() int64 { return s.n }

// Bytes returns how much of the disk the stream takes.
func (s *Stream) Bytes() int64 { return int64(len(s.blocks)) * s.space.BlockBytes() }

// Append adds a record. After an error the stream can only be freed.
func (s *Stream) Append(record []byte) error {
	if len(s.starts) == len(s.blocks) {
		s.starts = append(s.starts, start{s.n, len(s.buf)})
	}
	s.buf = binary.AppendUvarint(s.buf, uint64(len(record)))
	s.buf = append(s.buf, record...)
	s.n++
	size, rest := int(s.space.BlockBytes()), s.buf
	for len(rest) >= size {
		if err := s.put(rest[:size]); err != nil {
			return err
		}
		rest = rest[size:]
	}
	if cap(s.buf) > 4*size { // the record was long
		s.buf = slices.Clone(rest)
	} else {
		s.buf = append(s.buf[:0], rest...)
	}
	return nil
}

// put writes p into a block, behind the bytes that are written already.
func (s *Stream) put(p []byte) error {
	b, err := s.space.write(p)
	if err != nil {
		return err
	}
	s.blocks = append(s.blocks, b)
	if len(s.starts) < len(s.blocks) { // no record begins in it
		s.starts = append(s.starts, start{s.n, 0})
	}
	return nil
}

// Flush writes the buffered bytes, so that a stream without appends for a while takes no memory.
func (s *Stream) Flush() error {
	if len(s.buf) == 0 {
		return nil
	}
	err := s.put(s.buf)
	s.buf = nil
	return err
}

// Free gives the blocks back.
func (s *Stream) Free() {
	for _, b := range s.blocks {
		s.space.free = append(s.space.free, b.at)
	}
	s.blocks, s.starts, s.buf, s.n = nil, nil, nil, 0
}

// Reader reads the records of a stream one after the other.
type Reader struct {
	stream *Stream
	block  int    // the next to read: the last one may not be written yet
	skip   int    // how much of it was read when it was not
	rest   []byte // what is left of what was read
	record int64  // number of the next record
}

// Read returns a reader that begins with the first record.
func (s *Stream) Read() Reader { return Reader{stream: s} }

// ReadFrom returns a reader that begins with record i.
func (s *Stream) ReadFrom(i int64) (Reader, error) {
	b := sort.Search(len(s.starts), func(k int) bool { return s.starts[k].record > i }) - 1
	if b < 0 {
		return s.Read(), nil
	}
	r := Reader{stream: s, block: b, skip: s.starts[b].at, record: s.starts[b].record}
	for r.record < i {
		if p, err := r.Next(); p == nil {
			return r, err
		}
	}
	return r, nil
}

// Record returns the number of the record that Next returns.
func (r *Reader) Record() int64 { return r.record }

// Next returns the next record, nil behind the last. It stays as it is for good. Records that are
// appended later are returned as well. The zero Reader has none.
func (r *Reader) Next() ([]byte, error) {
	if r.stream == nil || r.record >= r.stream.n {
		return nil, nil
	}
	n, err := r.length()
	if err != nil {
		return nil, err
	}
	r.record++
	return r.take(n)
}

// length reads the length of a record.
func (r *Reader) length() (int, error) {
	if n, k := binary.Uvarint(r.rest); k > 0 {
		r.rest = r.rest[k:]
		return int(n), nil
	}
	var n uint64
	for shift := 0; ; shift += 7 {
		b, err := r.take(1)
		if err != nil {
			return 0, err
		}
		n |= uint64(b[0]&0x7f) << shift
		if b[0] < 0x80 {
			return int(n), nil
		}
	}
}

// take returns the next n bytes, which are there.
func (r *Reader) take(n int) ([]byte, error) {
	if n == 0 {
		return []byte{}, nil
	}
	if n <= len(r.rest) {
		p := r.rest[:n:n]
		r.rest = r.rest[n:]
		return p, nil
	}
	p := make([]byte, 0, n)
	for len(p) < n {
		if len(r.rest) == 0 {
			if err := r.load(); err != nil {
				return nil, err
			}
		}
		k := min(n-len(p), len(r.rest))
		p = append(p, r.rest[:k]...)
		r.rest = r.rest[k:]
	}
	return p, nil
}

// load reads the next block, or the bytes that were appended since the last one was written.
func (r *Reader) load() error {
	if r.block == len(r.stream.blocks) {
		r.rest = slices.Clone(r.stream.buf[r.skip:])
		r.skip = len(r.stream.buf)
		return nil
	}
	p, err := r.stream.space.read(r.stream.blocks[r.block])
	if err != nil {
		return err
	}
	r.rest = p[r.skip:]
	r.block++
	r.skip = 0
	return nil
}
