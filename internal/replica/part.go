package replica

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/must"
	"github.com/lichendb/lichen/internal/storage/mvcc"
)

// A transaction that outgrew its gateway's buffer, or that commits in several
// ranges, has provisional data in a range: versions with a durable lock each. The
// range's leader knows it as a part of the transaction.
//
// The versions of a spilled part are at one provisional timestamp of the range,
// and everyone else passes over them until the transaction has committed. If it
// commits at another timestamp the versions are moved (settle); until then readers
// take them to be there already. A staged part's versions are at the timestamp at
// which the transaction commits, if it does: a reader at or above it waits.
type part struct {
	id     kvpb.TxnID
	anchor []byte
	// latch is held (full) by the request that changes the part.
	latch chan struct{}
	// settling is held (full) by the one who removes what is provisional.
	settling chan struct{}
	blockers *concurrency.Blockers
	done     chan struct{} // closed when nothing provisional is left
	decided  chan struct{} // closed when it is known what became of it

	// Guarded by spills.mu.
	state    partState
	spilled  bool
	ts       hlc.Timestamp // of the versions
	oldest   hlc.Timestamp // lowest of all versions that were, or are about to be, written
	from     hlc.Timestamp // staging: the lowest timestamp at which it may have committed
	commitTS hlc.Timestamp
	epoch    uint32
	keys     [][]byte // staged keys, sorted; nil if any between lo and hi may be one
	// exact: each of keys has a durable lock, of the last attempt: this leadership has
	// applied the command that staged all of them.
	exact  bool
	lo, hi []byte // bounds of the keys, hi exclusive
	// cut is where a split took the end of the range away after what is being proposed
	// for the part was announced, nil if none did.
	cut []byte
	// maxRead is the highest read by others that passed over a spilled part.
	maxRead hlc.Timestamp
	// pinned: a recovery has found the attempt's keys staged, or may have under an earlier
	// leader, and may commit it, so no other attempt takes its place.
	pinned bool
	// passed: the transaction will not commit at or below it, its record's leader says.
	passed hlc.Timestamp
	event  chan struct{} // closed, and replaced, when passed rises or it is decided
	// Of the goroutine that asks for the outcome (watch).
	watchers int
	watched  bool
	wanted   hlc.Timestamp // highest reader waiting
	// patient: what is provisional may go when that costs nothing; met: somebody has met it
	// since and waits, or will.
	patient, met bool
	// asked are keys that somebody waits to be rid of the part; calling, if set, is closed
	// when somebody waits.
	asked   [][]byte
	calling chan struct{}
	// sure: its gateway has found all parts staged, so the transaction has committed at ts,
	// even if the record does not say so yet (invariant R31).
	sure  bool
	since time.Time // the part became known
	// loaded: its keys were written under another leadership, which alone may know, or have
	// known, at which time it commits.
	loaded bool
}

type partState uint8

const (
	partNew     partState = iota // nothing durable yet
	partPending                  // spilled; the gateway goes on
	partStaging                  // what becomes of it is unknown
	partCommitted
	partAborted
)

func (p *part) undecided() bool { return p.state <= partStaging && !p.sure }

// inherited reports whether the part was spilled under another leadership, or in another
// range, and nothing was heard of it since: its gateway may still be adding to it, as it
// may be committing.
func (p *part) inherited() bool { return p.spilled && p.state == partStaging && p.epoch == 0 }

// overlaps reports whether the part may have a key in [start, end), or start.
func (p *part) overlaps(start, end []byte) bool {
	if p.lo == nil {
		return false
	}
	if len(end) == 0 {
		if bytes.Compare(start, p.lo) < 0 || bytes.Compare(start, p.hi) >= 0 {
			return false
		}
		return p.keys == nil || p.has(start)
	}
	if bytes.Compare(start, p.hi) >= 0 || bytes.Compare(p.lo, end) >= 0 {
		return false
	}
	if p.keys == nil {
		return true
	}
	i, _ := slices.BinarySearchFunc(p.keys, start, bytes.Compare)
	return i < len(p.keys) && bytes.Compare(p.keys[i], end) < 0
}

