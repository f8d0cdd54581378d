package copyio

import (
	"bytes"
	"io"

	"github.com/lichendb/lichen/internal/quota"
)

const (
	// maxReplay is how much data of COPY FROM is kept, so that the statement can be run again
	// after a conflict: the client is not asked for it twice.
	maxReplay = 64 << 20
	// replayStep is how much memory is reserved for it at a time.
	replayStep = 64 << 10
	// chunkOverhead is what a chunk takes beside its bytes.
	chunkOverhead = 48
	// replayShare is which part of the node's memory such data may take, all of it together. A
	// statement that finds none left goes on without.
	replayShare = 4
)

// ReplayPool returns the pool of the data that is kept of COPY FROM.
func ReplayPool(mem *quota.Pool) *quota.Pool {
	if mem == nil {
		return nil
	}
	return mem.Child("data of COPY", mem.Limit()/replayShare)
}

// Source is the data that a client sends.
type Source interface {
	// Next returns the next chunk, which is valid until the following call; io.EOF at the end.
	Next() ([]byte, error)
}

// Input is the data of COPY FROM, of which it keeps the beginning.
type Input struct {
	src  Source
	mem  *quota.Pool
	kept [][]byte
	at   int   // chunks of kept that the present attempt has read
	size int   // bytes of kept
	held int64 // reserved for them
	over bool  // what came was not kept, or was lost: there is no further attempt
}

// NewInput returns the data of src, of which mem bounds what is kept.
func NewInput(src Source, mem *quota.Pool) *Input { return &Input{src: src, mem: mem} }

// Over reports whether the data that was read can't be read again.
func (c *Input) Over() bool { return c.over }

// Begin begins an attempt.
func (c *Input) Begin() { c.at = 0 }

// Next returns the next chunk, as Source.Next does.
func (c *Input) Next() ([]byte, error) {
	if c.at < len(c.kept) {
		c.at++
		return c.kept[c.at-1], nil
	}
	p, err := c.src.Next()
	switch {
	case err == nil && !c.over:
		c.keep(p)
	case err != nil && err != io.EOF: // what was lost is not sent again
		c.over = true
		c.Drop()
	}
	return p, err
}

func (c *Input) keep(p []byte) {
	size := c.size + len(p) + chunkOverhead
	if size > maxReplay || !c.reserve(int64(size)) {
		c.over = true
		c.Drop()
		return
	}
	c.kept, c.size = append(c.kept, bytes.Clone(p)), size
	c.at = len(c.kept)
}

func (c *Input) reserve(size int64) bool {
	if c.mem == nil || size <= c.held {
		return true
	}
	n := max(size-c.held, replayStep)
	if c.mem.Reserve(n) != nil {
		return false
	}
	c.held += n
	return true
}

// Drop gives up what is kept.
func (c *Input) Drop() {
	if c.held > 0 {
		c.mem.Release(c.held)
	}
	c.kept, c.at, c.size, c.held = nil, 0, 0, 0
}
