package wire

import (
	"sync"

	"github.com/lichendb/lichen/internal/quota"
)

const (
	// readSize is the size of a pooled read buffer; longer messages get one of
	// their own.
	readSize = 16 << 10
	// writeSize is what an output buffer begins with.
	writeSize = 8 << 10
	// maxPooledWrite is the largest output buffer that goes back to the pool.
	maxPooledWrite = 128 << 10
	// flushAt is how much output is held back at most until it is written.
	flushAt = 64 << 10
	// longOutput is the size from which on a message to the client is accounted for, and its
	// buffer given up once it is written.
	longOutput = 1 << 20
)

// Buffers is a pool of read and output buffers shared by many connections. The
// zero value is ready.
type Buffers struct {
	// Mem accounts for the messages that are longer than a pooled buffer; nil is no limit.
	Mem *quota.Pool

	read  sync.Pool // *[readSize]byte
	write sync.Pool // *writeBuf
}

type writeBuf struct{ b []byte }

func (p *Buffers) getRead() *[readSize]byte {
	if b, ok := p.read.Get().(*[readSize]byte); ok {
		return b
	}
	return new([readSize]byte)
}

func (p *Buffers) getWrite() *writeBuf {
	if b, ok := p.write.Get().(*writeBuf); ok {
		return b
	}
	return &writeBuf{b: make([]byte, 0, writeSize)}
}

func (p *Buffers) putWrite(b *writeBuf) {
	if cap(b.b) <= maxPooledWrite {
		p.write.Put(b)
	}
}