func (p *part) has(key []byte) bool {
	_, ok := slices.BinarySearchFunc(p.keys, key, bytes.Compare)
	return ok
}

// below returns those of sorted keys that lie below end.
func below(keys [][]byte, end []byte) [][]byte {
	n, _ := slices.BinarySearchFunc(keys, end, bytes.Compare)
	return keys[:n:n]
}

// next returns the key behind k.
func next(k []byte) []byte { return append(bytes.Clone(k), 0) }

// least is the lowest timestamp at which a read may have to do with the part.
func (p *part) least() hlc.Timestamp {
	if p.state == partStaging {
		return p.from
	}
	return p.ts
}

// spills is what the leader knows of the parts of transactions in its range, and
// of the records of those whose anchor is here.
type spills struct {
	active atomic.Int32 // parts; 0 is what the hot paths look at

	mu      sync.Mutex
	all     map[kvpb.TxnID]*part
	records map[kvpb.TxnID]*record
	sweeps  bool
	closed  bool
	life    context.Context // ends when the replica stops; nil until somebody needs it
	end     context.CancelFunc
	wg      sync.WaitGroup
	fatal   func(error) // Deps.OnFatal
}

// maxSpills bounds the transactions that have provisional data in one range.
const maxSpills = 8192

// run runs fn in the background, unless the replica is stopping.
func (sp *spills) run(fn func()) {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	if !sp.closed {
		sp.goLocked(fn)
	}
}

// goLocked runs fn on a goroutine that stop waits for. A panic in it ends the process.
func (sp *spills) goLocked(fn func()) {
	sp.wg.Go(func() {
		defer must.Report(sp.fatal)
		fn()
	})
}

// isOpen reports whether the replica is not stopping.
func (sp *spills) isOpen() bool {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	return !sp.closed
}

// lifetime ends when the replica stops; sp.mu is held.
func (sp *spills) lifetime() context.Context {
	if sp.life == nil {
		sp.life, sp.end = context.WithCancel(context.Background())
		if sp.closed {
			sp.end()
		}
	}
	return sp.life
}

// stop ends what runs in the background and waits for it.
func (sp *spills) stop() {
	sp.mu.Lock()
	if !sp.closed {
		sp.closed = true
		if sp.end != nil {
			sp.end()
		}
	}
	sp.mu.Unlock()
	sp.wg.Wait()
}

// background returns a context for work that ends with the replica.
func (sp *spills) background(limit time.Duration) (context.Context, context.CancelFunc) {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	return context.WithTimeout(sp.lifetime(), limit)
}

func newPart(id kvpb.TxnID, anchor []byte) *part {
	return &part{
		id: id, anchor: bytes.Clone(anchor),
		latch: make(chan struct{}, 1), settling: make(chan struct{}, 1), done: make(chan struct{}), decided: make(chan struct{}),
		event: make(chan struct{}), since: time.Now(), blockers: concurrency.NewBlockers(concurrency.TxnID(id)),
	}
}

// enter returns the part of a transaction, a new one if there is none, latched.
func (sp *spills) enter(ctx context.Context, id kvpb.TxnID, anchor []byte) (*part, error) {
	for {
		sp.mu.Lock()
		p := sp.all[id]
		if p == nil {
			if len(sp.all) >= maxSpills {
				sp.mu.Unlock()
				return nil, &kvpb.TooManyLocksError{Limit: maxSpills}
			}
			p = newPart(id, anchor)
			if sp.all == nil {
				sp.all = map[kvpb.TxnID]*part{}
			}
			sp.all[id] = p
			sp.active.Add(1)
		}
		sp.mu.Unlock()
		if err := sp.latch(ctx, p); err != nil {
			sp.mu.Lock()
			if len(p.latch) == 0 { // else who holds it sees to that
				sp.dropNewLocked(p)
			}
			sp.mu.Unlock()
			return nil, err
		}
		sp.mu.Lock()
		current := sp.all[id] == p
		sp.mu.Unlock()
		if current {
			return p, nil
		}
		<-p.latch
	}
}

