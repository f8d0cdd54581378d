package coord

import (
	"context"
	"slices"

	"github.com/lichendb/lichen/internal/kvpb"
)

// Leaf reads in the snapshot of a transaction whose gateway is another node, which delegated the read to this
// one. It keeps no record of its reads beyond the clock readings: what it has read is recorded there. One goroutine uses
// it at a time.
type Leaf struct {
	env      *Env
	meta     kvpb.TxnMeta
	observed []kvpb.Observation
	known    int // observations that the gateway has
	req      kvpb.ScanRequest
	get      kvpb.GetRequest
	got      kvpb.GetResponse

	bytes   int64 // read so far
	entries int64 // likewise
	limit   int64
	stopped bool
	rest    []byte
}

// NewLeaf returns a reader in the snapshot of a transaction. Once it has read limit bytes it stops (see Stop).
func NewLeaf(env *Env, meta kvpb.TxnMeta, observed []kvpb.Observation, limit int64) *Leaf {
	l := &Leaf{env: env, meta: meta, observed: slices.Clone(observed), known: len(observed), limit: limit}
	l.req.Txn, l.get.Txn = &l.meta, &l.meta
	return l
}

// Isolation returns the transaction's isolation level.
func (l *Leaf) Isolation() kvpb.Isolation { return l.meta.Isolation }

// Stop ends the read: pages that are asked for from now on are empty and the last ones, and Rest says where they would
// have begun.
func (l *Leaf) Stop() { l.stopped = true }

// Rest returns the first key that was not read because the reader had stopped; nil if all that was asked for was
// read. Pages must have been asked for in the order of their keys.
func (l *Leaf) Rest() []byte { return l.rest }

// Bytes returns how many bytes of keys and values were read.
func (l *Leaf) Bytes() int64 { return l.bytes }

// Entries returns how many entries were read.
func (l *Leaf) Entries() int64 { return l.entries }

// Observed returns the clock readings that the transaction did not have.
func (l *Leaf) Observed() []kvpb.Observation { return l.observed[l.known:] }

// Get reads a key. The value is valid until the next call.
func (l *Leaf) Get(ctx context.Context, key []byte) (value []byte, found bool, err error) {
	if l.halts(key) {
		return nil, false, nil
	}
	l.get.Key, l.get.Observed = key, l.observed
	within, span := traced(ctx, "get", key, nil)
	err = l.env.Sender.Get(within, &l.get, &l.got)
	if answered(span, oneIf(l.got.Found), err); err != nil {
		return nil, false, err
	}
	l.observe(l.got.Observed)
	l.count(oneIf(l.got.Found), len(key)+len(l.got.Value))
	return handOver(&l.got.Value), l.got.Found, nil
}

// Scan reads a page of [start, end).
func (l *Leaf) Scan(ctx context.Context, start, end []byte, o ScanOptions, res *kvpb.ScanResponse) error {
	return l.ScanSpans(ctx, []kvpb.Span{{Key: start, EndKey: end}}, o, res)
}

// ScanSpans reads a page of sorted, disjoint spans, as Txn.ScanSpans does.
func (l *Leaf) ScanSpans(ctx context.Context, spans []kvpb.Span, o ScanOptions, res *kvpb.ScanResponse) error {
	res.Reset()
	if l.halts(spans[0].Key) {
		return nil
	}
	start, end := kvpb.Bounds(spans)
	l.req.Start, l.req.End, l.req.MaxKeys, l.req.MaxBytes = start, end, o.MaxRows, o.pageBytes()
	if l.req.Spans, l.req.Observed = nil, l.observed; len(spans) > 1 {
		l.req.Spans = spans
	}
	within, span := traced(ctx, "scan", start, end)
	err := l.env.Sender.Scan(within, &l.req, res)
	if answered(span, res.Len(), err); err != nil {
		return err
	}
	l.observe(res.Observed)
	l.count(res.Len(), len(res.Arena))
	switch {
	case len(spans) == 1:
		resumeAfterFirst(spans, res)
	case res.Resume != nil && len(kvpb.Narrow(spans, res.Resume, end)) == 0:
		res.Resume = nil
	}
	return nil
}

// halts reports whether the reader has stopped, before key if nothing else was asked for since.
func (l *Leaf) halts(key []byte) bool {
	if l.stopped && l.rest == nil {
		l.rest = slices.Clone(key)
	}
	return l.stopped
}

func (l *Leaf) count(entries, bytes int) {
	l.entries += int64(entries)
	l.bytes += int64(bytes)
	l.stopped = l.stopped || l.bytes >= l.limit
}

// observe keeps the first reading of a node's clock.
func (l *Leaf) observe(o kvpb.Observation) {
	known := func(k kvpb.Observation) bool { return k.Node == o.Node }
	if o.Node != 0 && len(l.observed) < maxObserved && !slices.ContainsFunc(l.observed, known) {
		l.observed = append(l.observed, o)
	}
}
