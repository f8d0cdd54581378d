package raftlog

import (
	"fmt"
	"time"

	"github.com/lichendb/lichen/internal/must"
)

// frame collects the records that one sync will make durable.
type frame struct {
	number  uint64   // counts the frames in the order in which they were begun
	buf     []byte   // room for the frame header, then the records
	locs    []uint32 // the place in buf of each entry's checksum, in order
	reqs    []*request
	records int
	async   int // requests with a callback
	data    bool
	shrink  bool       // a small segment is to take the place of the active one
	marks   []GroupID  // groups whose truncation mark is in the frame
	freed   []*segment // segments the frame declares free
	seg     *segment   // where it was written
	off     int64
}

func newFrame(number uint64) *frame {
	return &frame{number: number, buf: make([]byte, frameHeader, 4<<10)}
}

// recycle empties the frame for reuse. It returns false if the frame is too large to
// be kept.
func (f *frame) recycle() bool {
	clear(f.reqs)
	clear(f.freed)
	*f = frame{buf: f.buf[:frameHeader], locs: f.locs[:0], reqs: f.reqs[:0], marks: f.marks[:0], freed: f.freed[:0]}
	return cap(f.buf) <= maxKeptBuffer
}

// request is one call that waits to become durable.
type request struct {
	ws      []Write
	moves   []move
	destroy bool
	shrink  bool
	group   GroupID // to destroy
	replica uint64

	done func(error)   // AppendAsync
	wake chan struct{} // Append: signalled when the request is done or its caller is to lead
	lead bool
	err  error
}

// getRequest returns an empty request. Each log has a pool of its own, since requests have
// channels, which tests in virtual time must not share.
func (l *Log) getRequest() *request {
	if r, ok := l.requests.Get().(*request); ok {
		return r
	}
	return &request{wake: make(chan struct{}, 1)}
}

func (l *Log) putRequest(r *request) {
	*r = request{wake: r.wake}
	l.requests.Put(r)
}

// Append makes ws durable and returns. The writes of one call take effect together, or
// not at all after an error or a crash. After a crash, a write may be there even if its
// Append had failed or not returned.
//
// If the queue has no leader, the caller becomes the leader: it writes and syncs itself.
// Otherwise its writes join the queue. After the present sync one of the waiting callers
// does the next one for all of them.
func (l *Log) Append(ws []Write) error {
	r := l.getRequest()
	r.ws = ws
	return l.submit(r)
}

// run submits a request other than an append.
func (l *Log) run(fill func(*request)) error {
	r := l.getRequest()
	fill(r)
	return l.submit(r)
}

func (l *Log) submit(r *request) error {
	l.mu.Lock()
	if err := l.enqueue(r); err != nil {
		l.mu.Unlock()
		l.putRequest(r)
		return err
	}
	if l.leading {
		l.mu.Unlock()
		<-r.wake
		if !r.lead {
			err := r.err
			l.putRequest(r)
			return err
		}
		l.mu.Lock()
	} else {
		l.leading = true
		l.delayCommit()
	}
	f := l.leadBatch()
	l.handOff()
	l.mu.Unlock()
	l.wakeOthers(f, r)
	err := r.err
	l.putRequest(r)
	return err
}

// AppendAsync queues ws and returns; done is called once they are durable or have
// failed. The leader of the queue makes the calls of done, one at a time in the order of
// AppendAsync, and waits for them: they must be short and must not call Append,
// AppendAsync, Reset, Destroy or Close. If AppendAsync itself returns an error, done is
// not called. The writes must not be changed until done. AppendAsync waits while the
// queue is full.
func (l *Log) AppendAsync(ws []Write, done func(error)) error {
	r := l.getRequest()
	r.ws, r.done = ws, done
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.enqueue(r); err != nil {
		l.putRequest(r)
		return err
	}
	if !l.leading {
		l.leading = true
		go l.drain()
	}
	return nil
}

// drain writes the queue when only callbacks wait for it.
func (l *Log) drain() {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer must.Report(l.o.OnFatal)
	for {
		f := l.leadBatch()
		l.mu.Unlock()
		l.wakeOthers(f, nil)
		l.mu.Lock()
		if len(l.next.reqs) == 0 || l.leader() != nil {
			l.handOff()
			return
		}
	}
}

