package pgwire

import (
	"sync"
	"time"
)

// watch ends the statements of clients that are gone. It looks at the connections that have
// something running, and runs only while there are any: a connection joins with the first
// message after it was found idle, so that thousands of idle ones cost nothing.
type watch struct {
	mu      sync.Mutex
	conns   []*conn
	running bool
	// alone holds a value once the server's last connection has ended: the watch need not
	// wait for its next look to end.
	alone chan struct{}
}

// join has the watch look at a connection. Its goroutine has set busy before.
func (w *watch) join(c *conn) {
	if !c.watched.CompareAndSwap(false, true) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conns = append(w.conns, c)
	if !w.running {
		w.running = true
		go w.run()
	}
}

func (w *watch) run() {
	t := time.NewTicker(checkEvery)
	defer t.Stop()
	var conns []*conn
	for w.busy(&conns) {
		select {
		case now := <-t.C:
			for _, c := range conns {
				c.check(now)
			}
		case <-w.alone:
		}
		clear(conns)
	}
}

// busy leaves out the connections that have become idle and lists the others; without any it
// ends the watch.
func (w *watch) busy(list *[]*conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	kept := w.conns[:0]
	for _, c := range w.conns {
		if c.stays() {
			kept = append(kept, c)
		}
	}
	clear(w.conns[len(kept):])
	w.conns = kept
	*list = append((*list)[:0], kept...)
	w.running = len(kept) > 0
	return w.running
}

// stays reports whether the watch keeps a connection. One that gets a message meanwhile either
// sees that it is no longer watched, and joins, or is seen to be busy.
func (c *conn) stays() bool {
	if c.busy.Load() {
		return true
	}
	c.watched.Store(false)
	return c.busy.Load() && c.watched.CompareAndSwap(false, true)
}

// noteLast tells the watch that the last connection has ended.
func (w *watch) noteLast() {
	select {
	case w.alone <- struct{}{}:
	default:
	}
}
