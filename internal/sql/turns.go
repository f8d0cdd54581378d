package sql

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/sql/catalog"
)

// A transaction block fails with 40001 if others have changed what it has read, and its client has
// seen some of that. Where many blocks read and write the same rows most of them fail, and so do
// their clients' next attempts. Such blocks take turns: each begins with a lock that stands for
// the table where blocks like it have failed, so that they follow one another instead of
// undoing each other's work. A turn only makes a failure unlikely. What is right is decided at the
// commit, as ever: who gets no turn in time goes on without.
//
// Blocks are alike if their first statements are. Turns are taken while a large share of
// such blocks fails without, and by a session that has failed several times in a row.

const (
	// turnWait bounds how long a block waits for its turn.
	turnWait = 2 * time.Second
	// failuresInRow is how often a session fails with a block before the next takes its turn.
	failuresInRow = 2
	// Blocks take turns while at least one in turnShare of those that took none has failed,
	// of the last turnMemory or so.
	turnShare  = 4
	turnMemory = 32
	// Of so many blocks one takes no turn, to see how it fares.
	turnProbe = 64
	// maxTurnTables bounds the tables of one kind of block, maxTurnKinds the kinds that a node
	// remembers, maxTurnText the length of their first statements.
	maxTurnTables = 4
	maxTurnKinds  = 1024
	maxTurnText   = 4096
)

// turns is what a node knows of blocks that fail, by their first statements.
type turns struct {
	some  atomic.Bool // kinds is not empty
	mu    sync.Mutex
	kinds map[string]*turnKind
}

// turnKind is one kind of block.
type turnKind struct {
	locks  [][]byte // the locks that stand for tables, sorted
	ended  int      // blocks that ended
	failed int      // those of them that met a conflict
	taken  int      // turns
}

// locksFor returns the locks that a block takes before it begins; forced says that its session
// has failed too often.
func (t *turns) locksFor(text string, forced bool) [][]byte {
	if !t.some.Load() {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.kinds[text]
	switch {
	case k == nil:
		return nil
	case forced:
		return k.locks
	case k.failed < failuresInRow || k.failed*turnShare < k.ended:
		return nil
	}
	if k.taken++; k.taken%turnProbe == 0 {
		return nil
	}
	return k.locks
}

// succeeded notes a block that was committed; one that had its turn says nothing.
func (t *turns) succeeded(text string, hadTurn bool) {
	if hadTurn || !t.some.Load() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if k := t.kinds[text]; k != nil {
		k.note(false)
	}
}

// failedAt notes a block that met a conflict, in the table that lock stands for.
func (t *turns) failedAt(text string, lock []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	k := t.kinds[text]
	if k == nil {
		if len(t.kinds) >= maxTurnKinds {
			t.kinds = nil // those that still fail come again
		}
		if t.kinds == nil {
			t.kinds = map[string]*turnKind{}
		}
		k = &turnKind{}
		t.kinds[text] = k
		t.some.Store(true)
	}
	k.note(true)
	at, known := slices.BinarySearchFunc(k.locks, lock, bytes.Compare)
	if !known && len(k.locks) < maxTurnTables {
		k.locks = slices.Insert(slices.Clone(k.locks), at, lock) // others are reading the list
	}
}

// tooLong forgets a kind of block whose turns others waited for in vain: its clients take their
// time.
func (t *turns) tooLong(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.DeleteFunc(t.kinds, func(k string, _ *turnKind) bool { return k == text })
}

func (k *turnKind) note(failed bool) {
	if k.ended++; failed {
		k.failed++
	}
	if k.ended >= turnMemory {
		k.ended, k.failed = k.ended/2, k.failed/2
	}
}

// blockTurn is a session's part in turns.
type blockTurn struct {
	text string // the first statement of the present block, "" if it has none or it doesn't matter
	had  bool   // the block has its turn
	// lost is the first statement of the last block, which was lost to a conflict, as were so many
	// in a row that began alike.
	lost  string
	times int
}

// beginStatement begins a statement of the open transaction; the first one of a block waits for
// the block's turn.
func (s *Session) beginStatement(ctx context.Context, p *Prepared) error {
	if s.txn.BeginStatement(ctx) {
		return s.takeTurn(ctx, p)
	}
	return nil
}

// takeTurn begins a block, whose first statement is p and has begun: if blocks like it fail, it
// waits for its turn.
func (s *Session) takeTurn(ctx context.Context, p *Prepared) error {
	txn, b := s.txn.KV(), &s.turn
	o := txn.Options()
	b.text, b.had = p.kind(), false
	if o.Isolation == kv.ReadCommitted || o.ReadOnly || !o.AsOf.IsEmpty() || len(b.text) > maxTurnText {
		b.text = "" // no conflict, or none that a turn avoids
		return nil
	}
	locks := s.srv.turns.locksFor(b.text, b.times >= failuresInRow && b.lost == b.text)
	if len(locks) == 0 {
		return nil
	}
	txn.LockTimeout = turnWait
	if own := s.vals.Fast.LockTimeout; own > 0 {
		txn.LockTimeout = min(own, turnWait)
	}
	defer func() { txn.LockTimeout = s.vals.Fast.LockTimeout }()
	for _, key := range locks {
		if plant.On(plant.TurnSkipped) {
			break
		}
		if _, err := txn.Lock(ctx, key, kv.LockUpdate, kv.WaitBlock); err != nil {
			var late *kvpb.LockNotAvailableError
			if errors.As(err, &late) {
				s.srv.turns.tooLong(b.text)
			}
			return ctx.Err()
		}
	}
	b.had = true
	return txn.Freshen(ctx) // what those before have done is seen
}

// kind is what statements have in common that differ in their parameters only.
func (p *Prepared) kind() string {
	if p.parameterized {
		return p.stmt.SQL
	}
	return p.Text
}

// blockEnded notes how a block ended: err is what its client hears of it, nil if it was committed.
func (s *Session) blockEnded(err error) {
	b := &s.turn
	if b.text == "" {
		return
	}
	text := b.text
	b.text = ""
	if err == nil {
		b.lost, b.times = "", 0
		s.srv.turns.succeeded(text, b.had)
		return
	}
	lock := s.lockOf(err)
	if lock == nil {
		return
	}
	if b.lost != text {
		b.lost, b.times = text, 0
	}
	b.times++
	s.srv.turns.failedAt(text, lock)
}

// lockOf returns the lock that stands for the table of a conflict; nil if err is none.
func (s *Session) lockOf(err error) []byte {
	var retry *kvpb.RetryError
	if !errors.As(err, &retry) {
		return nil
	}
	db, table, index, _, ok := keys.DecodeIndexPrefix(retry.Key)
	if !ok {
		return nil
	}
	if t, ok := s.coll.Known(catalog.ID(table)).(*catalog.Table); ok {
		index = uint64(t.Primary().ID)
	}
	return keys.IndexPrefix(db, table, index) // no row has it
}