func (sp *spills) latch(ctx context.Context, p *part) error {
	select {
	case p.latch <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// leave gives up the latch; a part that came to nothing goes.
func (sp *spills) leave(p *part) {
	sp.mu.Lock()
	sp.dropNewLocked(p)
	sp.mu.Unlock()
	<-p.latch
}

// dropNewLocked removes a part that came to nothing: nobody else would ever.
func (sp *spills) dropNewLocked(p *part) {
	if p.state == partNew && sp.all[p.id] == p {
		sp.removeLocked(p)
	}
}

func (sp *spills) removeLocked(p *part) {
	if sp.all[p.id] == p {
		delete(sp.all, p.id)
		sp.active.Add(-1)
	}
	p.wake()
}

// cut takes away what is known of keys that a split has given to the new range, whose
// leader finds the parts there in its data. What stayed here would be taken for the truth
// after the two were merged again: a version that its transaction has committed
// meanwhile would count as undecided (invariant R28).
func (sp *spills) cut(border []byte) {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	for _, p := range sp.all {
		if p.cut == nil || bytes.Compare(border, p.cut) < 0 {
			p.cut = border
		}
		switch {
		case p.lo == nil || bytes.Compare(p.hi, border) <= 0:
		case bytes.Compare(border, p.lo) <= 0:
			sp.removeLocked(p)
		default:
			p.hi = border
			if p.keys != nil {
				p.keys = below(p.keys, border)
			}
		}
	}
}

// mustLieWithin is asked before a range of the keys behind end is taken in.
func (sp *spills) mustLieWithin(end []byte) {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	for _, p := range sp.all {
		must.True(p.lo == nil || bytes.Compare(p.hi, end) <= 0,
			"R28: transaction %s has a part in [%q, %q), beyond the range's end %q", p.id, p.lo, p.hi, end)
	}
}

// staged returns the keys that a part has staged, sorted; nil if they are not listed.
func (sp *spills) staged(p *part) [][]byte {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	return p.keys
}

// exact reports whether nothing but the durable locks of a decided part's listed keys need go,
// or their versions with them, and all of these are known to be there.
func (sp *spills) exact(p *part) bool {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	return p.exact && (p.state == partAborted || p.commitTS == p.ts)
}

// bounds returns where a part may have keys.
func (sp *spills) bounds(p *part) kvpb.Span {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	return kvpb.Span{Key: p.lo, EndKey: p.hi}
}

// wake tells everyone who waits for the part to look again.
func (p *part) wake() {
	p.tell()
	close(p.done)
}

// tell wakes those who wait to know what becomes of the part.
func (p *part) tell() {
	select {
	case <-p.decided:
	default:
		close(p.decided)
	}
	close(p.event)
	p.event = make(chan struct{})
}

// view is what one read must know of the parts over its keys.
type view struct {
	pending []hlc.Timestamp // versions to pass over
}

func (v *view) hidden(ts hlc.Timestamp) bool {
	for _, p := range v.pending {
		if p == ts {
			return true
		}
	}
	return false
}

// spillView returns what a read of [start, end) at ts, or of the key start, must
// pass over; nil if nothing. It waits for commits whose outcome is not known.
func (r *Replica) spillView(ctx context.Context, self kvpb.TxnID, start, end []byte, ts hlc.Timestamp) (*view, error) {
	if r.spills.active.Load() == 0 {
		return nil, nil
	}
	for {
		v, wait := r.spills.view(self, start, end, ts)
		if wait == nil {
			return v, nil
		}
		if err := r.awaitReadable(ctx, wait, ts); err != nil {
			return nil, err
		}
	}
}

// view returns the part that a read has to wait for, or what it must pass over.
func (sp *spills) view(self kvpb.TxnID, start, end []byte, ts hlc.Timestamp) (v *view, wait *part) {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	for _, p := range sp.all {
		if ts.Less(p.least()) && ts.Less(p.ts) || !p.overlaps(start, end) {
			continue
		}
		if p.id != self {
			if p.state == partStaging && !p.sure && p.from.LessEq(ts) && p.passed.Less(ts) ||
				p.state == partAborted && !p.spilled {
				return nil, p
			}
			p.maxRead = p.maxRead.Max(ts)
		}
		if !p.spilled || p.state == partNew || p.state == partCommitted && p.commitTS.LessEq(ts) {
			continue
		}
		if v == nil {
			v = new(view)
		}
		v.pending = append(v.pending, p.ts)
	}
	return v, nil
}

// changed reports whether the span changed in (from, to], or may have, in a way that
// its versions do not tell. A part that is not on its way to commit will not do so
// at or below to any more.
func (sp *spills) changed(self kvpb.TxnID, s kvpb.Span, from, to hlc.Timestamp) bool {
	if sp.active.Load() == 0 {
		return false
	}
	sp.mu.Lock()
	defer sp.mu.Unlock()
	for _, p := range sp.all {
		if p.id == self || !p.overlaps(s.Key, s.EndKey) {
			continue
		}
		switch p.state {
		case partStaging:
			if p.from.LessEq(to) && p.passed.Less(to) {
				return true
			}
			p.maxRead = p.maxRead.Max(to)
		case partCommitted:
			if from.Less(p.commitTS) && p.commitTS.LessEq(to) {
				return true
			}
		case partAborted:
			if !p.spilled && p.ts.LessEq(to) {
				return true // its versions are about to go
			}
		default:
			p.maxRead = p.maxRead.Max(to)
		}
	}
	return false
}

// undecided returns what hides the versions that are not, or not as they stand,
// part of the committed state; nil if there are none.
func (sp *spills) undecided() mvcc.Hidden {
	if sp.active.Load() == 0 {
		return nil
	}
	v := new(view)
	sp.mu.Lock()
	defer sp.mu.Unlock()
	for _, p := range sp.all {
		if p.spilled && (p.state != partCommitted || p.commitTS != p.ts) {
			v.pending = append(v.pending, p.ts)
		}
	}
	return v.hidden
}

// decide sets what became of a part whose latch the caller holds, wakes who waits
// for it and removes what is provisional in the background.
func (r *Replica) decide(p *part, state partState, ts hlc.Timestamp) {
	if r.noteDecided(p, state, ts) {
		r.settleLater(p)
	}
}

// noteDecided is decide without the removal; false if it was known.
func (r *Replica) noteDecided(p *part, state partState, ts hlc.Timestamp) bool {
	must.True(state == partCommitted || state == partAborted, "R10: undecided")
	sp := &r.spills
	sp.mu.Lock()
	if p.state == partCommitted || p.state == partAborted || sp.all[p.id] != p {
		same := p.state == state || sp.all[p.id] != p
		sp.mu.Unlock()
		must.True(same, "R10: transaction %s is both committed and aborted", p.id)
		return false
	}
	if p.loaded && state == partCommitted { // before readers take it for committed
		r.deps.Clock.Forward(ts)
		r.raiseCertain()
	}
	p.state, p.commitTS = state, ts
	p.tell()
	sp.mu.Unlock()
	return true
}

// decideLatched is decide for those who do not hold the latch.
func (r *Replica) decideLatched(ctx context.Context, p *part, status kvpb.TxnStatus, ts hlc.Timestamp) error {
	news, err := r.noteDecidedLatched(ctx, p, status, ts)
	if news {
		r.settleLater(p)
	}
	return err
}

// noteDecidedLatched is noteDecided for those who do not hold the latch.
func (r *Replica) noteDecidedLatched(ctx context.Context, p *part, status kvpb.TxnStatus, ts hlc.Timestamp) (news bool, err error) {
	if err := r.spills.latch(ctx, p); err != nil {
		return false, err
	}
	defer r.spills.leave(p)
	state := partAborted
	if status == kvpb.TxnCommitted {
		state = partCommitted
	}
	return r.noteDecided(p, state, ts), nil
}

// Provisional returns how many transactions have provisional data in the range,
// and how many have their record there.
func (r *Replica) Provisional() (parts, records int) {
	r.spills.mu.Lock()
	defer r.spills.mu.Unlock()
	return len(r.spills.all), len(r.spills.records)
}
