package replica

import (
	"bytes"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/storage"
	"github.com/lichendb/lichen/internal/txnintent"
)

// fewKeys is the number of keys up to which a read of each intent costs less than an iterator.
const fewKeys = 8

// intentCursor reads the intents on many keys in ascending order, in the engine's state at its beginning.
// It seeks only where there are intents.
type intentCursor struct {
	r    *Replica
	it   *storage.Iterator
	seek []byte // scratch: the lock's engine key
	lock []byte // scratch: the lock's key
}

// intentsOn returns a cursor for the keys from first to last. The caller must close it soon, since a store
// that stops waits for it.
func (r *Replica) intentsOn(first, last []byte) (*intentCursor, error) {
	if !r.deps.Engine.BeginRead() {
		return nil, storage.ErrClosed
	}
	it, err := r.deps.Engine.NewIter(storage.IterOptions{Lower: keys.Lock(first), Upper: keys.Next(keys.Lock(last))})
	if err != nil {
		r.deps.Engine.EndRead()
		return nil, err
	}
	it.First()
	return &intentCursor{r: r, it: it}, nil
}

func (c *intentCursor) close() {
	_ = c.it.Close() // on has reported its error
	c.r.deps.Engine.EndRead()
}

// on reads the intent on a key. Each key must be at or above that of the last call.
func (c *intentCursor) on(key []byte) (in txnintent.Intent, ok bool, err error) {
	if !c.it.Valid() {
		return in, false, c.r.deps.Engine.ReadError(c.it.Error())
	}
	c.lock = keys.AppendLock(c.lock[:0], key)
	c.seek = storage.AppendEngineKey(c.seek[:0], c.lock, hlc.Timestamp{})
	if bytes.Compare(c.it.Key(), c.seek) < 0 && !c.it.SeekGE(c.seek) {
		return in, false, c.r.deps.Engine.ReadError(c.it.Error())
	}
	if !bytes.Equal(c.it.Key(), c.seek) {
		return in, false, nil
	}
	v, err := c.it.ValueAndErr()
	if err != nil {
		return in, false, c.r.deps.Engine.ReadError(err)
	}
	in, err = txnintent.DecodeIntent(v)
	return in, err == nil, err
}
