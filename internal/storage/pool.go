package storage

import (
	"math/rand/v2"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/lichendb/lichen/internal/hlc"
)

const (
	// poolSlots bounds the idle iterators of one pool; more are closed at once.
	poolSlots = 16
	// maxIdleValue is the size of the last value from which an iterator is closed rather than kept: an
	// idle iterator holds the blocks of its last value, in addition to the cache.
	maxIdleValue = 64 << 10
)

// PooledIter is an iterator from a pool of the engine, with buffers for the
// keys to seek. It sees everything that was committed before it was acquired.
type PooledIter struct {
	*Iterator
	pool *iterPool
	gen  uint64
	// KeyBuf and PrefixBuf are scratch space for the holder.
	KeyBuf, PrefixBuf []byte
	bounds            []byte
	opts              pebble.IterOptions
	block             heldBlock
}

// commitCount reports whether anything was written since some moment. A commit
// may become visible at any time between its begin and its end, so an iterator
// is as good as a new one exactly if no commit was under way when it was opened
// and none has begun since; with a weaker rule a reader could miss what another
// reader has already seen.
type commitCount struct {
	begun, done atomic.Uint64
}

// stale is the generation of an iterator that must not be reused.
const stale = ^uint64(0)

func (c *commitCount) begin() { c.begun.Add(1) }
func (c *commitCount) end()   { c.done.Add(1) }

// now is the generation of an iterator opened after this call.
func (c *commitCount) now() uint64 {
	done := c.done.Load() // first: begun can only be ahead of it
	if c.begun.Load() != done {
		return stale
	}
	return done
}

// iterPool keeps idle iterators for reuse: opening one costs as much as a seek.
type iterPool struct {
	e     *Engine
	slots [poolSlots]atomic.Pointer[PooledIter]
	// spare keeps structs without an iterator.
	spare [poolSlots]atomic.Pointer[PooledIter]
}

// AcquirePoint returns an iterator without bounds for SeekPrefixGE. Release it
// soon: it pins memtables and files.
func (e *Engine) AcquirePoint() (*PooledIter, error) { return e.points.acquire() }

// AcquireScan returns an iterator whose bounds are set with SetSpan.
func (e *Engine) AcquireScan() (*PooledIter, error) { return e.scans.acquire() }

func (p *iterPool) acquire() (*PooledIter, error) {
	gen := p.e.commits.now()
	i := rand.Uint32() % poolSlots
	it := p.slots[i].Swap(nil)
	if it == nil {
		i = (i + 1) % poolSlots
		it = p.slots[i].Swap(nil)
	}
	if it != nil {
		if gen != stale && it.gen == gen {
			return it, nil
		}
		_ = it.Iterator.Close() // an error of an idle iterator was reported when it was used
		it.Iterator = nil
	} else if it = p.spare[i].Swap(nil); it == nil {
		it = &PooledIter{pool: p}
	}
	it.gen = gen
	var err error
	if it.Iterator, err = p.e.openIter(&it.opts); err != nil {
		return nil, p.e.readError(err)
	}
	return it, nil
}

// Release gives the iterator back. A failed iterator must be released too; its
// error must have been taken with Error before.
func (it *PooledIter) Release() {
	p := it.pool
	if it.gen != stale && it.gen == p.e.commits.begun.Load() && it.Iterator.Error() == nil {
		if p.put(it) {
			return
		}
	}
	_ = it.Iterator.Close() // its errors were taken by the holder
	it.Iterator = nil
	it.free() // the block is gone
	p.spare[rand.Uint32()%poolSlots].CompareAndSwap(nil, it)
}

func (p *iterPool) put(it *PooledIter) bool {
	i := rand.Uint32()
	for k := range uint32(2) {
		if p.slots[(i+k)%poolSlots].CompareAndSwap(nil, it) {
			return true
		}
	}
	return false
}

// ValueAndErr is Fetch for who needs no reservation.
func (it *PooledIter) ValueAndErr() ([]byte, error) { return it.Fetch(nil) }

// SeekVersion positions the iterator at the newest version of key that is not
// newer than ts, and reports whether there is one.
func (it *PooledIter) SeekVersion(key []byte, ts hlc.Timestamp) bool {
	it.KeyBuf = AppendEngineKey(it.KeyBuf[:0], key, ts)
	return it.SeekPrefixGE(it.KeyBuf)
}

// SetSpan bounds the iterator to the user keys from start up to but not
// including end (nil for no bound).
func (it *PooledIter) SetSpan(start, end []byte) {
	buf := AppendEngineKey(it.bounds[:0], start, hlc.Timestamp{})
	n := len(buf)
	var upper []byte
	if end != nil {
		buf = AppendEngineKey(buf, end, hlc.Timestamp{})
		upper = buf[n:]
	}
	it.bounds = buf
	it.SetBounds(buf[:n], upper)
}

// sweep closes the idle iterators, so that they do not keep old memtables and
// files alive. The caller has made those in use stale, so that they are closed
// when they are released.
func (p *iterPool) sweep() {
	for i := range p.slots {
		if it := p.slots[i].Swap(nil); it != nil {
			_ = it.Iterator.Close() // idle: nobody waits for its errors
			it.Iterator = nil
		}
	}
}
