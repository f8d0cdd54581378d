package operator

import "sync/atomic"

// Workers are the goroutines that statements of a node may have beside one each. It is safe for
// concurrent use; nil has none.
type Workers struct{ free atomic.Int64 }

// NewWorkers returns n workers.
func NewWorkers(n int) *Workers {
	w := &Workers{}
	w.free.Store(int64(n))
	return w
}

// Take takes up to n workers, as many as are free, and returns how many.
func (w *Workers) Take(n int) int {
	if w == nil || n <= 0 {
		return 0
	}
	for {
		free := w.free.Load()
		taken := min(int64(n), free)
		if w.free.CompareAndSwap(free, free-taken) {
			return int(taken)
		}
	}
}

// Give gives back what Take took.
func (w *Workers) Give(n int) {
	if w != nil {
		w.free.Add(int64(n))
	}
}
