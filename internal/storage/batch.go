package storage

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/batchrepr"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/must"
)

// Batch is a set of writes that become visible together and, after a crash, are
// there together or not at all. It is not safe for concurrent use.
type Batch struct {
	e     *Engine
	b     *pebble.Batch
	marks []cacheMark // for the time of Commit
}

// NewBatch returns an empty batch. Close must be called in the end.
func (e *Engine) NewBatch() *Batch { return &Batch{e: e, b: e.db.NewBatch()} }

// NewBatchOf is NewBatch for writes with the given number of bytes in keys and values. It allocates their
// memory at once, rather than step by step up to twice of that.
func (e *Engine) NewBatchOf(bytes int) *Batch {
	b := e.NewBatch()
	empty := make([]byte, batchrepr.HeaderLen, bytes+bytes/batchSlack+minBatchSlack)
	err := b.b.SetRepr(empty)
	must.True(err == nil, "storage: an empty batch is refused: %v", err)
	return b
}

// What NewBatchOf adds for the parts of writes that are not counted.
const (
	batchSlack    = 16
	minBatchSlack = 1 << 10
)

// Set writes an unversioned key.
func (b *Batch) Set(key, value []byte) error {
	op := b.b.SetDeferred(len(key)+1, len(value))
	copy(op.Key, key)
	op.Key[len(key)] = sentinel
	copy(op.Value, value)
	return op.Finish()
}

// SetEngineKey writes a key as the engine holds it, as an Iterator returned it.
func (b *Batch) SetEngineKey(key, value []byte) error { return b.b.Set(key, value, nil) }

// Delete removes an unversioned key.
func (b *Batch) Delete(key []byte) error {
	op := b.b.DeleteDeferred(len(key) + 1)
	copy(op.Key, key)
	op.Key[len(key)] = sentinel
	return op.Finish()
}

// SetVersion writes the version of key at ts: the byte header followed by
// payload. Package mvcc says what the header means.
func (b *Batch) SetVersion(key []byte, ts hlc.Timestamp, header byte, payload []byte) error {
	must.True(!ts.IsEmpty(), "storage 5: a version without a timestamp")
	op := b.b.SetDeferred(engineKeyLen(len(key), ts), 1+len(payload))
	appendSuffix(append(op.Key[:0], key...), ts)
	op.Value[0] = header
	copy(op.Value[1:], payload)
	return op.Finish()
}

// DeleteVersion removes the version of key at ts for good. valueSize is the
// length of its value with the header, which lets compactions judge how much
// space they win; or 0 where many neighbors are removed, to have tables full of
// such deletions compacted soon, because scans walk over each of them (see doc.go).
func (b *Batch) DeleteVersion(key []byte, ts hlc.Timestamp, valueSize uint32) error {
	must.True(!ts.IsEmpty(), "storage 5: a version without a timestamp")
	var op *pebble.DeferredBatchOp
	if n := engineKeyLen(len(key), ts); valueSize == 0 {
		op = b.b.DeleteDeferred(n)
	} else {
		op = b.b.DeleteSizedDeferred(n, valueSize)
	}
	appendSuffix(append(op.Key[:0], key...), ts)
	return op.Finish()
}

// DeleteRange removes every key from start up to but not including end, all
// versions and unversioned keys alike.
func (b *Batch) DeleteRange(start, end []byte) error {
	op := b.b.DeleteRangeDeferred(len(start)+1, len(end)+1)
	appendSuffix(append(op.Key[:0], start...), hlc.Timestamp{})
	appendSuffix(append(op.Value[:0], end...), hlc.Timestamp{})
	return op.Finish()
}

// Append adds the writes of o after those of b.
func (b *Batch) Append(o *Batch) error { return b.b.Apply(o.b, nil) }

// Len is the size of the batch in bytes.
func (b *Batch) Len() int { return b.b.Len() }

// Count is the number of writes in the batch.
func (b *Batch) Count() int { return int(b.b.Count()) }

// Empty reports whether the batch holds no write.
func (b *Batch) Empty() bool { return b.b.Empty() }

// Commit makes the writes visible. They are durable only after a flush that
// began later: the raft log carries them until then.
func (b *Batch) Commit() error {
	e := b.e
	if err := e.Err(); err != nil {
		return err
	}
	e.commits.begin()
	b.marks = e.versions.announce(b.b, b.marks[:0])
	err := b.b.Commit(pebble.NoSync)
	settle(b.marks, err == nil)
	e.commits.end()
	if err != nil {
		return fmt.Errorf("storage: commit: %w", err)
	}
	return nil
}

// Reset empties the batch for reuse, also after Commit.
func (b *Batch) Reset() { b.b.Reset() }

// Close releases the batch.
func (b *Batch) Close() {
	if b.b != nil {
		_ = b.b.Close() // fails only if the batch was closed before
		b.b = nil
	}
}
