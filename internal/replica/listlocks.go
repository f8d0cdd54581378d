package replica

import "github.com/lichendb/lichen/internal/concurrency"

// EachLock calls fn for the held and the awaited row locks until fn returns false; for none if the
// replica does not lead. It is not a snapshot: locks come and go during the iteration.
func (r *Replica) EachLock(fn func(concurrency.Lock) bool) {
	if r.Leads() {
		r.locks.ForEach(fn)
	}
}
