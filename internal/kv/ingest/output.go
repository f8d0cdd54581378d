package ingest

import (
	"bytes"
	"cmp"
	"context"
	"sync"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/lock"
)

const (
	// writers is how many blocks are on their way at once.
	writers = 2
	// scanRatio is how many keys are read one after the other in the time in which one is looked up.
	scanRatio = 10
)

// transactional is the output into the statement's transaction.
type transactional struct {
	ctx context.Context
	txn *kv.Txn
}

func (t *transactional) write(block []kv.Write, _ bool) error {
	for i := range block {
		if err := t.txn.Put(block[i].Key, block[i].Value); err != nil {
			return err
		}
	}
	return nil
}

// find locks each key: a plain read would not see what the statement itself has written.
func (t *transactional) find(r *run, found func(i int)) error {
	return r.eachUnique(found, func(e *entry) (bool, error) {
		res, err := t.txn.Lock(t.ctx, r.key(e), lock.Update, lock.WaitBlock)
		return res.Found, err
	})
}

func (t *transactional) finish() error { return nil }
func (t *transactional) close()        {}

// ingested is the output by transactions beside the statement's, which kv.DB.Ingest makes.
type ingested struct {
	to      *Target
	resumed bool            // entries may be there already
	ctx     context.Context // of the blocks under way
	stop    context.CancelFunc
	slots   chan struct{}
	wg      sync.WaitGroup
	mu      sync.Mutex
	err     error // the first of a block
}

func newIngested(ctx context.Context, to *Target, resumed bool) *ingested {
	o := &ingested{to: to, resumed: resumed, slots: make(chan struct{}, writers)}
	o.ctx, o.stop = context.WithCancel(ctx)
	return o
}

// write begins to write a block when there is a slot for it. One that is alone takes all slots.
func (o *ingested) write(block []kv.Write, alone bool) error {
	n := 1
	if alone {
		n = cap(o.slots)
	}
	for range n {
		o.slots <- struct{}{}
	}
	leave := func() {
		for range n {
			<-o.slots
		}
	}
	if err := o.failed(); err != nil || o.ctx.Err() != nil {
		leave()
		return cmp.Or(err, o.ctx.Err())
	}
	o.wg.Go(func() {
		if err := o.ingest(block); err != nil {
			o.fail(err)
		}
		leave()
	})
	return nil
}

func (o *ingested) ingest(block []kv.Write) error {
	if o.to.Lease != nil {
		if err := o.to.Lease(o.ctx); err != nil {
			return err
		}
	}
	return o.to.DB.Ingest(o.ctx, block, o.to.Until)
}

func (o *ingested) fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.err = err
		o.stop()
	}
}

func (o *ingested) failed() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

func (o *ingested) finish() error {
	o.wg.Wait()
	return o.failed()
}

func (o *ingested) close() {
	o.stop()
	o.wg.Wait()
}

func (o *ingested) find(r *run, found func(i int)) error {
	if err := o.finish(); err != nil { // what was written before must be there
		return err
	}
	txn := o.to.DB.Begin(kv.TxnOptions{Isolation: kv.RepeatableRead, ReadOnly: true})
	txn.BeginStatement()
	defer txn.Rollback(o.ctx)
	if r.written < scanRatio*len(r.entries) {
		return o.scan(txn, r, found)
	}
	return r.eachUnique(found, func(e *entry) (bool, error) {
		value, there, err := txn.Get(o.ctx, r.key(e))
		return there && !o.same(r, e, value), err
	})
}

// same reports whether the value that an entry has already is that of the same row.
func (o *ingested) same(r *run, e *entry, value []byte) bool {
	return o.resumed && bytes.Equal(r.value(e), value)
}

// scan looks for the keys of a run while it reads all that lies between them.
func (o *ingested) scan(txn *kv.Txn, r *run, found func(i int)) error {
	var page kv.ScanResult
	at, end := 0, keys.Next(r.max)
	for start := r.key(&r.entries[0]); start != nil; start = bytes.Clone(page.Resume) {
		page.Reset()
		if err := txn.Scan(o.ctx, start, end, kv.ScanOptions{}, &page); err != nil {
			return err
		}
		for i := range page.Len() {
			key := page.Key(i)
			for bytes.Compare(r.key(&r.entries[at]), key) < 0 {
				if at++; at == len(r.entries) {
					return nil
				}
			}
			if e := &r.entries[at]; e.unique() && bytes.Equal(r.key(e), key) && !o.same(r, e, page.Value(i)) {
				found(at)
			}
		}
	}
	return nil
}

// eachUnique calls found with the position of each unique entry, of those not above all that was written, whose key is there.
func (r *run) eachUnique(found func(i int), there func(*entry) (bool, error)) error {
	for i := range r.entries {
		e := &r.entries[i]
		if bytes.Compare(r.key(e), r.max) > 0 {
			return nil
		}
		if !e.unique() {
			continue
		}
		switch is, err := there(e); {
		case err != nil:
			return err
		case is:
			found(i)
		}
	}
	return nil
}
