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
type advisoryOwner struct{ s *Session }

// LockTimeout implements advisory.Session.
func (o advisoryOwner) LockTimeout() time.Duration { return o.s.vals.Fast.LockTimeout }

// Txn implements advisory.Session.
func (o advisoryOwner) Txn() (concurrency.TxnID, bool) {
	if o.s.txn.Began() == 0 {
		return concurrency.TxnID{}, false
	}
	return o.s.coll.TxnID(), true
}

func (s *Session) advisoryKey(r call.AdvisoryLockRequest) advisory.Key {
	return advisory.Key{Database: uint64(s.db.ID), Pair: r.Pair, Number: r.Key}
}

// AdvisoryLock implements call.Session.
func (f *sessionFuncs) AdvisoryLock(r call.AdvisoryLockRequest) (bool, error) {
	return f.s.advisory.Lock(f.ctx(), advisory.Request{Key: f.s.advisoryKey(r), Shared: r.Shared, Try: r.Try, Transaction: r.Transaction})
}

// AdvisoryUnlock implements call.Session.
func (f *sessionFuncs) AdvisoryUnlock(r call.AdvisoryLockRequest, all bool) (bool, error) {
	switch {
	case all:
		f.s.advisory.UnlockAll(f.ctx())
		return true, nil
	case f.s.advisory.Unlock(f.ctx(), f.s.advisoryKey(r), r.Shared):
		return true, nil
	}
	mode := "ExclusiveLock"
	if r.Shared {
		mode = "ShareLock"
	}
	f.s.warnSoon(pgerr.New(pgerr.Warning, "you don't own a lock of type %s", mode))
	return false, nil
}

// ctx is the context of the running statement.
func (f *sessionFuncs) ctx() context.Context {
	if f.s.bctx.Ctx == nil {
		return context.Background()
	}
	return f.s.bctx.Ctx
}
