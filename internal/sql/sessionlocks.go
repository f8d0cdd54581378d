package sql

import (
	"context"
	"time"

	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/sql/advisory"
	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// advisoryOwner is the session as its advisory locks see it.
type advisoryOwner struct{ ex *executor }

// LockTimeout implements advisory.Session.
func (o advisoryOwner) LockTimeout() time.Duration { return o.ex.vals.Fast.LockTimeout }

// Txn implements advisory.Session.
func (o advisoryOwner) Txn() (concurrency.TxnID, bool) {
	if o.ex.txn.Began() == 0 {
		return concurrency.TxnID{}, false
	}
	return o.ex.coll.TxnID(), true
}

func (f *sessionFuncs) advisoryKey(r call.AdvisoryLockRequest) advisory.Key {
	return advisory.Key{Database: uint64(f.ex.conn.db.ID), Pair: r.Pair, Number: r.Key}
}

// AdvisoryLock implements call.Session.
func (f *sessionFuncs) AdvisoryLock(r call.AdvisoryLockRequest) (bool, error) {
	return f.ex.advisory.Lock(f.ctx(), advisory.Request{Key: f.advisoryKey(r), Shared: r.Shared, Try: r.Try, Transaction: r.Transaction})
}

// AdvisoryUnlock implements call.Session.
func (f *sessionFuncs) AdvisoryUnlock(r call.AdvisoryLockRequest, all bool) (bool, error) {
	switch {
	case all:
		f.ex.advisory.UnlockAll(f.ctx())
		return true, nil
	case f.ex.advisory.Unlock(f.ctx(), f.advisoryKey(r), r.Shared):
		return true, nil
	}
	mode := "ExclusiveLock"
	if r.Shared {
		mode = "ShareLock"
	}
	f.ex.warnSoon(pgerr.New(pgerr.Warning, "you don't own a lock of type %s", mode))
	return false, nil
}

// ctx is the context of the running statement.
func (f *sessionFuncs) ctx() context.Context {
	if f.ex.eval.functions.Ctx == nil {
		return context.Background()
	}
	return f.ex.eval.functions.Ctx
}
