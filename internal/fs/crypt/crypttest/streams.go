// Package crypttest checks from outside what package crypt promises: it sees what is written above an encrypted
// file system, and what arrives below it.
//
// Above it: tests. Below it: fs and fs/crypt. Read [Streams], then [Sealed].
package crypttest

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/fs/crypt"
)

const (
	blockSize = 16
	// maxSeen bounds the blocks that are remembered.
	maxSeen = 1 << 16
)

// Streams finds a key stream that is used twice: the exclusive or of what was written above and below is the key
// stream, of which no 16 bytes may come again.
type Streams struct {
	mu      sync.Mutex
	seen    map[[blockSize]byte]spot
	writing map[string]pending
	blocks  int
	err     error
}

// spot is where a block is.
type spot struct {
	path string
	off  int64
}

// pending is a write under way.
type pending struct {
	off  int64
	data []byte
}

// NewStreams returns one that has seen nothing.
func NewStreams() *Streams {
	return &Streams{seen: map[[blockSize]byte]spot{}, writing: map[string]pending{}}
}

// Err returns the first key stream that was used twice, and how many blocks of 16 bytes were checked.
func (s *Streams) Err() (blocks int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.blocks, s.err
}

func (s *Streams) begin(path string, off int64, p []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writing[path] = pending{off, append([]byte(nil), p...)}
}

func (s *Streams) end(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.writing, path)
}

// arrived notes bytes of a file that go to the disk.
func (s *Streams) arrived(path string, off int64, p []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, ok := s.writing[path]
	if !ok {
		return // a file of the encryption's own
	}
	for i := (blockSize - off%blockSize) % blockSize; i+blockSize <= int64(len(p)); i += blockSize {
		at := off + i - w.off
		if at < 0 || at+blockSize > int64(len(w.data)) {
			continue
		}
		var stream [blockSize]byte
		for k := range stream {
			stream[k] = p[i+int64(k)] ^ w.data[at+int64(k)]
		}
		if stream == [blockSize]byte{} {
			continue // not encrypted
		}
		s.blocks++
		if was, twice := s.seen[stream]; twice && s.err == nil {
			s.err = fmt.Errorf("the key stream of %s at %d is that of %s at %d", path, off+i, was.path, was.off)
		}
		if len(s.seen) == maxSeen {
			clear(s.seen) // what is written twice is so soon
		}
		s.seen[stream] = spot{path, off + i}
	}
}

// watched is a file system above or below the encryption.
type watched struct {
	fs.FS
	wrap func(f fs.File, path string) fs.File
}

// Above returns a file system, over the encryption, whose writes are noted.
func (s *Streams) Above(f fs.FS) fs.FS {
	return &watched{f, func(f fs.File, path string) fs.File { return &above{File: f, s: s, path: path} }}
}

// Below returns a file system, under the encryption, whose writes are checked.
func (s *Streams) Below(f fs.FS) fs.FS {
	return &watched{f, func(f fs.File, path string) fs.File { return &below{File: f, s: s, path: path} }}
}

func (w *watched) opened(f fs.File, err error, path string) (fs.File, error) {
	if err != nil {
		return nil, err
	}
	return w.wrap(f, path), nil
}

// Create is part of fs.FS, as are those that follow.
func (w *watched) Create(name string, c fs.WriteCategory) (fs.File, error) {
	f, err := w.FS.Create(name, c)
	return w.opened(f, err, name)
}

// OpenReadWrite opens a file.
func (w *watched) OpenReadWrite(name string, c fs.WriteCategory, opts ...fs.OpenOption) (fs.File, error) {
	f, err := w.FS.OpenReadWrite(name, c, opts...)
	return w.opened(f, err, name)
}

// Unwrap returns the file system below.
func (w *watched) Unwrap() fs.FS { return w.FS }

type above struct {
	fs.File
	s    *Streams
	path string
	pos  int64
}

// Rewrite implements fs.Rewriter.
func (f *above) Rewrite(from int64) error { return fs.Rewrite(f.File, from) }

// Write implements io.Writer.
func (f *above) Write(p []byte) (int, error) {
	f.s.begin(f.path, f.pos, p)
	defer f.s.end(f.path)
	n, err := f.File.Write(p)
	f.pos += int64(n)
	return n, err
}

// WriteAt implements io.WriterAt.
func (f *above) WriteAt(p []byte, off int64) (int, error) {
	f.s.begin(f.path, off, p)
	defer f.s.end(f.path)
	return f.File.WriteAt(p, off)
}

type below struct {
	fs.File
	s    *Streams
	path string
	pos  int64
}

// Write implements io.Writer.
func (f *below) Write(p []byte) (int, error) {
	f.s.arrived(f.path, f.pos, p) // also if it fails: some of it may be there
	n, err := f.File.Write(p)
	f.pos += int64(n)
	return n, err
}

// WriteAt implements io.WriterAt.
func (f *below) WriteAt(p []byte, off int64) (int, error) {
	f.s.arrived(f.path, off, p)
	return f.File.WriteAt(p, off)
}

// Sealed is a file system on which whoever takes a first lock finds his store encrypted until he gives it back. So
// code that opens a store on a file system runs encrypted as it is.
type Sealed struct {
	fs.FS // what is used now: below, or the encryption over it
	below fs.FS
	o     func() crypt.Options
	s     *Streams
	locks int
	c     *crypt.FS
}

// NewSealed returns a file system over another one, whose key streams are checked.
func NewSealed(f fs.FS, streams *Streams, o func() crypt.Options) *Sealed {
	return &Sealed{FS: f, below: f, o: o, s: streams}
}

// Lock is part of fs.FS.
func (f *Sealed) Lock(name string) (io.Closer, error) {
	if f.locks == 0 {
		disk := f.s.Below(f.below)
		st, err := crypt.Open(disk, f.o())
		if err != nil {
			return nil, err
		}
		f.c = crypt.New(disk, st)
		f.FS = f.s.Above(f.c)
	}
	f.locks++
	l, err := f.below.Lock(name)
	if err != nil {
		return nil, errors.Join(err, f.unlock())
	}
	return closer(func() error { return errors.Join(l.Close(), f.unlock()) }), nil
}

func (f *Sealed) unlock() error {
	if f.locks--; f.locks > 0 {
		return nil
	}
	f.FS = f.below
	return f.c.Close()
}

// Unwrap returns the file system that is used now.
func (f *Sealed) Unwrap() fs.FS { return f.FS }

type closer func() error

// Close implements io.Closer.
func (c closer) Close() error { return c() }

// Key returns a store key that depends on a number only.
func Key(n byte) *crypt.StoreKey {
	b := make([]byte, 32+16)
	for i := range b {
		b[i] = n
	}
	m := fs.NewMem()
	f, err := m.Create("key", fs.WriteUnspecified)
	if err == nil {
		_, err = f.Write(b)
	}
	if err == nil {
		err = f.Close()
	}
	if err != nil {
		panic(err)
	}
	k, err := crypt.LoadKey(m, "key")
	if err != nil {
		panic(err)
	}
	return k
}

// Checksum returns lines of text with their checksum, as in a file of keys.
func Checksum(b []byte) []byte {
	return fmt.Appendf(append([]byte(nil), b...), "crc32c %08x\n", crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
}
