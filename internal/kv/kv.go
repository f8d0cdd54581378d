package kv

import (
	"context"
	"errors"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kv/coord"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/quota"
)

// The types of a transaction, which package coord defines.
type (
	Txn         = coord.Txn
	TxnOptions  = coord.Options
	Savepoint   = coord.Savepoint
	Snapshot    = coord.Snapshot
	LockResult  = coord.LockResult
	ScanOptions = coord.ScanOptions
	ReadAhead   = coord.ReadAhead
	Delegated   = coord.Delegated
	Leaf        = coord.Leaf
	// DelegatedRead is what another node has read for a transaction.
	DelegatedRead = coord.DelegatedRead
	ScanResult    = kvpb.ScanResponse
	Isolation     = kvpb.Isolation
)

// The isolation levels.
const (
	Serializable   = kvpb.Serializable
	RepeatableRead = kvpb.RepeatableRead
	ReadCommitted  = kvpb.ReadCommitted
)

// DB is a gateway to the key space. It is safe for concurrent use.
type DB struct{ env *coord.Env }

// NewDB returns a gateway that sends requests to s. gateway is part of its transactions' ids and differs
// from that of every other gateway, earlier incarnations included. A node makes it with
// kvpb.GatewayIncarnation, from which other nodes tell whether a transaction's gateway still runs.
func NewDB(s kvpb.Sender, c *hlc.Clock, gateway uint64) *DB {
	return &DB{env: coord.NewEnv(s, c, gateway)}
}

// SetMemory makes write buffers count against a pool. It must be called before
// the first transaction.
func (db *DB) SetMemory(p *quota.Pool) { db.env.Mem = p }

// SetSpill sets the size at which a transaction's write buffer spills to the ranges; the default is
// coord's. It must be called before the first transaction.
func (db *DB) SetSpill(bytes int64) { db.env.SpillBytes = bytes }

// SetMaxOffset sets how far the clocks of other gateways may be ahead of this one's; the default, 0, is
// for a single gateway. It must be called before the first transaction.
func (db *DB) SetMaxOffset(d time.Duration) { db.env.MaxOffset = d }

// SetClocks sets the function that reads other nodes' clocks (coord.Env.Clocks). It must be called before
// the first transaction.
func (db *DB) SetClocks(read func(context.Context, []kvpb.Observation) []kvpb.Observation) {
	db.env.Clocks = read
}

// Begin returns a new transaction. Its snapshot is taken by its first statement.
func (db *DB) Begin(o TxnOptions) *Txn {
	t := coord.New(db.env)
	t.Reset(o)
	return t
}

// Clock returns the gateway's clock.
func (db *DB) Clock() *hlc.Clock { return db.env.Clock }

// OldestRead returns a lower bound of the timestamps at which active transactions read, zero if there are
// none.
func (db *DB) OldestRead() hlc.Timestamp { return db.env.OldestRead() }

// Finalized reports whether a transaction was this gateway's and has ended.
func (db *DB) Finalized(id kvpb.TxnID) bool { return db.env.Finalized(id) }

// ActiveTxns returns the number of active transactions.
func (db *DB) ActiveTxns() int { return db.env.Active() }

// Write is one key with its value.
type Write = kvpb.Write

// Ingest writes sorted, distinct keys that nobody writes or reads until a transaction that commits later makes
// them known. It is the way of many rows: they take no locks, and the engines get them as tables. After an error
// some may have been written. until, if set, returns the highest timestamp at which they may be, before each attempt.
func (db *DB) Ingest(ctx context.Context, writes []Write, until func() hlc.Timestamp) error {
	return db.env.Ingest(ctx, writes, until)
}

// maxAttempts bounds how often Run tries again; each attempt either commits or
// meets another transaction that did.
const maxAttempts = 100

// Run runs fn in a SERIALIZABLE transaction of one statement and commits it. After a retry error it
// starts over, so fn may have no effects other than those of t.
func (db *DB) Run(ctx context.Context, fn func(ctx context.Context, t *Txn) error) error {
	t := db.Begin(TxnOptions{})
	var err error
	for range maxAttempts {
		t.BeginStatement()
		if err = fn(ctx, t); err == nil {
			err = t.Commit(ctx)
		} else {
			t.Rollback(ctx)
		}
		if !IsRetryable(err) {
			return err
		}
		t.Reset(TxnOptions{})
	}
	return err
}

// IsRetryable reports whether the transaction, or the statement, may succeed
// when it is run again.
func IsRetryable(err error) bool {
	return err != nil && kvpb.Classify(err) == kvpb.ClassRetry
}

// IsAmbiguous reports whether a commit that failed with err may have happened.
func IsAmbiguous(err error) bool {
	var a *kvpb.AmbiguousCommitError
	return errors.As(err, &a)
}

// Leaf reads in the snapshot of a transaction of another gateway, up to about so many bytes.
func (db *DB) Leaf(meta kvpb.TxnMeta, observed []kvpb.Observation, limit int64) *Leaf {
	return coord.NewLeaf(db.env, meta, observed, limit)
}
