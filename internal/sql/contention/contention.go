package contention

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/sql/catalog"
)

const (
	// maxWait bounds how long a block waits for contention locks.
	maxWait = 2 * time.Second
	// failuresInRow is how often a session fails with a block before the next one takes the locks.
	failuresInRow = 2
	// Blocks take the locks while at least one in failingShare of those that took none has failed,
	// of the last remembered or so.
	failingShare = 4
	remembered   = 32
	// Of so many blocks one takes no locks, to see how it fares.
	probe = 64
	// maxTables bounds the tables of one kind of block, maxKinds the kinds that a node remembers,
	// maxText the length of their first statements.
	maxTables = 4
	maxKinds  = 1024
	maxText   = 4096
)

// Node is what a node knows of blocks that fail, by their first statements. It is safe for
// concurrent use.
type Node struct {
	some  atomic.Bool // kinds is not empty
	mu    sync.Mutex
	kinds map[string]*kind
}

// kind is one kind of block: those with the same first statement.
type kind struct {
	locks  [][]byte // the locks that stand for tables, sorted
	ended  int      // blocks that ended
	failed int      // those of them that met a conflict
	locked int      // blocks that took the locks
}

// locksFor returns the locks that a block takes before it begins; forced says that its session
// has failed too often.
func (n *Node) locksFor(text string, forced bool) [][]byte {
	if !n.some.Load() {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	k := n.kinds[text]
	switch {
	case k == nil:
		return nil
	case forced:
		return k.locks
	case k.failed < failuresInRow || k.failed*failingShare < k.ended:
		return nil
	}
	if k.locked++; k.locked%probe == 0 {
		return nil
	}
	return k.locks
}

// succeeded notes a block that was committed; one that had the locks says nothing.
func (n *Node) succeeded(text string, locked bool) {
	if locked || !n.some.Load() {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if k := n.kinds[text]; k != nil {
		k.note(false)
	}
}

// failedAt notes a block that met a conflict, in the table that lock stands for.
func (n *Node) failedAt(text string, lock []byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	k := n.kinds[text]
	if k == nil {
		if len(n.kinds) >= maxKinds {
			n.kinds = nil // those that still fail come again
		}
		if n.kinds == nil {
			n.kinds = map[string]*kind{}
		}
		k = &kind{}
		n.kinds[text] = k
		n.some.Store(true)
	}
	k.note(true)
	at, known := slices.BinarySearchFunc(k.locks, lock, bytes.Compare)
	if !known && len(k.locks) < maxTables {
		k.locks = slices.Insert(slices.Clone(k.locks), at, lock) // others are reading the list
	}
}

// tooLong forgets a kind of block whose locks others waited for in vain: its clients take their
// time.
func (n *Node) tooLong(text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.kinds, text)
}

func (k *kind) note(failed bool) {
	if k.ended++; failed {
		k.failed++
	}
	if k.ended >= remembered {
		k.ended, k.failed = k.ended/2, k.failed/2
	}
}

// Session is what a session knows of its own blocks.
type Session struct {
	text   string // the first statement of the present block, "" if it has none or does not matter
	locked bool   // the block has the locks
	// lost is the first statement of the last block, which was lost to a conflict; so were times
	// blocks in a row that began alike.
	lost  string
	times int
}

// Reset says that a transaction begins.
func (s *Session) Reset() { s.text = "" }

// Begin begins a block, whose first statement is text: if blocks like it fail, it waits for the
// contention locks of their tables. lockTimeout is the client's, 0 for none. The error is that of
// ctx: a block that gets no lock in time goes on without.
func (s *Session) Begin(ctx context.Context, n *Node, txn *kv.Txn, text string, lockTimeout time.Duration) error {
	o := txn.Options()
	s.text, s.locked = text, false
	if o.Isolation == kv.ReadCommitted || o.ReadOnly || !o.AsOf.IsEmpty() || len(text) > maxText {
		s.text = "" // no conflict, or none that a lock avoids
		return nil
	}
	locks := n.locksFor(text, s.times >= failuresInRow && s.lost == text)
	if len(locks) == 0 {
		return nil
	}
	txn.LockTimeout = maxWait
	if lockTimeout > 0 {
		txn.LockTimeout = min(lockTimeout, maxWait)
	}
	defer func() { txn.LockTimeout = lockTimeout }()
	for _, key := range locks {
		if plant.On(plant.ContentionUnlocked) {
			break
		}
		if _, err := txn.Lock(ctx, key, lock.Update, lock.WaitBlock); err != nil {
			var late *kvpb.LockNotAvailableError
			if errors.As(err, &late) {
				n.tooLong(text)
			}
			return ctx.Err()
		}
	}
	s.locked = true
	return txn.Freshen(ctx) // what those before have done is seen
}

// Ended notes how a block ended: err is what its client receives, nil if it was committed. find
// looks for a table.
func (s *Session) Ended(n *Node, err error, find func(catalog.ID) catalog.Descriptor) {
	if s.text == "" {
		return
	}
	text := s.text
	s.text = ""
	if err == nil {
		s.lost, s.times = "", 0
		n.succeeded(text, s.locked)
		return
	}
	lock := lockOf(err, find)
	if lock == nil {
		return
	}
	if s.lost != text {
		s.lost, s.times = text, 0
	}
	s.times++
	n.failedAt(text, lock)
}

// lockOf returns the lock that stands for the table of a conflict; nil if err is none.
func lockOf(err error, find func(catalog.ID) catalog.Descriptor) []byte {
	var retry *kvpb.RetryError
	if !errors.As(err, &retry) {
		return nil
	}
	db, table, index, _, ok := keys.DecodeIndexPrefix(retry.Key)
	if !ok {
		return nil
	}
	if t, ok := find(catalog.ID(table)).(*catalog.Table); ok {
		index = uint64(t.Primary().ID)
	}
	return keys.IndexPrefix(db, table, index) // no row has it
}
