package membership

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// ErrStruckOff says that the registration is gone.
var ErrStruckOff = errors.New("catalog: the gateway is not registered any more")

// errLost is for a transaction whose registration has ended.
func errLost() error {
	return &kvpb.RetryError{Reason: "this node had lost contact with its cluster while the transaction ran"}
}

// Timing says how long a registration lasts and how long others wait for it.
type Timing struct {
	Validity time.Duration // of a lease
	Renew    time.Duration // between renewals
	Wait     time.Duration // of a statement for a renewal
	Backoff  time.Duration // between attempts
	Deadline time.Duration // of striking a gateway off
}

// DefaultTiming is that of nodes; tests set another. A change of the schema waits for Validity after a
// gateway has died. A node that is silent for as long loses its transactions anyway (liveness.DeadGatewayAfter).
func DefaultTiming() Timing {
	return Timing{
		Validity: 5 * time.Second, Renew: time.Second, Wait: 5 * time.Second, Backoff: 50 * time.Millisecond,
		Deadline: 3 * time.Second,
	}
}

// Options are what a Membership works with.
type Options struct {
	DB          *kv.DB
	Clock       *hlc.Clock
	Node        kvpb.NodeID
	Incarnation int64
	Timing      Timing
}

// Membership is a node's registration among those that serve SQL.
type Membership struct {
	Options

	// ValidUntil is the physical time, by this node's clock, up to which what is cached may be used;
	// 0: it may not.
	ValidUntil atomic.Int64
	// registrations counts them. What a transaction uses under another one than the present is void.
	registrations atomic.Uint64
	registration  atomic.Int64 // the present one; 0: none
	// unsettled is until when commits of this node whose outcome is unknown may happen.
	unsettled atomic.Int64

	mu sync.Mutex
	// distrusted counts the calls of Distrust.
	distrusted int
	atBegin    int // distrusted when the last registration began
}

// New returns the membership of a node that has not registered.
func New(o Options) *Membership { return &Membership{Options: o} }

// Registration returns the present registration, 0 if there is none.
func (m *Membership) Registration() int64 { return m.registration.Load() }

// Begin writes the node's records: from then on others know of it. It returns the registration, which
// Complete makes the present one once the caller has loaded what it is to cache.
func (m *Membership) Begin(ctx context.Context) (registration int64, err error) {
	m.mu.Lock()
	m.atBegin = m.distrusted
	m.mu.Unlock()
	reg := m.DB.Clock().Now().WallTime
	expires := m.Clock.PhysicalNow() + int64(m.Timing.Validity)
	return reg, m.DB.Run(ctx, func(ctx context.Context, t *kv.Txn) error {
		// Commits under a former registration that has not expired may be on their way.
		var former lease
		if _, err := lockRecord(ctx, t, leaseKey(m.Node), lock.Update, &former); err != nil {
			return err
		}
		if err := put(ctx, t, leaseKey(m.Node), lease{reg, expires}); err != nil {
			return err
		}
		if err := put(ctx, t, memberKey(m.Node), Member{Node: m.Node, Incarnation: m.Incarnation, Registration: reg}); err != nil {
			return err
		}
		return m.noteLeft(ctx, t, former.Expiration)
	})
}

// Complete makes a registration the present one. What was loaded since Begin may be used after the next
// Renew: it is true only if the registration lasted all the time. The error is ErrStruckOff if the
// node has distrusted what it loaded.
func (m *Membership) Complete(registration int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.distrusted != m.atBegin {
		return ErrStruckOff
	}
	m.registrations.CompareAndSwap(0, 1)
	m.registration.Store(registration)
	return nil
}

// Renew prolongs the registration.
func (m *Membership) Renew(ctx context.Context) error {
	reg := m.registration.Load()
	var expires int64
	err := m.DB.Run(ctx, func(ctx context.Context, t *kv.Txn) error {
		var l lease
		if _, err := lockRecord(ctx, t, leaseKey(m.Node), lock.Update, &l); err != nil {
			return err
		}
		if reg == 0 || l.Registration != reg {
			return ErrStruckOff
		}
		expires = m.Clock.PhysicalNow() + int64(m.Timing.Validity)
		return put(ctx, t, leaseKey(m.Node), lease{reg, expires})
	})
	m.mu.Lock()
	defer m.mu.Unlock()
	if err == nil && m.registration.Load() == reg { // else Distrust came in between
		m.ValidUntil.Store(expires - int64(m.Clock.MaxOffset()))
	}
	return err
}

