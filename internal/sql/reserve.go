package sql

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/sql/clustersetting"
)

const (
	// reserveAfter is how long an attempt of a statement takes that reserves what it failed at
	// before it is run again: of shorter ones one succeeds soon.
	reserveAfter = 500 * time.Millisecond
	// The reservation lasts holdFactor times as long as the longest attempt so far, at most as
	// long as the cluster setting says: so long do others wait who want to write there.
	holdFactor = 3
	// maxReservedTables bounds the tables that a statement reserves.
	maxReservedTables = 8
)

// reservation is what a statement reserves before it is run again: the tables where others have
// changed what it had read. A statement that takes long would never find them unchanged where
// others write all the time.
type reservation struct {
	tables  []kvpb.Span
	longest time.Duration // of the attempts
}

// note notes that an attempt that took so long has failed with err.
func (a *reservation) note(srv *Server, err error, took time.Duration) {
	var retry *kvpb.RetryError
	if took < srv.reserveAfter || !errors.As(err, &retry) || len(a.tables) >= maxReservedTables {
		return
	}
	db, table, _, _, ok := keys.DecodeIndexPrefix(retry.Key)
	if !ok {
		return
	}
	a.longest = max(a.longest, took)
	span := keys.TableSpan(db, table)
	if slices.ContainsFunc(a.tables, func(t kvpb.Span) bool { return slices.Equal(t.Key, span.Start) }) {
		return
	}
	a.tables = append(slices.Clip(a.tables), kvpb.Span{Key: span.Start, EndKey: span.End}) // the transaction has the list
}

// reserve reserves the tables for a statement that begins.
func (a *reservation) reserve(ctx context.Context, txn *kv.Txn, srv *Server) error {
	if len(a.tables) == 0 || txn.Isolation() == kv.ReadCommitted {
		return nil
	}
	most := clustersetting.Get(srv.cfg.Settings).ReserveMost
	if most <= 0 {
		return nil
	}
	return txn.Reserve(ctx, a.tables, min(holdFactor*a.longest+reserveAfter, most))
}
