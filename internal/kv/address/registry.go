package address

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/replica"
)

// FirstRange is the range that holds the meta records.
const FirstRange kvpb.RangeID = 1

const (
	// maxUnpublished bounds the ranges whose address waits to be published; what
	// does not fit is found again when the range is looked at next.
	maxUnpublished = 1 << 16
	publishRetry   = 500 * time.Millisecond
	// republishEvery is how often a node looks whether the addresses of the ranges
	// that it leads are right, and whether its other replicas are still wanted.
	republishEvery = time.Minute
	// askTimeout bounds the wait for one node's answer, writeTimeout the writing of
	// records.
	askTimeout   = 3 * time.Second
	writeTimeout = 3 * time.Second
)

// Options say what a Registry works with.
type Options struct {
	// Replica finds a replica of this node that holds data, Replicas all of them,
	Replica func(kvpb.RangeID) (*replica.Replica, bool)
	// in the order of their keys.
	Replicas func() []*replica.Replica
	// Superseded is called with records newer than what a replica here knows of its range; nil:
	// nobody is.
	Superseded func(*replica.Replica, *kvpb.RangeDescriptor)
	// Peers are the other nodes; Ask has one of them tell what its Known returns.
	Peers  func() []kvpb.NodeID
	Ask    func(ctx context.Context, node kvpb.NodeID) (*kvpb.RangeDescriptor, error)
	Logger *slog.Logger
}

// Registry keeps the meta records of the ranges that a node leads.
type Registry struct {
	o           Options
	firstRange  atomic.Pointer[kvpb.RangeDescriptor] // as last received
	unpublished chan kvpb.RangeID
	audited     []byte // where the next audit begins; belongs to Run

	mu sync.Mutex
	// recorded are the generations of descriptors that the records are known to have reached. A record
	// never goes back, so that it need not be read again.
	recorded map[kvpb.RangeID]uint64
}

// NewRegistry returns a Registry. It does nothing by itself before Run.
func NewRegistry(o Options) *Registry {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Registry{o: o, unpublished: make(chan kvpb.RangeID, maxUnpublished), recorded: map[kvpb.RangeID]uint64{}}
}

// Known returns the descriptor of the first range as this node knows it, nil if it
// does not.
func (g *Registry) Known() *kvpb.RangeDescriptor {
	if r, ok := g.o.Replica(FirstRange); ok {
		return r.Desc()
	}
	return g.firstRange.Load()
}

// FindFirstRange returns where the addresses are. It is dist.Config.FirstRange.
func (g *Registry) FindFirstRange(ctx context.Context) (kvpb.RangeDescriptor, error) {
	if r, ok := g.o.Replica(FirstRange); ok {
		return *r.Desc(), nil
	}
	newest := g.firstRange.Load()
	for _, n := range g.o.Peers() {
		c, cancel := context.WithTimeout(ctx, askTimeout)
		d, err := g.o.Ask(c, n)
		cancel()
		if err == nil && d != nil && (newest == nil || newest.Generation < d.Generation) {
			newest = d
		}
	}
	if newest == nil {
		return kvpb.RangeDescriptor{}, errors.New("no node that can be reached knows the first range")
	}
	g.firstRange.Store(newest)
	return *newest, nil
}

// Publish notes that the address of a range that is led here may have to be
// written. It does not block.
func (g *Registry) Publish(r *replica.Replica) {
	select {
	case g.unpublished <- r.RangeID():
	default:
	}
}

// Run writes the addresses of ranges until ctx ends.
func (g *Registry) Run(ctx context.Context, db *kv.DB) {
	again := time.NewTicker(republishEvery)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-again.C:
			for _, r := range g.o.Replicas() {
				if r.Leads() && !g.isRecorded(r.Desc()) {
					g.Publish(r)
				}
			}
			if g.o.Superseded != nil {
				_ = g.audit(ctx, db) // the next one looks again
			}
		case id := <-g.unpublished:
			// Any replica that has applied a descriptor may write it: the newest one stays.
			r, ok := g.o.Replica(id)
			if !ok || g.isRecorded(r.Desc()) {
				continue
			}
			if err := g.Write(ctx, db, r.Desc()); err != nil && ctx.Err() == nil {
				g.o.Logger.Warn("address of a range", "range", id, "err", err)
				time.AfterFunc(publishRetry, func() { g.Publish(r) })
			}
		}
	}
}

// isRecorded reports whether a descriptor need not be written any more.
func (g *Registry) isRecorded(d *kvpb.RangeDescriptor) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.recorded[d.RangeID] >= d.Generation
}

// maxRecorded bounds Registry.recorded; beyond it everything is looked at anew.
const maxRecorded = 1 << 20

func (g *Registry) noteRecorded(descs []*kvpb.RangeDescriptor) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.recorded) > maxRecorded {
		clear(g.recorded)
	}
	for _, d := range descs {
		g.recorded[d.RangeID] = max(g.recorded[d.RangeID], d.Generation)
	}
}

// Write puts descriptors into the meta records of their ranges, unless newer ones are
// there, and removes those of ranges that were merged away.
func (g *Registry) Write(ctx context.Context, db *kv.DB, descs ...*kvpb.RangeDescriptor) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	err := db.Run(ctx, func(ctx context.Context, t *kv.Txn) error {
		for _, d := range descs {
			if err := write(ctx, t, d); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		g.noteRecorded(descs)
	}
	return err
}

// write puts one descriptor in, and removes the records of the ranges that it has taken
// in: those of earlier generations that end within it.
func write(ctx context.Context, t *kv.Txn, d *kvpb.RangeDescriptor) error {
	key := keys.Meta(d.EndKey)
	newer := false
	// The record at the range's end, and the next one: the range may be part of that.
	err := each(ctx, t, key, keys.MetaSpan().End, 2, func(_ []byte, o *kvpb.RangeDescriptor) error {
		newer = newer || o.Generation >= d.Generation && bytes.Compare(o.StartKey, d.EndKey) < 0
		return nil
	})
	if err != nil || newer {
		return err
	}
	if err := t.Put(key, apply.EncodeDescriptor(d)); err != nil {
		return err
	}
	return each(ctx, t, keys.Next(keys.Meta(d.StartKey)), key, 0, func(k []byte, o *kvpb.RangeDescriptor) error {
		if o.Generation >= d.Generation {
			return nil
		}
		return t.Delete(k)
	})
}

// each calls fn for the records of [lo, hi), or for the first few of them.
func each(ctx context.Context, t *kv.Txn, lo, hi []byte, limit int, fn func(key []byte, d *kvpb.RangeDescriptor) error) error {
	var page kv.ScanResult
	for n := 0; lo != nil && bytes.Compare(lo, hi) < 0; lo = bytes.Clone(page.Resume) {
		if err := t.Scan(ctx, lo, hi, kv.ScanOptions{MaxRows: limit}, &page); err != nil {
			return err
		}
		for i := range page.Len() {
			d, err := apply.DecodeDescriptor(page.Value(i))
			if err != nil {
				return err
			}
			if err := fn(bytes.Clone(page.Key(i)), d); err != nil {
				return err
			}
			if n++; n == limit {
				return nil
			}
		}
	}
	return nil
}
