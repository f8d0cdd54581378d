package kv

import (
	"bytes"
	"context"
	"crypto/rand"
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

// Counter returns the value of a counter of the cluster, as of Increment.
func (db *DB) Counter(ctx context.Context, name string) (v uint64, err error) {
	err = db.Run(ctx, func(ctx context.Context, t *Txn) error {
		p, found, err := t.Get(ctx, keys.SystemKey(counterPrefix+name))
		if err == nil {
			v, err = counterValue(name, p, found)
		}
		return err
	})
	return v, err
}

// counterValue reads the record of a counter.
func counterValue(name string, record []byte, found bool) (uint64, error) {
	if !found {
		return 1, nil
	}
	v, w := binary.Uvarint(record)
	if w <= 0 {
		return 0, fmt.Errorf("counter %s is damaged", name)
	}
	return v, nil
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
		if v, err = counterValue(name, r.Value, r.Found); err != nil {
			return err
		}
		v += by
		return t.Put(key, binary.AppendUvarint(nil, v))
	})
	return v, err
}

// The record of a secret of the cluster: secretVersion, and secretBytes random bytes.
const (
	secretPrefix  = "secret/"
	secretVersion = 1
	secretBytes   = 32
)

// Secret returns a secret of the cluster, which is made when it is first asked for and stays the same on all nodes. Nothing shows
// it.
func (db *DB) Secret(ctx context.Context, name string) (secret []byte, err error) {
	key := keys.SystemKey(secretPrefix + name)
	err = db.Run(ctx, func(ctx context.Context, t *Txn) error {
		r, err := t.Lock(ctx, key, lock.Update, lock.WaitBlock)
		switch {
		case err != nil:
			return err
		case r.Found && (len(r.Value) != 1+secretBytes || r.Value[0] != secretVersion):
			return fmt.Errorf("secret %s has an unknown format", name)
		case r.Found:
			secret = bytes.Clone(r.Value[1:])
			return nil
		}
		secret = make([]byte, secretBytes)
		_, _ = rand.Read(secret) // which never fails
		return t.Put(key, append([]byte{secretVersion}, secret...))
	})
	return secret, err
}
