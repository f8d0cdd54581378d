package dist

import (
	"bytes"
	"context"
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/must"
)

// maxParallel bounds the ranges that one request goes to at the same time.
const maxParallel = 16

// route calls fn with the leader of the range that holds key until fn succeeds or fails for good. The range
// may change between attempts, so fn must read t.desc each time. commit is retry.commit.
func (d *Router) route(ctx context.Context, key []byte, commit bool, fn func(t target) error) error {
	r := retry{commit: commit}
	for {
		t, err := d.find(ctx, key, &r)
		if err == nil {
			if err = fn(t); err == nil {
				return nil
			}
		}
		if err = r.next(ctx, d, t, key, err); err != nil {
			return err
		}
	}
}

// rangeOf returns the range that holds key, as far as the cache knows. While the descriptors around a split are written, a
// lookup may find none.
func (d *Router) rangeOf(ctx context.Context, key []byte) (desc *kvpb.RangeDescriptor, err error) {
	if d.loc != nil { // Locator waits for a split that is being applied
		err = d.route(ctx, key, false, func(t target) error {
			desc = t.desc
			return nil
		})
		return desc, err
	}
	var r retry
	for {
		e, err := d.cache.Find(ctx, key)
		if err == nil {
			return e.Desc(), nil
		}
		if err = r.next(ctx, d, target{}, key, err); err != nil {
			return nil, err
		}
	}
}

// holdsSpan reports whether all of s lies in a range.
func holdsSpan(desc *kvpb.RangeDescriptor, s kvpb.Span) bool {
	return desc.ContainsKey(s.Key) && bytes.Compare(s.EndKey, desc.EndKey) <= 0
}

func holdsSpans(desc *kvpb.RangeDescriptor, spans []kvpb.Span) bool {
	for _, s := range spans {
		if !holdsSpan(desc, s) {
			return false
		}
	}
	return true
}

func holdsKeys(desc *kvpb.RangeDescriptor, keys [][]byte) bool {
	for _, k := range keys {
		if !desc.ContainsKey(k) {
			return false
		}
	}
	return true
}

// eachPart cuts spans at range boundaries and calls send for the spans of each range in turn.
func (d *Router) eachPart(ctx context.Context, spans []kvpb.Span, send func(t target, part []kvpb.Span) error) error {
	var r retry
	owned := false
	for len(spans) > 0 {
		t, err := d.find(ctx, spans[0].Key, &r)
		if err == nil {
			n := 0
			for n < len(spans) && holdsSpan(t.desc, spans[n]) {
				n++
			}
			if n > 0 {
				err = send(t, spans[:n])
			} else {
				err = send(t, []kvpb.Span{{Key: spans[0].Key, EndKey: t.desc.EndKey}})
			}
			if err == nil {
				r = retry{}
				if n == 0 {
					if !owned {
						spans, owned = append([]kvpb.Span(nil), spans...), true
					}
					spans[0].Key = t.desc.EndKey
				}
				spans = spans[n:]
				continue
			}
		}
		if err = r.next(ctx, d, t, spans[0].Key, err); err != nil {
			return err
		}
	}
	return nil
}

// byRange cuts spans at range boundaries and groups them by range. The bounds may change before the spans are
// sent, so eachPart cuts them again.
func (d *Router) byRange(ctx context.Context, spans []kvpb.Span) ([][]kvpb.Span, error) {
	var groups [][]kvpb.Span
	index := map[kvpb.RangeID]int{}
	add := func(desc *kvpb.RangeDescriptor, s kvpb.Span) {
		i, ok := index[desc.RangeID]
		if !ok {
			i = len(groups)
			index[desc.RangeID] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], s)
	}
	var desc *kvpb.RangeDescriptor
	for _, s := range spans {
		for {
			if desc == nil || !desc.ContainsKey(s.Key) {
				var err error
				if desc, err = d.rangeOf(ctx, s.Key); err != nil {
					return nil, err
				}
			}
			if holdsSpan(desc, s) {
				add(desc, s)
				break
			}
			add(desc, kvpb.Span{Key: s.Key, EndKey: desc.EndKey})
			s.Key = desc.EndKey
		}
	}
	return groups, nil
}

// inParallel calls send for the spans of each range, for several ranges at the same time. It returns the first
// error. If all is set, it visits the other ranges nevertheless.
func (d *Router) inParallel(
	ctx context.Context, spans []kvpb.Span, all bool, send func(ctx context.Context, t target, part []kvpb.Span) error,
) error {
	groups, err := d.byRange(ctx, spans)
	if err != nil {
		groups = [][]kvpb.Span{spans} // eachPart retries the lookup or reports its error
	}
	return parallel(ctx, len(groups), all, func(ctx context.Context, i int) error {
		return d.eachPart(ctx, groups[i], func(t target, part []kvpb.Span) error { return send(ctx, t, part) })
	})
}

