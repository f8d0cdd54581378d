package quota

import (
	"fmt"
	"math"
	"sync/atomic"

	"github.com/lichendb/lichen/internal/must"
)

// An Account reserves from its pool in steps of firstChunk at first, which grow with its
// size up to chunk: a statement may have tens of thousands of small accounts, one for each
// group.
const (
	firstChunk = 256
	chunk      = 64 << 10
)

const (
	// SmallAccount is the size up to which an account may take from the part of a pool that is kept
	// for accounts that begin.
	SmallAccount = 128 << 10
	// keptPart: the keptPart-th part of the limit is kept.
	keptPart = 4
	// LargeAccount is the size from which an account counts as large: the large ones share the rest of
	// the pool.
	LargeAccount = 1 << 20
)

// ExceededError says that a pool could not give the requested bytes.
type ExceededError struct {
	Pool      string // the pool whose limit stood in the way
	Limit     int64
	Used      int64
	Requested int64
}

// Error implements error.
func (e *ExceededError) Error() string {
	return fmt.Sprintf("memory limit of %s reached: %d bytes requested, %d of %d in use", e.Pool, e.Requested, e.Used, e.Limit)
}

// Pool is a node in the tree of memory limits. A nil *Pool gives everything.
type Pool struct {
	name   string
	parent *Pool
	limit  int64 // 0: none of its own
	used   atomic.Int64
	peak   atomic.Int64
	bound  atomic.Int64 // of used: what Values has bound, and the garbage collector gives back
	large  atomic.Int64 // of a root: accounts that hold LargeAccount
}

// NewPool returns a root pool; limit 0 means no limit.
func NewPool(name string, limit int64) *Pool {
	return &Pool{name: name, limit: limit}
}

// Child returns a pool below p; limit 0 means only the limits above apply.
func (p *Pool) Child(name string, limit int64) *Pool {
	return &Pool{name: name, parent: p, limit: limit}
}

// Used returns the bytes now reserved from p.
func (p *Pool) Used() int64 { return p.used.Load() }

// Peak returns the most bytes that were ever reserved at once.
func (p *Pool) Peak() int64 { return p.peak.Load() }

// Limit returns the limit, 0 for none.
func (p *Pool) Limit() int64 {
	if p == nil {
		return 0
	}
	return p.limit
}

// Share returns how much one of the large accounts may hold if all hold the same.
func (p *Pool) Share() int64 {
	if p == nil || p.root().limit == 0 {
		return math.MaxInt64
	}
	root := p.root()
	return (root.limit - root.limit/keptPart) / max(root.large.Load(), 1)
}

// Reserve takes n bytes from p and all pools above it, or from none of them
// and returns an *ExceededError.
func (p *Pool) Reserve(n int64) error { return p.reserve(n, false) }

// Room fails as Reserve does if a holder of much may not take n bytes more.
func (p *Pool) Room(n int64) error {
	err := p.reserve(n, true)
	if err == nil {
		p.Release(n)
	}
	return err
}

// reserve is Reserve. If leave is set, it leaves the part that is kept for accounts that begin.
func (p *Pool) reserve(n int64, leave bool) error {
	for q := p; q != nil; q = q.parent {
		if err := q.take(n, leave); err != nil {
			for r := p; r != q; r = r.parent {
				r.used.Add(-n)
			}
			return err
		}
	}
	return nil
}

// take reserves n bytes from p alone. It may fail although n bytes would fit
// once a reservation that another goroutine is about to undo is undone.
func (p *Pool) take(n int64, leave bool) error {
	now := p.used.Add(n)
	most := p.limit
	if leave {
		most -= p.limit / keptPart
	}
	if p.limit > 0 && now > most {
		p.used.Add(-n)
		return &ExceededError{Pool: p.name, Limit: p.limit, Used: now - n, Requested: n}
	}
	for {
		peak := p.peak.Load()
		if now <= peak || p.peak.CompareAndSwap(peak, now) {
			return nil
		}
	}
}

// Release gives n bytes back.
func (p *Pool) Release(n int64) {
	for q := p; q != nil; q = q.parent {
		if q.used.Add(-n) < 0 { // asked first: must.True's arguments allocate
			must.True(false, "quota invariant 3: pool %s released more than was reserved", q.name)
		}
	}
}

// Account is one holder of memory. The zero Account is usable and unlimited;
// Init binds it to a pool.
type Account struct {
	pool     *Pool
	used     int64
	reserved int64
	large    bool // counted in Pool.large
	asks     bool // see AsksForRoom
}

// Init binds an empty account to a pool (nil: no limit).
func (a *Account) Init(p *Pool) {
	must.True(a.reserved == 0, "quota: account rebound while it holds memory")
	a.pool = p
}

// Used returns the bytes the account holds.
func (a *Account) Used() int64 { return a.used }

// Grow adds n bytes to what the account holds.
func (a *Account) Grow(n int64) error {
	want := a.used + n
	if want > a.reserved && a.pool != nil {
		if err := a.reserve(want); err != nil {
			return err
		}
	}
	a.used = want
	return nil
}

// reserve makes the reservation cover want: rounded up when there is room,
// exact when there is not.
func (a *Account) reserve(want int64) error {
	need := want - a.reserved
	// Holders that grow large take larger chunks: an eighth of what they have.
	round := max(firstChunk, min(a.reserved, chunk), (a.reserved/8)&^(chunk-1))
	rounded := (need + round - 1) / round * round
	leave := want > SmallAccount && !a.asks
	if a.pool.reserve(rounded, leave) != nil {
		if err := a.pool.reserveCollecting(need, leave); err != nil {
			return err
		}
		rounded = need
	}
	a.reserved += rounded
	a.count()
	return nil
}

// AsksForRoom says that the owner of the account asks Pool.Room before it takes much. Its reservation may
// then come from the part that is kept, since others may have taken the rest meanwhile.
func (a *Account) AsksForRoom() { a.asks = true }

// count counts the account among the large ones, or no more.
func (a *Account) count() {
	if large := a.reserved >= LargeAccount; large != a.large {
		a.large = large
		if large {
			a.pool.root().large.Add(1)
		} else {
			a.pool.root().large.Add(-1)
		}
	}
}

// Shrink gives back n bytes; the reservation follows in chunks.
func (a *Account) Shrink(n int64) {
	a.used -= n
	must.True(a.used >= 0, "quota: account shrunk below zero")
	if spare := a.reserved - a.used; a.pool != nil && spare > 4*chunk {
		back := spare - chunk
		a.pool.Release(back)
		a.reserved -= back
		a.count()
	}
}

// Hand empties the account without giving anything back: the caller answers for the bytes
// it returns.
func (a *Account) Hand() int64 {
	n := a.reserved
	a.used, a.reserved = 0, 0
	a.count()
	return n
}

// Close gives back everything; the account may be used again.
func (a *Account) Close() {
	if a.reserved > 0 {
		a.pool.Release(a.reserved)
	}
	a.used, a.reserved = 0, 0
	a.count()
}
