package replica

import "github.com/lichendb/lichen/internal/concurrency"

// EachLock calls fn for the row locks that are held or waited for here, if the replica
// leads its range, until fn returns false. It takes no part in what goes on: locks come
// and go meanwhile.
func (r *Replica) EachLock(fn func(concurrency.Lock) bool) {
	if r.Leads() {
		r.locks.ForEach(fn)
	}
}