// parallel calls fn for 0 to n-1, at most maxParallel at a time and the last one on the calling goroutine. It
// returns the first error, which cancels the other calls unless all is set.
func parallel(ctx context.Context, n int, all bool, fn func(ctx context.Context, i int) error) error {
	if n == 1 {
		return fn(ctx, 0)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		wg    sync.WaitGroup
		once  sync.Once
		first error
	)
	run := func(i int) {
		if err := fn(ctx, i); err != nil {
			once.Do(func() { first = err })
			if !all {
				cancel()
			}
		}
	}
	slots := make(chan struct{}, maxParallel)
	for i := range n {
		slots <- struct{}{}
		if ctx.Err() != nil && !all {
			break
		}
		if i == n-1 {
			run(i)
			break
		}
		wg.Go(func() {
			defer func() { <-slots }()
			run(i)
		})
	}
	wg.Wait()
	if first == nil {
		return ctx.Err()
	}
	return first
}

// Refresh implements kvpb.Sender. It visits the ranges in parallel.
func (d *Router) Refresh(ctx context.Context, req *kvpb.RefreshRequest) error {
	defer must.Report(d.cfg.OnFatal)
	if len(req.Spans) == 0 {
		return nil
	}
	var r retry
	for {
		t, err := d.find(ctx, req.Spans[0].Key, &r)
		if err == nil {
			if !holdsSpans(t.desc, req.Spans) {
				break
			}
			if err = t.Refresh(ctx, req); err == nil {
				return nil
			}
		}
		if err = r.next(ctx, d, t, req.Spans[0].Key, err); err != nil {
			return err
		}
	}
	return d.inParallel(ctx, req.Spans, false, func(ctx context.Context, t target, part []kvpb.Span) error {
		p := *req
		p.Spans = part
		return t.Refresh(ctx, &p)
	})
}

// Reserve implements kvpb.Sender. It visits the ranges in parallel.
func (d *Router) Reserve(ctx context.Context, req *kvpb.ReserveRequest) error {
	defer must.Report(d.cfg.OnFatal)
	if len(req.Spans) == 0 {
		return nil
	}
	return d.inParallel(ctx, req.Spans, false, func(ctx context.Context, t target, part []kvpb.Span) error {
		p := *req
		p.Spans = part
		return t.Reserve(ctx, &p)
	})
}

// releaseWait bounds how long a rollback waits to release locks in unreachable ranges. Then the release goes
// on in the background.
const releaseWait = time.Second

// Release implements kvpb.Sender. A rollback does not wait long for ranges that have no leader or can't be
// reached, since its client waits for the error.
func (d *Router) Release(ctx context.Context, req *kvpb.ReleaseRequest) error {
	defer must.Report(d.cfg.OnFatal)
	if d.loc != nil || req.Committed || req.Abandoned || len(req.Locks) == 0 {
		return d.release(ctx, req)
	}
	soon, cancel := context.WithTimeout(ctx, releaseWait)
	defer cancel()
	err := d.release(soon, req)
	if err == nil || soon.Err() == nil {
		return err
	}
	bg, ok := d.finishing.admit()
	if !ok {
		return err
	}
	txn := *req.Txn
	later := &kvpb.ReleaseRequest{Txn: &txn, Locks: make([][]byte, len(req.Locks))}
	for i, k := range req.Locks {
		later.Locks[i] = append([]byte(nil), k...)
	}
	go func() {
		defer d.finishing.leave()
		ctx, cancel := context.WithTimeout(bg, endTimeout)
		defer cancel()
		_ = d.release(ctx, later) // a leader that can't be reached for so long drops them with the gateway's incarnation, or has gone
	}()
	return nil
}

// release releases locks, range by range.
func (d *Router) release(ctx context.Context, req *kvpb.ReleaseRequest) error {
	if len(req.Locks) == 0 {
		return nil
	}
	var r retry
	for {
		t, err := d.find(ctx, req.Locks[0], &r)
		if err == nil {
			if !holdsKeys(t.desc, req.Locks) {
				break
			}
			if err = t.Release(ctx, req); err == nil {
				return nil
			}
		}
		if err = r.next(ctx, d, t, req.Locks[0], err); err != nil {
			return err
		}
	}
	spans := make([]kvpb.Span, len(req.Locks))
	for i, k := range req.Locks {
		spans[i].Key = k
	}
	return d.inParallel(ctx, spans, true, func(ctx context.Context, t target, part []kvpb.Span) error {
		p := *req
		p.Locks = make([][]byte, len(part))
		for i := range part {
			p.Locks[i] = part[i].Key
		}
		return t.Release(ctx, &p)
	})
}
