package crypt

import (
	"crypto/cipher"
	"sync/atomic"

	"github.com/lichendb/lichen/internal/sleep"
)

// part is what a file holds from an offset on, up to the next part: bytes under one data key and one key
// stream.
type part struct {
	from  int64
	key   uint32 // Plain: not encrypted
	iv    [16]byte
	block cipher.Block // nil: not encrypted
}

// unknown is the end of a file into which this process has not written.
const unknown = -1

// entry is a file of the registry. Open files keep it when it has got another name, or none.
type entry struct {
	path  string // within the store; guarded by Store.writing
	links int    // names; guarded by Store.writing
	// parts are in the order of their offsets, the first from 0 on.
	parts atomic.Pointer[[]part]
	size  atomic.Int64

	// mu guards what follows. It is held while the file is written.
	mu sleep.Mutex
	// end is where the last part goes on: all before it has been written, nothing behind it.
	end int64
	// stream is the key stream at end; nil: not begun.
	stream cipher.Stream
}

func newEntry(path string, parts []part, end int64) *entry {
	e := &entry{path: path, links: 1, mu: sleep.NewMutex(), end: end}
	e.parts.Store(&parts)
	return e
}

// last returns the part that writes go to.
func (e *entry) last() *part {
	parts := *e.parts.Load()
	return &parts[len(parts)-1]
}

// cut returns the parts that begin before an offset, with another one from there on.
func cut(parts []part, next part) []part {
	out := make([]part, 0, len(parts)+1)
	for _, p := range parts {
		if p.from < next.from {
			out = append(out, p)
		}
	}
	return append(out, next)
}

// addBytes adds up the bytes under each key.
func (e *entry) addBytes(size int64, byKey map[uint32]int64) {
	parts := *e.parts.Load()
	for i, p := range parts {
		end := size
		if i+1 < len(parts) {
			end = min(end, parts[i+1].from)
		}
		if n := end - p.from; n > 0 {
			byKey[p.key] += n
		}
	}
}