// leader returns the first queued request whose caller can lead. mu is held.
func (l *Log) leader() *request {
	if l.next.async == len(l.next.reqs) {
		return nil
	}
	for _, r := range l.next.reqs {
		if r.done == nil {
			return r
		}
	}
	return nil
}

// handOff passes the leader's role on, if there is a queue. mu is held.
func (l *Log) handOff() {
	if len(l.next.reqs) == 0 {
		l.leading = false
		l.kick()
		l.changed.Broadcast()
		return
	}
	if r := l.leader(); r != nil {
		r.lead = true
		r.wake <- struct{}{}
		return
	}
	go l.drain()
}

// leadBatch writes and syncs the queue as one frame, applies it and calls the callbacks.
// The caller holds mu, which leadBatch releases meanwhile.
func (l *Log) leadBatch() *frame {
	f := l.takeFrame()
	err := l.failed
	if err == nil {
		l.mu.Unlock()
		began := time.Now()
		err = l.commit(f)
		took := time.Since(began)
		l.mu.Lock()
		l.commitDelay.synced(took)
	}
	l.finish(f, err)
	if f.async > 0 {
		l.mu.Unlock()
		for _, r := range f.reqs {
			if r.done != nil {
				r.done(r.err)
			}
		}
		l.mu.Lock()
	}
	return f
}

// wakeOthers wakes the callers of the requests in f but own's, and gives the frame back.
func (l *Log) wakeOthers(f *frame, own *request) {
	for _, r := range f.reqs {
		switch {
		case r.done != nil:
			l.putRequest(r)
		case r != own:
			r.wake <- struct{}{}
		}
	}
	if !f.recycle() {
		return
	}
	l.mu.Lock()
	if len(l.idle) < 2 {
		l.idle = append(l.idle, f)
	}
	l.mu.Unlock()
}

// takeFrame takes the queue, adds the log's own records, and begins a new queue. mu is
// held.
func (l *Log) takeFrame() *frame {
	f := l.next
	if n := len(l.idle); n > 0 {
		l.next, l.idle = l.idle[n-1], l.idle[:n-1]
		l.next.number = f.number + 1
	} else {
		l.next = newFrame(f.number + 1)
	}
	l.changed.Broadcast() // room in the queue
	l.addControl(f)
	return f
}

// addControl adds the pending truncation marks, and declares the dead segments free. mu
// is held.
func (l *Log) addControl(f *frame) {
	for id := range l.marks {
		g := l.groups[id]
		if g == nil || !g.exists {
			continue
		}
		f.buf = appendNumbers(f.buf, recTruncate, uint64(id), g.Replica, g.Truncated.Index, g.Truncated.Term)
		f.records++
		f.marks = append(f.marks, id)
	}
	clear(l.marks)
	for _, s := range l.dead {
		f.buf = appendNumbers(f.buf, recFreed, uint64(s.id))
		f.records++
		f.freed = append(f.freed, s)
	}
	l.dead = l.dead[:0]
}

// enqueue checks r against the state of its groups with all queued writes, waits for room
// and encodes r into the next frame. mu is held, but not during the wait.
func (l *Log) enqueue(r *request) error {
	size := int64(0)
	for i := range r.ws {
		for j := range r.ws[i].Entries {
			size += int64(len(r.ws[i].Entries[j].Data)) + entryOverhead
		}
	}
	if size > MaxAppendBytes {
		return fmt.Errorf("%w: %d bytes", ErrTooLarge, size)
	}
	for l.failed == nil && !l.closing && len(l.next.reqs) > 0 && int64(len(l.next.buf))+size > l.queueLimit {
		l.changed.Wait()
	}
	if l.failed != nil {
		return l.failed
	}
	if l.closing {
		return ErrClosed
	}
	if err := l.admit(r); err != nil {
		return err
	}
	l.next.encode(r)
	l.next.reqs = append(l.next.reqs, r)
	l.commitDelay.arrived()
	if r.done != nil {
		l.next.async++
	}
	return nil
}

