package replica

import "github.com/lichendb/lichen/internal/concurrency"

// EachLock calls fn for the held and the awaited row locks until fn returns false. A replica that does not
// lead has none. The iteration is no snapshot: locks come and go meanwhile.
func (r *Replica) EachLock(fn func(concurrency.Lock) bool) {
	if r.Leads() {
		r.locks.ForEach(fn)
	}
}
