package rangecache

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/lichendb/lichen/internal/kvpb"
)

// ErrNoRange says that the meta records name no range that holds a key: the
// record of a range that has just changed is on its way.
var ErrNoRange = errors.New("rangecache: no range is known to hold the key")

// flights are the lookups that run.
type flights struct {
	mu    sync.Mutex
	byKey map[string]*flight
}

type flight struct {
	done chan struct{}
	err  error
}

// Find returns the entry of the range that holds key and looks it up if none is
// cached.
func (c *Cache) Find(ctx context.Context, key []byte) (*Entry, error) {
	if e := c.Cached(key); e != nil {
		return e, nil
	}
	for {
		joined, err := c.lookupOnce(ctx, key)
		if e := c.Cached(key); e != nil {
			return e, nil
		}
		if cerr := ctx.Err(); cerr != nil {
			return nil, cerr
		}
		if joined && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
			continue // another caller's context ended, not this one's
		}
		if err == nil {
			err = fmt.Errorf("%w (key %x)", ErrNoRange, key)
		}
		return nil, err
	}
}

// FindBefore returns the entry of the range that holds the last keys of
// [start, end).
func (c *Cache) FindBefore(ctx context.Context, start, end []byte) (*Entry, error) {
	if e := c.CachedBefore(end); e != nil {
		return e, nil
	}
	// No key is next before end: go on from one that is near, range by range.
	key := start
	if near := nearBefore(end); bytes.Compare(near, start) > 0 {
		key = near
	}
	for {
		e, err := c.Find(ctx, key)
		if err != nil || bytes.Compare(e.desc.EndKey, end) >= 0 {
			return e, err
		}
		key = e.desc.EndKey
	}
}

// nearBefore returns a key before end with few, if any, range boundaries between.
func nearBefore(end []byte) []byte {
	n := len(end)
	switch {
	case n == 0:
		return nil
	case end[n-1] == 0:
		return end[:n-1]
	}
	near := append(bytes.Clone(end), bytes.Repeat([]byte{0xff}, 16)...)
	near[n-1]--
	return near
}

// lookupOnce runs one lookup of key, or waits for the one that is running.
func (c *Cache) lookupOnce(ctx context.Context, key []byte) (joined bool, err error) {
	fl := &c.flights
	fl.mu.Lock()
	if f := fl.byKey[string(key)]; f != nil {
		fl.mu.Unlock()
		select {
		case <-f.done:
			return true, f.err
		case <-ctx.Done():
			return true, ctx.Err()
		}
	}
	f := &flight{done: make(chan struct{})}
	fl.byKey[string(key)] = f
	fl.mu.Unlock()
	f.err = c.Reload(ctx, key)
	fl.mu.Lock()
	delete(fl.byKey, string(key))
	fl.mu.Unlock()
	close(f.done)
	return false, f.err
}

// Reload reads anew where the range that holds key is. What is cached stays if
// nothing newer is known.
func (c *Cache) Reload(ctx context.Context, key []byte) error {
	descs, err := c.lookup(ctx, key)
	if err == nil {
		c.Insert(descs...)
	}
	return err
}

// Known returns the descriptors in the cache, in the order of their keys.
func (c *Cache) Known() []*kvpb.RangeDescriptor {
	all := c.snap.Load().entries
	out := make([]*kvpb.RangeDescriptor, len(all))
	for i, e := range all {
		out[i] = e.desc
	}
	return out
}
