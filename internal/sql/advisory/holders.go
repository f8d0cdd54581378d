package advisory

import (
	"context"
	"encoding/binary"

	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// maxHolders bounds the holders of one lock whose records are read.
const maxHolders = 100_000

// Nodes is what locks ask of the cluster.
type Nodes interface {
	// WaitGraph has the waits that are on this node.
	WaitGraph() *concurrency.WaitGraph
	// Alone reports whether this is the only node, for good.
	Alone() bool
	// TxnFinalized finds out whether a transaction has ended, or its gateway has; false if
	// that can't be known now.
	TxnFinalized(id kvpb.TxnID) bool
}

// Manager is what the sessions of a node share.
type Manager struct {
	db    *kv.DB
	nodes Nodes // nil if there are no others, ever
}

// NewManager returns a manager; nodes may be nil.
func NewManager(db *kv.DB, nodes Nodes) *Manager { return &Manager{db, nodes} }

// alone reports whether locks need no records of their holders.
func (m *Manager) alone() bool { return m.nodes == nil || m.nodes.Alone() }

func holderBytes(id kvpb.TxnID) (b [16]byte) {
	binary.BigEndian.PutUint64(b[:8], id.Hi)
	binary.BigEndian.PutUint64(b[8:], id.Lo)
	return b
}

func holderOf(b [16]byte) kvpb.TxnID {
	return kvpb.TxnID{Hi: binary.BigEndian.Uint64(b[:8]), Lo: binary.BigEndian.Uint64(b[8:])}
}

// record writes the record of a holder that has the row lock, unless the record of another
// holder conflicts with it. It deletes the records of holders that have ended. Of two holders
// that got the lock from different leaders one sees the record of the other, since both read and
// write in a serializable transaction.
func (m *Manager) record(ctx context.Context, key []byte, self kvpb.TxnID, want lock.Strength) (free bool, err error) {
	over := map[kvpb.TxnID]bool{}
	err = m.db.Run(ctx, func(ctx context.Context, t *kv.Txn) error {
		others, err := conflicting(ctx, t, key, self, want)
		for _, o := range others {
			over[o.holder] = false
		}
		return err
	})
	for id := range over {
		over[id] = m.nodes.TxnFinalized(id)
	}
	if err != nil {
		return false, err
	}
	err = m.db.Run(ctx, func(ctx context.Context, t *kv.Txn) error {
		others, err := conflicting(ctx, t, key, self, want)
		if err != nil {
			return err
		}
		for _, o := range others {
			if free = over[o.holder]; !free {
				return nil
			}
			if err := writeRecord(ctx, t, o.key, nil); err != nil {
				return err
			}
		}
		free = true
		return writeRecord(ctx, t, keys.AdvisoryHolder(key, holderBytes(self)), []byte{byte(want)})
	})
	return free && err == nil, err
}

// writeRecord writes the record of a holder, or deletes it if the value is nil.
func writeRecord(ctx context.Context, t *kv.Txn, key, value []byte) error {
	r, err := t.Lock(ctx, key, lock.Update, lock.WaitBlock)
	switch {
	case err != nil:
		return err
	case value != nil:
		return t.Put(key, value)
	case r.Found:
		return t.Delete(key)
	}
	return nil
}

type holderRecord struct {
	key    []byte
	holder kvpb.TxnID
}

// conflicting lists the records of other holders of a lock that conflict with it.
func conflicting(ctx context.Context, t *kv.Txn, key []byte, self kvpb.TxnID, want lock.Strength) (out []holderRecord, err error) {
	span := keys.AdvisoryHolders(key)
	for start := span.Start; start != nil; {
		var page kv.ScanResult
		if err := t.Scan(ctx, start, span.End, kv.ScanOptions{}, &page); err != nil {
			return nil, err
		}
		for i := range page.Len() {
			k, v := page.Key(i), page.Value(i)
			h, ok := keys.DecodeAdvisoryHolder(key, k)
			if !ok || len(v) != 1 || holderOf(h) == self || want == lock.Share && lock.Strength(v[0]) == lock.Share {
				continue
			}
			if len(out) >= maxHolders {
				return nil, pgerr.New(pgerr.ProgramLimitExceeded, "too many sessions share an advisory lock")
			}
			out = append(out, holderRecord{append([]byte(nil), k...), holderOf(h)})
		}
		start = page.Resume
	}
	return out, nil
}

// dropRecords deletes a holder's records of locks.
func (m *Manager) dropRecords(ctx context.Context, self kvpb.TxnID, locks [][]byte) error {
	if len(locks) == 0 || m.alone() {
		return nil
	}
	return m.db.Run(ctx, func(ctx context.Context, t *kv.Txn) error {
		for _, k := range locks {
			if err := writeRecord(ctx, t, keys.AdvisoryHolder(k, holderBytes(self)), nil); err != nil {
				return err
			}
		}
		return nil
	})
}