// KeepAlive renews the registration until ctx ends, and registers again if it was taken away.
func (m *Membership) KeepAlive(ctx context.Context, register func(context.Context) error) {
	wait := m.Timing.Renew
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		c, cancel := context.WithTimeout(ctx, m.Timing.Validity)
		err := m.Renew(c)
		if errors.Is(err, ErrStruckOff) {
			m.lose()
			err = register(c)
		}
		cancel()
		wait = m.Timing.Renew
		if err != nil {
			wait = m.Timing.Backoff
		}
	}
}

// lose makes everything that transactions have used so far void.
func (m *Membership) lose() {
	m.ValidUntil.Store(0)
	m.registrations.Add(1)
}

// Distrust has the node register and load everything again: it does not know what it has committed.
// Nobody uses what is cached until then.
func (m *Membership) Distrust() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.distrusted++
	m.registration.Store(0)
	m.lose()
}

// Leave ends the registration at a graceful stop, so that nobody waits for it to expire.
func (m *Membership) Leave(ctx context.Context) error {
	reg := m.registration.Swap(0)
	if reg == 0 {
		return nil
	}
	return m.deregister(ctx, m.Node, reg, false)
}

// Valid reports whether what is cached may be used for margin from now.
func (m *Membership) Valid(margin time.Duration) bool {
	return m.Clock.PhysicalNow()+int64(margin) < m.ValidUntil.Load()
}

// AwaitValid waits for the renewal of the registration.
func (m *Membership) AwaitValid(ctx context.Context, margin time.Duration) error {
	deadline := time.NewTimer(m.Timing.Wait)
	defer deadline.Stop()
	for !m.Valid(margin) {
		select {
		case <-time.After(m.Timing.Backoff):
		case <-deadline.C:
			return pgerr.New(pgerr.CannotConnectNow, "this node has lost contact with its cluster").
				WithHint("Try again, or connect to another node.")
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Admit waits until what is cached may be used for margin from now, by a transaction that has used it
// since the nth registration, or not yet if that is 0. It returns the number of the present one, or a retry error if what the
// transaction has used is void.
func (m *Membership) Admit(ctx context.Context, nth uint64, margin time.Duration) (uint64, error) {
	for {
		// In this order: lose ends the validity before it raises the number.
		now := m.registrations.Load()
		if m.Valid(margin) {
			if nth != 0 && nth != now {
				return nth, errLost()
			}
			return now, nil
		}
		if err := m.AwaitValid(ctx, margin); err != nil {
			return nth, err
		}
	}
}

// Void reports whether what a transaction has used since the nth registration counts no more.
func (m *Membership) Void(nth uint64) bool { return nth != 0 && m.registrations.Load() != nth }

// Hold locks the registration until t ends, so that nobody takes it away before t commits. It returns a
// retry error if it is not the nth.
func (m *Membership) Hold(ctx context.Context, t *kv.Txn, nth uint64) error {
	reg := m.registration.Load()
	if m.Void(nth) {
		return errLost()
	}
	var r Member
	if _, err := lockRecord(ctx, t, memberKey(m.Node), lock.Share, &r); err != nil {
		return err
	}
	if r.Registration != reg {
		return errLost()
	}
	return nil
}

// CommitDeadline returns the wall time by which what was written under the nth registration must be
// committed; that is past if that is over.
func (m *Membership) CommitDeadline(nth uint64) int64 {
	// In this order: lose ends the validity before it raises the number, so what is read
	// here is not that of a later registration.
	until := max(m.ValidUntil.Load(), 1)
	if m.Void(nth) {
		until = 1
	}
	return until
}

// NoteUnsettled notes that a commit whose outcome is unknown may happen until a time.
func (m *Membership) NoteUnsettled(until hlc.Timestamp) {
	for {
		old := m.unsettled.Load()
		if old >= until.WallTime || m.unsettled.CompareAndSwap(old, until.WallTime) {
			return
		}
	}
}

// TakeRole reports whether this node is the one that has a role, which it becomes for a time if there is
// none. A name is that of a system key.
func (m *Membership) TakeRole(ctx context.Context, name string, validity time.Duration) (mine bool, err error) {
	reg := m.registration.Load()
	key := keys.SystemKey(name)
	err = m.DB.Run(ctx, func(ctx context.Context, t *kv.Txn) error {
		mine = false
		var r role
		found, err := lockRecord(ctx, t, key, lock.Update, &r)
		if err != nil {
			return err
		}
		now := m.Clock.PhysicalNow()
		if found && r.Node != m.Node && now <= r.Expiration+int64(m.Clock.MaxOffset()) {
			return nil
		}
		mine = reg != 0
		if !mine {
			return nil
		}
		return put(ctx, t, key, role{m.Node, reg, now + int64(validity)})
	})
	return mine, err
}
