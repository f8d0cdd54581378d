package quota

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/lichendb/lichen/internal/sleep"
)

const (
	// LargeValue is the size from which on single values are accounted for: smaller ones
	// are part of what holds their rows.
	LargeValue = 64 << 10
	// collections is how often garbage is collected for a refused value: what a sync.Pool holds
	// survives the first time.
	collections = 2
	// collectTimeout bounds how long a refused value waits for the garbage collector to tell what has
	// become free, once it has begun to tell. That it begins may take up to collectBegin on a
	// busy machine.
	collectTimeout = 50 * time.Millisecond
	collectBegin   = 2 * time.Second
)

// Values accounts for single large values that nobody gives back, such as the results of functions.
// Their bytes are released when the garbage collector finds the values unreachable.
// A nil *Values gives everything.
type Values struct{ pool *Pool }

// NewValues returns an account of values on a pool, which must outlive them.
func NewValues(p *Pool) *Values { return &Values{pool: p} }

// Reserve takes n bytes for values that are about to be made. If the pool has not as much,
// garbage is collected first: it may be values that are no longer used.
func (v *Values) Reserve(n int64) error {
	if v == nil || v.pool == nil {
		return nil
	}
	return v.pool.reserveCollecting(n, false)
}

// TryReserve is Reserve that collects no garbage, and reports whether there was room.
func (v *Values) TryReserve(n int64) bool {
	return v == nil || v.pool == nil || v.pool.Reserve(n) == nil
}

// collecting is held by the goroutine that collects garbage because a pool has no room. Others wait for
// the outcome.
var collecting sync.Mutex

// reserveCollecting is reserve which, if the pool has not as much, collects garbage first:
// there may be values that are no longer used.
func (p *Pool) reserveCollecting(n int64, leave bool) error {
	err := p.reserve(n, leave)
	if err == nil || p.root().bound.Load() == 0 {
		return err
	}
	collecting.Lock()
	defer collecting.Unlock()
	if err = p.reserve(n, leave); err == nil {
		return nil
	}
	for i := 0; i < collections && err != nil; i++ {
		told := collect()
		end := time.Now().Add(collectBegin)
		for err != nil && time.Now().Before(end) {
			if at := told.Load(); at != nil {
				end = at.Add(collectTimeout)
			}
			_ = sleep.For(context.Background(), time.Millisecond) // releases run on goroutines of their own
			err = p.reserve(n, leave)
		}
	}
	return err
}

// collect collects garbage. What it returns is set once the runtime tells what has become free.
func collect() *atomic.Pointer[time.Time] {
	told := new(atomic.Pointer[time.Time])
	runtime.AddCleanup(&witness{}, func(t *atomic.Pointer[time.Time]) {
		now := time.Now()
		t.Store(&now)
	}, told)
	runtime.GC()
	return told
}

// witness is garbage as soon as it is made. It holds a pointer, since the runtime keeps small values without one
// together with others.
type witness struct{ _ *witness }

func (p *Pool) root() *Pool {
	for p.parent != nil {
		p = p.parent
	}
	return p
}

// bind and unbind keep the root's count of what values hold.
func (p *Pool) bind(n int64) { p.root().bound.Add(n) }

func (p *Pool) unbind(n int64) {
	p.root().bound.Add(-n)
	p.Release(n)
}

// Release gives back n bytes of which no value was made.
func (v *Values) Release(n int64) {
	if v != nil && v.pool != nil {
		v.pool.Release(n)
	}
}

// Room returns buf with room for n more bytes, for one value. A large buffer that has to be made
// is reserved first, and given back once nothing refers to it.
func (v *Values) Room(buf []byte, n int) ([]byte, error) {
	need := len(buf) + n
	if n < LargeValue || need <= cap(buf) {
		return buf, nil
	}
	if err := v.Reserve(int64(need)); err != nil {
		return buf, err
	}
	made := make([]byte, len(buf), need)
	copy(made, buf)
	v.Bind(unsafe.String(unsafe.SliceData(made), need), int64(need))
	return made, nil
}

// Bind makes n reserved bytes those of a value: they are released once nothing refers to
// the memory of s.
func (v *Values) Bind(s string, n int64) {
	if v != nil && v.pool != nil {
		v.pool.bind(n)
		runtime.AddCleanup(unsafe.StringData(s), v.pool.unbind, n)
	}
}
