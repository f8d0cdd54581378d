package tempstore

import (
	"fmt"
	"hash/crc32"

	lfs "github.com/lichendb/lichen/internal/fs"
)

// Space is the temporary file of a statement or a cursor. The zero Space has no store: nothing can be
// written to it.
type Space struct {
	store *Store
	file  lfs.File
	path  string
	size  int64   // of the file
	free  []int64 // blocks that streams gave back
}

// Bind gives an unused space its store; nil means none.
func (s *Space) Bind(store *Store) { s.store = store }

// Bound reports whether the space has a store.
func (s *Space) Bound() bool { return s.store != nil }

// BlockBytes is that of the store.
func (s *Space) BlockBytes() int64 { return s.store.BlockBytes() }

// Close removes the file. The streams of the space are not used again; the space may be.
func (s *Space) Close() {
	if s.file != nil {
		s.store.remove(s.file, s.path, s.size)
	}
	*s = Space{store: s.store}
}

// block is part of a stream.
type block struct {
	at  int64 // in the file
	len int
	crc uint32
	num uint64 // of its encryption
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// write puts p into a block of its own. What is in p is lost then.
func (s *Space) write(p []byte) (block, error) {
	at, err := s.allocate()
	if err != nil {
		return block{}, err
	}
	b := block{at: at, len: len(p), crc: crc32.Checksum(p, castagnoli)}
	if c := s.store.cipher; c != nil {
		b.num = c.encrypt(p)
	}
	if _, err := s.file.WriteAt(p, at); err != nil {
		s.free = append(s.free, at)
		return block{}, diskError(err)
	}
	return b, nil
}

// allocate returns the place of a block that nobody uses.
func (s *Space) allocate() (at int64, err error) {
	if s.file == nil {
		if s.file, s.path, err = s.store.create(); err != nil {
			s.file = nil
			return 0, err
		}
	}
	if n := len(s.free); n > 0 {
		at, s.free = s.free[n-1], s.free[:n-1]
		return at, nil
	}
	n := s.store.BlockBytes()
	if err := s.store.grow(s.size, n); err != nil {
		return 0, err
	}
	at = s.size
	s.size += n
	return at, nil
}

// read returns the bytes of a block in memory of their own.
func (s *Space) read(b block) ([]byte, error) {
	p := make([]byte, b.len)
	if _, err := s.file.ReadAt(p, b.at); err != nil {
		return nil, fmt.Errorf("read of temporary file: %w", err)
	}
	if c := s.store.cipher; c != nil {
		c.decrypt(p, b.num)
	}
	return p, b.verify(p)
}

// verify fails if p is not equal to the written block.
func (b *block) verify(p []byte) error {
	if crc32.Checksum(p, castagnoli) != b.crc {
		return fmt.Errorf("temporary file: the block at %d is damaged", b.at)
	}
	return nil
}
