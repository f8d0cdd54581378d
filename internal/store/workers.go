package store

import "sync"

const (
	// maxWorkers bounds the goroutines that process raft groups. Most of them wait for the
	// log, whose next sync is for all who wait: when a node dies thousands of groups elect
	// leaders, and the fewer syncs they take the sooner that is done.
	maxWorkers = 512
	// maxIdleWorkers stay for what comes next. A new goroutine grows its stack anew, which
	// costs more than most of what a group has to do.
	maxIdleWorkers = 16
)

// workers runs functions on goroutines, of which few outlive what there is to do.
type workers struct {
	mu      sync.Mutex
	more    *sync.Cond // a function for a worker that waits, or the end
	queue   []func()
	running int // the idle ones included
	idle    int // wait, and nobody has woken them
	closed  bool
	wg      sync.WaitGroup
}

func newWorkers() *workers {
	w := &workers{}
	w.more = sync.NewCond(&w.mu)
	return w
}

// schedule runs fn soon.
func (w *workers) schedule(fn func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue = append(w.queue, fn)
	switch {
	case w.idle > 0:
		w.idle--
		w.more.Signal()
	case w.running < maxWorkers:
		w.running++
		w.wg.Go(w.run)
	}
}

func (w *workers) run() {
	for fn := w.next(); fn != nil; fn = w.next() {
		fn()
	}
}

// next is what has waited longest, or nil when its caller is to end.
func (w *workers) next() func() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.queue) == 0 {
		if w.closed || w.idle == maxIdleWorkers {
			w.running--
			return nil
		}
		w.idle++
		w.more.Wait()
	}
	fn := w.queue[0]
	w.queue[0] = nil
	w.queue = w.queue[1:]
	return fn
}

// close waits until all is done.
func (w *workers) close() {
	w.mu.Lock()
	w.closed, w.idle = true, 0
	w.more.Broadcast()
	w.mu.Unlock()
	w.wg.Wait()
}
