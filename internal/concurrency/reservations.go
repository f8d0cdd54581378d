package concurrency

import (
	"bytes"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Reservations are the spans of one range in which transactions with many reads ask others to begin no
// writes for a while. They are a courtesy, not a lock: they make it likely that the reads are
// unchanged at the commit, which checks them anyway. All methods are safe for concurrent use.
type Reservations struct {
	n   atomic.Int32 // reservations, expired ones too
	mu  sync.Mutex
	all []*Reservation
}

// Reservation is a span that a transaction has reserved. It is a BlockerSource.
type Reservation struct {
	holder     Holder
	start, end []byte
	until      time.Time
	done       chan struct{} // closed when it is given up
}

// maxReservations bounds the reservations of one range; beyond it none is made.
const maxReservations = 256

// Empty reports whether nothing is reserved, without taking the mutex: it is asked for every write.
func (r *Reservations) Empty() bool { return r.n.Load() == 0 }

// Take reserves [start, end) for a transaction until a time, or extends its reservation. It returns
// false if there are too many.
func (r *Reservations) Take(h Holder, start, end []byte, now, until time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dropLocked(func(v *Reservation) bool {
		return !now.Before(v.until) || v.holder.ID == h.ID && bytes.Equal(v.start, start) && bytes.Equal(v.end, end)
	})
	if len(r.all) >= maxReservations {
		return false
	}
	r.all = append(r.all, &Reservation{
		holder: h, start: bytes.Clone(start), end: bytes.Clone(end), until: until, done: make(chan struct{}),
	})
	r.n.Store(int32(len(r.all)))
	return true
}

// Drop gives up all that a transaction has reserved.
func (r *Reservations) Drop(id TxnID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dropLocked(func(v *Reservation) bool { return v.holder.ID == id })
}

func (r *Reservations) dropLocked(which func(*Reservation) bool) {
	r.all = slices.DeleteFunc(r.all, func(v *Reservation) bool {
		if which(v) {
			close(v.done)
			return true
		}
		return false
	})
	r.n.Store(int32(len(r.all)))
}

// Against returns a reservation of key for which h has to wait, or nil. Between transactions that
// have both reserved something here, an older one never waits for a younger one.
func (r *Reservations) Against(h Holder, key []byte, now time.Time) *Reservation {
	r.mu.Lock()
	defer r.mu.Unlock()
	reserves := slices.ContainsFunc(r.all, func(v *Reservation) bool { return v.holder.ID == h.ID })
	for _, v := range r.all {
		if v.holder.ID == h.ID || !now.Before(v.until) || !spanContains(v.start, v.end, key) {
			continue
		}
		if !reserves || h.youngerThan(v.holder) {
			return v
		}
	}
	return nil
}

// Span returns the reserved span.
func (v *Reservation) Span() (start, end []byte) { return v.start, v.end }

// Holder returns the transaction that has reserved it.
func (v *Reservation) Holder() TxnID { return v.holder.ID }

// Left returns the remaining time of the reservation.
func (v *Reservation) Left(now time.Time) time.Duration { return v.until.Sub(now) }

// Done is closed when the reservation is given up before its time.
func (v *Reservation) Done() <-chan struct{} { return v.done }

// AppendBlockers implements BlockerSource.
func (v *Reservation) AppendBlockers(dst []TxnID) []TxnID {
	select {
	case <-v.done:
		return dst
	default:
		return append(dst, v.holder.ID)
	}
}

// Writers reports whether one of the transactions that which selects holds a write lock in [start, end).
func (t *LockTable) Writers(start, end []byte, which func(TxnID) bool) bool {
	shards := t.shards.Load()
	if shards == nil {
		return false
	}
	if t.writersInRuns(start, end, which) {
		return true
	}
	for i := range shards {
		sh := shards[i].Load()
		if sh != nil && sh.writers(start, end, which) {
			return true
		}
	}
	return false
}

func (sh *lockShard) writers(start, end []byte, which func(TxnID) bool) bool {
	sh.mu.Lock()
	defer sh.mu.Unlock()
	for _, l := range sh.inSpan(start, end) {
		for _, h := range l.holders {
			if h.s.Writes() && which(h.id) {
				return true
			}
		}
	}
	return false
}
