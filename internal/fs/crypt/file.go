package crypt

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/lichendb/lichen/internal/fs"
)

// writeChunk is how much is encrypted at a time: callers keep what they write, so it goes through a buffer.
const writeChunk = 128 << 10

var writeBuffers = sync.Pool{New: func() any { return new([writeChunk]byte) }}

// file is an open file of the registry.
type file struct {
	fs.File
	s    *Store
	e    *entry
	path string       // by which it was opened
	pos  atomic.Int64 // of sequential reads and writes
}

// Rewrite implements fs.Rewriter.
func (f *file) Rewrite(from int64) error { return f.s.rewrite(f.e, from) }

// Read implements io.Reader.
func (f *file) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	f.e.decrypt(p[:n], f.pos.Load())
	f.pos.Add(int64(n))
	return n, err
}

// ReadAt implements io.ReaderAt.
func (f *file) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(p, off)
	f.e.decrypt(p[:n], off)
	return n, err
}

// Write implements io.Writer.
func (f *file) Write(p []byte) (int, error) {
	n, err := f.write(p, f.pos.Load(), func(p []byte, _ int64) (int, error) { return f.File.Write(p) })
	f.pos.Add(int64(n))
	return n, err
}

// WriteAt implements io.WriterAt.
func (f *file) WriteAt(p []byte, off int64) (int, error) { return f.write(p, off, f.File.WriteAt) }

// write encrypts p and writes it.
func (f *file) write(p []byte, off int64, below func([]byte, int64) (int, error)) (int, error) {
	e := f.e
	e.mu.Lock()
	defer e.mu.Unlock()
	last := e.last()
	if last.block == nil {
		if off < last.from {
			return 0, f.overwritten(off)
		}
		n, err := below(p, off)
		e.grow(off + int64(n))
		return n, err
	}
	if off != e.end {
		return 0, f.overwritten(off)
	}
	buf := writeBuffers.Get().(*[writeChunk]byte)
	defer writeBuffers.Put(buf)
	done := 0
	for done < len(p) {
		b := buf[:min(len(p)-done, writeChunk)]
		e.encrypt(b, p[done:done+len(b)])
		n, err := below(b, off+int64(done))
		done += n
		e.grow(off + int64(done))
		if err == nil && n < len(b) {
			err = io.ErrShortWrite
		}
		if err != nil {
			e.end, e.stream = unknown, nil // what of it is on the disk is not known: see Rewrite
			return done, err
		}
	}
	return done, nil
}

func (f *file) overwritten(off int64) error {
	if f.e.end == unknown {
		return fmt.Errorf("%w: %s at %d, without a call of Rewrite since it was opened or a write failed", ErrOverwrite, f.s.full(f.path), off)
	}
	return fmt.Errorf("%w: %s at %d, though it goes on at %d", ErrOverwrite, f.s.full(f.path), off, f.e.end)
}

// Close implements io.Closer.
func (f *file) Close() error {
	f.e.mu.Lock()
	f.e.stream = nil // end stays: the file may be opened again
	f.e.mu.Unlock()
	return f.File.Close()
}

// grow notes how far the file reaches at least.
func (e *entry) grow(end int64) {
	if end > e.size.Load() {
		e.size.Store(end)
	}
}

// encrypt encrypts what follows at the end. mu is held: this is the only place where bytes of the key stream
// are used up, each once.
func (e *entry) encrypt(dst, src []byte) {
	if e.stream == nil {
		e.stream = e.last().streamAt(e.end)
	}
	e.stream.XORKeyStream(dst, src)
	e.end += int64(len(src))
}

// decrypt decrypts what was read at an offset.
func (e *entry) decrypt(p []byte, off int64) {
	parts := *e.parts.Load()
	for i := len(parts) - 1; i >= 0 && len(p) > 0; i-- {
		part := &parts[i]
		at := max(part.from-off, 0)
		if at >= int64(len(p)) {
			continue
		}
		if part.block != nil {
			part.streamAt(off+at).XORKeyStream(p[at:], p[at:])
		}
		p = p[:at]
	}
}

// scratches are blocks whose content nobody reads.
var scratches = sync.Pool{New: func() any { return new([aes.BlockSize]byte) }}

// streamAt returns the key stream from an offset of the file on. The counter of the block at an offset is the
// initial one plus the number of the block, modulo 2^128.
func (p *part) streamAt(off int64) cipher.Stream {
	hi, lo := binary.BigEndian.Uint64(p.iv[:8]), binary.BigEndian.Uint64(p.iv[8:])
	lo, carry := bits.Add64(lo, uint64(off)/aes.BlockSize, 0)
	var counter [aes.BlockSize]byte
	binary.BigEndian.PutUint64(counter[:8], hi+carry)
	binary.BigEndian.PutUint64(counter[8:], lo)
	s := cipher.NewCTR(p.block, counter[:])
	if skip := off % aes.BlockSize; skip > 0 {
		b := scratches.Get().(*[aes.BlockSize]byte)
		s.XORKeyStream(b[:skip], b[:skip])
		scratches.Put(b)
	}
	return s
}
