package store

import "sync"

// maxWorkers bounds the goroutines that process raft groups. Most of them wait for the
// log, whose next sync is for all who wait: when a node dies thousands of groups elect
// leaders, and the fewer syncs they take the sooner that is done.
const maxWorkers = 512

// workers runs functions on goroutines that end when there is nothing to do.
type workers struct {
	mu      sync.Mutex
	queue   []func()
	running int
	wg      sync.WaitGroup
}

// schedule runs fn soon.
func (w *workers) schedule(fn func()) {
	w.mu.Lock()
	w.queue = append(w.queue, fn)
	if w.running < maxWorkers {
		w.running++
		w.wg.Go(w.run)
	}
	w.mu.Unlock()
}

func (w *workers) run() {
	for {
		w.mu.Lock()
		if len(w.queue) == 0 {
			w.running--
			w.mu.Unlock()
			return
		}
		fn := w.queue[0]
		w.queue[0] = nil
		w.queue = w.queue[1:]
		w.mu.Unlock()
		fn()
	}
}

// close waits until all is done.
func (w *workers) close() { w.wg.Wait() }
