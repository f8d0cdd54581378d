package tempstore

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"

	lfs "github.com/lichendb/lichen/internal/fs"
)

const (
	// DefaultMaxBytes is how much disk temporary files may take unless the node is told otherwise.
	DefaultMaxBytes = 32 << 30
	// blockBytes is the number of bytes that a stream takes from its space at a time.
	blockBytes = 32 << 10
	// maxFiles bounds the open files: the statements and cursors that spill at the same time.
	maxFiles = 1000
	// keepFree is how much of the disk temporary files leave to the log and the engine; a space looks
	// whenever it has grown by checkEvery.
	keepFree   = 256 << 20
	checkEvery = 16 << 20
)

// Options configure a Store.
type Options struct {
	FS  lfs.FS
	Dir string
	// MaxBytes bounds the files of all spaces together; 0 means DefaultMaxBytes.
	MaxBytes int64
	// BlockBytes is the size of a block: tests make it small. 0 means blockBytes.
	BlockBytes int
	// Encrypt has the files encrypted, with a key that ends with the process.
	Encrypt bool
}

// Store is the temporary files of a node.
type Store struct {
	o      Options
	cipher *blockCipher // nil: nothing is encrypted
	mu     sync.Mutex
	bytes  int64 // that all files take
	files  int
	next   uint64 // number of the next file
}

// FullError says that temporary files may not take more.
type FullError struct {
	// Limit is the bound that is reached, in bytes; 0 is that of the disk.
	Limit int64
	Cause error // of the disk
}

// Error implements error.
func (e *FullError) Error() string {
	if e.Limit > 0 {
		return fmt.Sprintf("temporary files take %d bytes, as many as they may", e.Limit)
	}
	return "no space is left on the disk for temporary files"
}

// Unwrap returns the cause.
func (e *FullError) Unwrap() error { return e.Cause }

// ErrTooManyFiles says that too many statements spill at the same time.
var ErrTooManyFiles = fmt.Errorf("%d statements and cursors have temporary files, as many as may", maxFiles)

// Open removes what an earlier process has left in the directory, and returns a store of files there.
func Open(o Options) (*Store, error) {
	if o.MaxBytes == 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	if o.BlockBytes == 0 {
		o.BlockBytes = blockBytes
	}
	if err := o.FS.RemoveAll(o.Dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	s := &Store{o: o}
	if o.Encrypt {
		s.cipher = newBlockCipher()
	}
	return s, nil
}

// Bytes returns what the files take.
func (s *Store) Bytes() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes
}

// Files returns how many files there are.
func (s *Store) Files() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.files
}

// BlockBytes returns the memory that a stream takes while it is written, and a reader.
func (s *Store) BlockBytes() int64 { return int64(s.o.BlockBytes) }

// create makes a file.
func (s *Store) create() (f lfs.File, path string, err error) {
	s.mu.Lock()
	if s.files >= maxFiles {
		s.mu.Unlock()
		return nil, "", ErrTooManyFiles
	}
	s.files++
	s.next++
	path = s.o.FS.PathJoin(s.o.Dir, fmt.Sprintf("%08d", s.next))
	s.mu.Unlock()
	if err = s.o.FS.MkdirAll(s.o.Dir, 0o700); err == nil {
		f, err = s.o.FS.OpenReadWrite(path, lfs.WriteUnspecified)
	}
	if err != nil {
		s.forget(0)
		_ = s.o.FS.Remove(path) // it may be there
		return nil, "", diskError(err)
	}
	return f, path, nil
}

// remove closes a file of size bytes and removes it.
func (s *Store) remove(f lfs.File, path string, size int64) {
	_ = f.Close() // nobody reads what it may have failed to write
	_ = s.o.FS.Remove(path)
	s.forget(size)
}

func (s *Store) forget(size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files--
	s.bytes -= size
}

// grow lets a file that has size bytes have n more.
func (s *Store) grow(size, n int64) error {
	if size%checkEvery < n {
		if err := s.checkDisk(); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bytes+n > s.o.MaxBytes {
		return &FullError{Limit: s.o.MaxBytes}
	}
	s.bytes += n
	return nil
}

// checkDisk fails if the disk is nearly full.
func (s *Store) checkDisk() error {
	u, err := s.o.FS.GetDiskUsage(s.o.Dir)
	if err == nil && u.AvailBytes < keepFree {
		return &FullError{}
	}
	return nil // one that does not tell fails when it is full
}

// diskError tells a full disk from one that fails otherwise.
func diskError(err error) error {
	if lfs.IsDiskFull(err) {
		return &FullError{Cause: err}
	}
	return err
}
