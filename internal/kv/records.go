package kv

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/lock"
)

// counterPrefix names the records of the cluster's counters.
const counterPrefix = "counter/"

// Each calls fn with the keys of a span and their newest values, in order, until fn says that
// it wants no more. Key and value are valid during the call only.
func Each(ctx context.Context, t *Txn, span keys.Span, fn func(key, value []byte) (more bool, err error)) error {
	var page ScanResult
	for start := span.Start; start != nil; start = bytes.Clone(page.Resume) {
		if err := t.Scan(ctx, start, span.End, ScanOptions{}, &page); err != nil {
			return err
		}
		for i := range page.Len() {
			if more, err := fn(page.Key(i), page.Value(i)); err != nil || !more {
				return err
			}
		}
	}
	return nil
}

// Increment raises a counter of the cluster and returns its new value. Counters begin at 1,
// the id of the first node, store and range.
func (db *DB) Increment(ctx context.Context, name string, by uint64) (v uint64, err error) {
	key := keys.SystemKey(counterPrefix + name)
	err = db.Run(ctx, func(ctx context.Context, t *Txn) error {
		r, err := t.Lock(ctx, key, lock.Update, lock.WaitBlock)
		if err != nil {
			return err
		}
		v = 1
		if r.Found {
			var w int
			if v, w = binary.Uvarint(r.Value); w <= 0 {
				return fmt.Errorf("counter %s is damaged", name)
			}
		}
		v += by
		return t.Put(key, binary.AppendUvarint(nil, v))
	})
	return v, err
}
