package spanconfig

import (
	"context"
	"encoding/binary"
	"fmt"
	"strconv"
	"time"

	"github.com/lichendb/lichen/internal/encoding"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
)

// splitPrefix names the records of manual splits: the key follows, the value is the time until
// which the split is enforced. There may be tens of thousands of them. So a node announces
// under changePrefix, soon after it has changed some, that it has; the others read all records
// only then.
const (
	splitPrefix  = "split/"
	changePrefix = "split-change/"
)

// splitVersion begins the value of a record.
const splitVersion = 1

func splitKey(key []byte) []byte { return append(keys.SystemKey(splitPrefix), key...) }

func allSplits() keys.Span { return keys.SystemSpan(splitPrefix) }

func encodeSplit(until hlc.Timestamp) []byte {
	b := binary.AppendVarint([]byte{splitVersion}, until.WallTime)
	return binary.AppendUvarint(b, uint64(until.Logical))
}

func decodeSplit(b []byte) (until hlc.Timestamp, err error) {
	bad := fmt.Errorf("a record of a split has an unknown format: %x", b)
	if len(b) == 0 || b[0] != splitVersion {
		return until, bad
	}
	r := encoding.NewReader(b[1:])
	until = hlc.Timestamp{WallTime: r.Varint(), Logical: uint32(r.Uvarint())}
	if r.Bad() {
		return hlc.Timestamp{}, bad
	}
	return until, nil
}

// readSplits reads the splits in a span of their records, by the keys at which they are.
func readSplits(ctx context.Context, t *kv.Txn, records keys.Span) (map[string]hlc.Timestamp, error) {
	out := map[string]hlc.Timestamp{}
	prefix := len(allSplits().Start)
	err := kv.Each(ctx, t, records, func(k, v []byte) (bool, error) {
		until, err := decodeSplit(v)
		out[string(k[prefix:])] = until
		return true, err
	})
	return out, err
}

// readChanges returns a text that differs once a node has announced a change of splits.
func readChanges(ctx context.Context, t *kv.Txn) (string, error) {
	var all []byte
	err := kv.Each(ctx, t, keys.SystemSpan(changePrefix), func(k, v []byte) (bool, error) {
		all = append(append(append(all, k...), '='), v...)
		return true, nil
	})
	return string(all), err
}

// Splits reads the manual splits in a span of keys as they are stored now.
func (w *Watcher) Splits(ctx context.Context, span keys.Span) (out map[string]hlc.Timestamp, err error) {
	records := keys.Span{Start: splitKey(span.Start), End: splitKey(span.End)}
	if span.IsPoint() {
		records.End = keys.Next(records.Start)
	}
	err = w.o.DB().Run(ctx, func(ctx context.Context, t *kv.Txn) error {
		out, err = readSplits(ctx, t, records)
		return err
	})
	return out, err
}

// MustSplit reports whether a range has to begin at key, by the records as they are stored
// now: SPLIT AT writes its record before it splits, or has the range renewed that begins there
// already.
func (w *Watcher) MustSplit(ctx context.Context, key []byte) (bool, error) {
	c := w.now.Load()
	if c == nil || c.MustSplit(key, w.o.Clock.Now()) {
		return true, nil
	}
	splits, err := w.Splits(ctx, keys.Span{Start: key})
	if err != nil {
		return false, err
	}
	until, ok := splits[string(key)]
	return ok && w.o.Clock.Now().Less(until), nil
}

// SetSplit has a split at key enforced until a time, not any more if that is empty.
func (w *Watcher) SetSplit(ctx context.Context, key []byte, until hlc.Timestamp) error {
	at := splitKey(key)
	defer w.splitsChanged()
	return w.o.DB().Run(ctx, func(ctx context.Context, t *kv.Txn) error {
		_, ok, err := t.Get(ctx, at)
		switch {
		case err != nil:
			return err
		case !until.IsEmpty():
			return t.Put(at, encodeSplit(until))
		case ok:
			return t.Delete(at)
		}
		return nil
	})
}

// splitsChanged notes that this node has changed splits.
func (w *Watcher) splitsChanged() {
	w.stale.Store(true)
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// AnnounceSplits tells the other nodes of changes of splits, of many at once, until ctx ends.
func (w *Watcher) AnnounceSplits(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.changed:
		}
		key := keys.SystemKey(changePrefix + strconv.FormatUint(uint64(w.o.Node()), 10))
		err := w.o.DB().Run(ctx, func(_ context.Context, t *kv.Txn) error { return t.Put(key, encodeSplit(w.o.Clock.Now())) })
		if err != nil && ctx.Err() == nil {
			w.o.Logger.Warn("announcing changed splits", "err", err) // all nodes read all of them once in a while
		}
		select {
		case <-ctx.Done():
		case <-time.After(w.paced(announceEvery)):
		}
	}
}