// encode adds the records of r.
func (f *frame) encode(r *request) {
	f.shrink = f.shrink || r.shrink
	for i := range r.ws {
		w := &r.ws[i]
		if w.Reset != nil {
			f.buf = appendNumbers(f.buf, recReset, uint64(w.Group), w.Replica, w.Reset.Index, w.Reset.Term)
			f.records++
		}
		if len(w.Entries) > 0 {
			f.buf, f.locs = appendEntries(f.buf, f.locs, recEntries, w.Group, w.Replica, w.Entries)
			f.records++
		}
		if h := w.HardState; h != nil {
			f.buf = appendNumbers(f.buf, recHardState, uint64(w.Group), w.Replica, h.Term, h.Vote, h.Commit)
			f.records++
		}
		f.data = true
	}
	for i := range r.moves {
		m := &r.moves[i]
		if len(m.entries) == 0 {
			continue // replaced or truncated since they were read
		}
		f.buf, f.locs = appendEntries(f.buf, f.locs, recMoved, m.group.id, m.replica, m.entries)
		f.records++
		f.data = true
	}
	if r.destroy {
		f.buf = appendNumbers(f.buf, recDestroy, uint64(r.group), r.replica)
		f.records++
	}
}

// admit checks all of r, and then enters it into the queued states of its groups. mu is
// held.
func (l *Log) admit(r *request) error {
	if r.destroy {
		return l.admitDestroy(r)
	}
	l.undo = l.undo[:0]
	for i := range r.ws {
		g := l.lookup(r.ws[i].Group)
		l.undo = append(l.undo, g.queued)
		if err := g.admit(&r.ws[i], l.next.number); err != nil {
			for j := i; j >= 0; j-- {
				g := l.groups[r.ws[j].Group]
				if g == nil {
					continue // forgotten by a later write of the same group
				}
				g.queued = l.undo[j]
				l.forget(g)
			}
			return fmt.Errorf("%w: group %d: %w", ErrInvalid, r.ws[i].Group, err)
		}
	}
	for i := range r.moves {
		r.moves[i].admit(l.applied)
	}
	return nil
}

func (l *Log) admitDestroy(r *request) error {
	g := l.lookup(r.group)
	if q := &g.queued; q.exists && q.replica != r.replica {
		defer l.forget(g)
		return fmt.Errorf("%w: group %d: destroy of replica %d, but the log is of %d", ErrInvalid, r.group, r.replica, q.replica)
	}
	g.queued = queuedState{writes: g.queued.writes + 1, low: g.queued.low}
	g.queued.replaces(l.next.number, 0)
	return nil
}

// admit checks w against the queued state of the group and updates it.
func (g *group) admit(w *Write, frame uint64) error {
	q := &g.queued
	if q.exists && q.replica != w.Replica {
		return fmt.Errorf("write of replica %d, but the log is of %d", w.Replica, q.replica)
	}
	if w.Reset == nil && len(w.Entries) == 0 && w.HardState == nil {
		return fmt.Errorf("empty write")
	}
	if w.Reset != nil && w.Reset.Index > MaxIndex || len(w.Entries) > 0 && w.Entries[0].Index > MaxIndex {
		return fmt.Errorf("index beyond %d", uint64(MaxIndex))
	}
	mark, last, low := q.mark, q.last, noIndex
	if w.Reset != nil {
		mark, last, low = w.Reset.Index, w.Reset.Index, 0
	}
	if n := uint64(len(w.Entries)); n > 0 {
		first := w.Entries[0].Index
		if first <= mark || first > last+1 {
			return fmt.Errorf("entries from %d on do not continue the log, which is (%d, %d]", first, mark, last)
		}
		for i := range w.Entries {
			if w.Entries[i].Index != first+uint64(i) {
				return fmt.Errorf("entry %d follows entry %d", w.Entries[i].Index, first+uint64(i)-1)
			}
		}
		last, low = first+n-1, min(low, first)
	}
	q.writes++
	q.exists, q.replica, q.mark, q.last = true, w.Replica, mark, last
	q.replaces(frame, low)
	return nil
}
