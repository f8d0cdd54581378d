package lease

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/encoding"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/plant"
)

// LockGate excludes a leader's requests that change row locks while the leadership exports its locks, and while
// the next one imports them:
//
//	          Begin              Shut, Drained        locks are in the record
//	[open] ───────► [transferring] ───────► [shut] ───────────────────────────► leadership ends
//	   ▲                  │                    │                                      │
//	   │◄── Open: nothing to export, or requests take too long                        │ next leadership
//	   │                                                                              ▼
//	   └───────────────────── Removed ──────────────────── [imported] ◄── Open, Imported
//	                                    the record exists, nobody enters
type LockGate struct {
	inside atomic.Int64
	shut   atomic.Bool
	begun  atomic.Bool
	empty  chan struct{} // receives a value when the last request leaves a shut gate
	// exporting says that the record is being written, and raft does not know of the transfer yet.
	exporting atomic.Bool
	// imported is the term of a leadership that has found the record of a transfer, until the leadership
	// has removed it. Otherwise it is 0.
	imported atomic.Uint64
}

// NewLockGate returns an open gate.
func NewLockGate() LockGate { return LockGate{empty: make(chan struct{}, 1)} }

// Enter admits a request that changes row locks. The request calls Leave at its end, and before it waits for
// other transactions.
func (g *LockGate) Enter() bool {
	if g.Reenter() {
		return true
	}
	g.Leave()
	return false
}

// Reenter is Enter after a Leave. It counts the request as inside in any case. It returns false if the gate is
// shut, so that the locks may already be in the record.
func (g *LockGate) Reenter() bool {
	g.inside.Add(1)
	return !g.shut.Load() && (g.imported.Load() == 0 || plant.On(plant.LocksBesideRecord))
}

// Leave ends what Enter or Reenter began.
func (g *LockGate) Leave() {
	if g.inside.Add(-1) == 0 && g.shut.Load() {
		select {
		case g.empty <- struct{}{}:
		default:
		}
	}
}

// Begin begins a transfer. It returns false if one is in progress.
func (g *LockGate) Begin() bool { return g.begun.CompareAndSwap(false, true) }

// GiveUp ends a transfer that has not shut the gate.
func (g *LockGate) GiveUp() { g.begun.Store(false) }

// Shut makes the gate refuse requests until Open.
func (g *LockGate) Shut() { g.shut.Store(true) }

// IsShut reports whether the gate is shut.
func (g *LockGate) IsShut() bool { return g.shut.Load() }

// Drained waits until no request is inside a shut gate. It returns false if that takes longer than wait.
func (g *LockGate) Drained(wait time.Duration) bool {
	timeout := time.NewTimer(wait)
	defer timeout.Stop()
	for g.inside.Load() > 0 {
		select {
		case <-g.empty:
		case <-timeout.C:
			return g.inside.Load() == 0
		}
	}
	return true
}

// BeginExport says that the locks are about to go into the record.
func (g *LockGate) BeginExport() { g.exporting.Store(true) }

// EndExport says that the record was proposed and raft was then asked to transfer the leadership.
func (g *LockGate) EndExport() { g.exporting.Store(false) }

// Reclaims reports whether a leader that has offered its leadership to another replica campaigns again: it may
// not serve in this term any more. It waits while raft transfers the leadership, and while the record of the
// locks is being written, since otherwise its term would end before the record is written (invariant 11).
func (l *Lease) Reclaims(g *LockGate, transferring bool) bool {
	return l != nil && !l.Alone && l.Revoked.Load() && !transferring && !g.exporting.Load()
}

// Open lets requests in again.
func (g *LockGate) Open() {
	g.shut.Store(false)
	g.begun.Store(false)
}

// Imported says that the leadership of a term has found a record, or that there is none if term is 0. The gate
// refuses requests until Removed.
func (g *LockGate) Imported(term uint64) { g.imported.Store(term) }

// Importing returns the term of the leadership that has found a record and not removed it yet, or 0.
func (g *LockGate) Importing() uint64 { return g.imported.Load() }

// Removed says that the leadership of a term has removed the record that it had found. It has no effect if a
// later leadership has found another one.
func (g *LockGate) Removed(term uint64) { g.imported.CompareAndSwap(term, 0) }

// transferVersion is the format of a stored Transfer.
const transferVersion = 1

// Transfer is what a leader exports to the next one.
type Transfer struct {
	Term        uint64
	LockTableID uint64   // see kvpb.LockResponse
	Subsumed    []uint64 // lock tables of ranges that were merged into this one
	Abandoned   []kvpb.TxnID
	Locks       []concurrency.Lock // sorted by key
}

// ErrDamaged says that a record of a transfer can't be read.
var ErrDamaged = errors.New("lease: damaged record of a lock transfer")

// maxEncodedLock bounds the bytes that Encode writes for a lock in addition to its key: the length of the key,
// the transaction and the strength.
const maxEncodedLock = 3*binary.MaxVarintLen64 + 1

// MaxEncodedLock bounds the bytes that Encode writes for a lock on key.
func MaxEncodedLock(key []byte) int { return maxEncodedLock + len(key) }

// Encode returns the stored form.
func (t *Transfer) Encode() []byte {
	b := []byte{transferVersion}
	b = binary.AppendUvarint(b, t.Term)
	b = binary.AppendUvarint(b, t.LockTableID)
	b = binary.AppendUvarint(b, uint64(len(t.Subsumed)))
	for _, e := range t.Subsumed {
		b = binary.AppendUvarint(b, e)
	}
	b = binary.AppendUvarint(b, uint64(len(t.Abandoned)))
	for _, id := range t.Abandoned {
		b = binary.AppendUvarint(binary.AppendUvarint(b, id.Hi), id.Lo)
	}
	b = binary.AppendUvarint(b, uint64(len(t.Locks)))
	for _, l := range t.Locks {
		b = encoding.AppendLenBytes(b, l.Key)
		b = binary.AppendUvarint(binary.AppendUvarint(b, l.Txn.Hi), l.Txn.Lo)
		b = append(b, byte(l.Strength))
	}
	return b
}

// DecodeTransfer decodes the result of Encode.
func DecodeTransfer(b []byte) (t Transfer, err error) {
	if len(b) == 0 || b[0] != transferVersion {
		return t, fmt.Errorf("%w: unknown form", ErrDamaged)
	}
	r := encoding.NewReader(b[1:])
	t.Term, t.LockTableID = r.Uvarint(), r.Uvarint()
	for n := r.Count(1); n > 0; n-- {
		t.Subsumed = append(t.Subsumed, r.Uvarint())
	}
	for n := r.Count(2); n > 0; n-- {
		t.Abandoned = append(t.Abandoned, kvpb.TxnID{Hi: r.Uvarint(), Lo: r.Uvarint()})
	}
	for n := r.Count(4); n > 0; n-- {
		l := concurrency.Lock{Key: r.LenBytes(), Txn: concurrency.TxnID{Hi: r.Uvarint(), Lo: r.Uvarint()}}
		l.Strength = lock.Strength(r.Byte())
		if !l.Strength.Valid() || l.Txn.IsZero() {
			return t, ErrDamaged
		}
		t.Locks = append(t.Locks, l)
	}
	if r.Bad() {
		return t, ErrDamaged
	}
	return t, nil
}
