package sim

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/check"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/snapshot"
	"github.com/lichendb/lichen/internal/storage"
	"github.com/lichendb/lichen/internal/storage/mvcc"
)

// settleWithin is how long, in virtual time, a healed cluster may take until all
// replicas of each range are alike and nothing provisional is left.
const settleWithin = 3 * time.Minute

// settled waits until the healed cluster, which nobody uses any more, has come to rest
// in the state in which it must be, and returns its ranges.
func (c *cluster) settled() ([]*kvpb.RangeDescriptor, error) {
	var last error
	for began := time.Now(); time.Since(began) < settleWithin; <-time.After(time.Second) {
		var descs []*kvpb.RangeDescriptor
		if descs, last = c.inspect(); last == nil {
			return descs, nil
		}
	}
	var u *unlike
	if errors.As(last, &u) { // asking earlier would disturb them
		return nil, fmt.Errorf("%v after the last client: %w%s", settleWithin, last, c.replicasAt(u.d.StartKey))
	}
	return nil, fmt.Errorf("%v after the last client: %w", settleWithin, last)
}

// unlike says that the replicas of a range do not hold the same.
type unlike struct {
	d   *kvpb.RangeDescriptor
	why error
}

func (u *unlike) Error() string { return fmt.Sprintf("%s: %v", describe(u.d), u.why) }

// inspect answers whether the ranges cover the key space once, each has its replicas
// and no others exist, the replicas of each hold the same at one applied index, no
// transaction has left anything, and the meta records tell the truth.
func (c *cluster) inspect() ([]*kvpb.RangeDescriptor, error) {
	for _, n := range c.nodes {
		if n.current() == nil {
			return nil, fmt.Errorf("machine %d does not serve", n.id)
		}
	}
	descs, err := c.cover()
	if err != nil {
		return nil, err
	}
	byID := map[kvpb.RangeID]*kvpb.RangeDescriptor{}
	for _, d := range descs {
		byID[d.RangeID] = d
		if err := c.alike(d); err != nil {
			return nil, &unlike{d, err}
		}
	}
	for _, inc := range c.running() {
		for _, r := range inc.store.Replicas() {
			d := byID[r.RangeID()]
			if d == nil {
				return nil, fmt.Errorf("node %d still holds range %d, which is no more", inc.node.id, r.RangeID())
			}
			if _, ok := d.Replica(inc.store.Identity().Store); !ok {
				return nil, fmt.Errorf("node %d still holds a replica of range %d, which was removed", inc.node.id, d.RangeID)
			}
		}
	}
	return descs, c.addressed(descs)
}

// replicasAt describes the replicas that hold a key, and says which they miss.
func (c *cluster) replicasAt(key []byte) (s string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	missed := map[string]bool{}
	for _, inc := range c.running() {
		for _, r := range inc.store.Replicas() {
			if d := r.Desc(); d.ContainsKey(key) {
				s += fmt.Sprintf("\n  machine %d, node %d: %s", inc.node.id, inc.kv.ID(), r.Describe(ctx))
				for _, rep := range d.Replicas {
					missed[c.missing(d.RangeID, rep)] = true
				}
			}
		}
	}
	delete(missed, "")
	return s + strings.Join(slices.Sorted(maps.Keys(missed)), "")
}

// missing says that a replica is not there, and why.
func (c *cluster) missing(id kvpb.RangeID, rep kvpb.ReplicaDescriptor) string {
	s := fmt.Sprintf("\n  node %d, replica %d of range %d: ", rep.Node, rep.Replica, id)
	inc := c.of(rep.Node)
	if inc == nil {
		return s + "the node does not run"
	}
	if r, ok := inc.store.Replica(id); !ok {
		return s + "the store has none"
	} else if r.ReplicaID() != rep.Replica {
		return s + fmt.Sprintf("the store has replica %d", r.ReplicaID())
	}
	return ""
}

// cover returns the ranges as their leaders know them, which must cover the whole key
// space without overlap and have all their voters.
func (c *cluster) cover() (descs []*kvpb.RangeDescriptor, err error) {
	next := map[string]led{}
	for _, r := range c.leaders() {
		d := r.Desc()
		if o, ok := next[string(d.StartKey)]; ok {
			return nil, fmt.Errorf("ranges %d and %d begin at the same key", d.RangeID, o.RangeID())
		}
		next[string(d.StartKey)] = r
	}
	all := keys.ReplicatedSpan()
	for at := all.Start; !bytes.Equal(at, all.End); {
		r, ok := next[string(at)]
		if !ok {
			return nil, fmt.Errorf("no range that is led begins at %q%s", at, c.replicasAt(at))
		}
		d := r.Desc()
		delete(next, string(at))
		if d.Joint() || len(d.Replicas) != replicas {
			return nil, fmt.Errorf("%s has not %d voters", describe(d), replicas)
		}
		if parts, records := r.Provisional(); parts+records > 0 {
			return nil, fmt.Errorf("range %d: %d transactions have left writes, %d records", d.RangeID, parts, records)
		}
		descs, at = append(descs, d), d.EndKey
	}
	for _, r := range next {
		return nil, fmt.Errorf("%s overlaps others", describe(r.Desc()))
	}
	return descs, nil
}

// alike answers whether all replicas of a range hold the same.
func (c *cluster) alike(d *kvpb.RangeDescriptor) error {
	var index, sum uint64
	for i, rep := range d.Replicas {
		inc := c.of(rep.Node)
		if inc == nil {
			return fmt.Errorf("node %d is down", rep.Node)
		}
		r, ok := inc.store.Replica(d.RangeID)
		if !ok || !r.Initialized() || r.ReplicaID() != rep.Replica {
			return fmt.Errorf("node %d has no replica %d of it", rep.Node, rep.Replica)
		}
		if o := r.Desc(); !bytes.Equal(apply.EncodeDescriptor(o), apply.EncodeDescriptor(d)) {
			return fmt.Errorf("node %d takes it for %s", rep.Node, describe(o))
		}
		at := r.AppliedIndex()
		s, err := checksum(inc.store.Engine(), d)
		if err != nil {
			return err
		}
		switch {
		case at != r.AppliedIndex() || i > 0 && at != index:
			return fmt.Errorf("node %d has applied %d, the one before it %d", rep.Node, at, index)
		case i > 0 && s != sum:
			return fmt.Errorf("at index %d node %d holds other data than node %d", at, rep.Node, d.Replicas[i-1].Node)
		}
		index, sum = at, s
	}
	return nil
}

// checksum sums up all replicated data of a range: versions, locks and records.
func checksum(e *storage.Engine, d *kvpb.RangeDescriptor) (uint64, error) {
	h := fnv.New64a()
	for _, sp := range snapshot.DataSpans(d) {
		err := each(e, sp, func(k, v []byte) error {
			_, _ = fmt.Fprintf(h, "%x=%x\n", k, v) // a hash never fails
			return nil
		})
		if err != nil {
			return 0, err
		}
	}
	return h.Sum64(), nil
}

// each calls fn for each engine key of a span.
func each(e *storage.Engine, sp keys.Span, fn func(k, v []byte) error) error {
	it, err := e.NewIter(storage.IterOptions{Lower: sp.Start, Upper: sp.End})
	if err != nil {
		return err
	}
	defer it.Close()
	for ok := it.First(); ok; ok = it.Next() {
		v, err := it.ValueAndErr()
		if err == nil {
			err = fn(it.Key(), v)
		}
		if err != nil {
			return err
		}
	}
	return it.Error()
}

// addressed answers whether the meta records are those of the ranges.
func (c *cluster) addressed(descs []*kvpb.RangeDescriptor) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	found := map[string][]byte{}
	err := c.running()[0].db.Run(ctx, func(ctx context.Context, t *kv.Txn) error {
		clear(found)
		var page kv.ScanResult
		sp := keys.MetaSpan()
		for lo := sp.Start; lo != nil; lo = page.Resume {
			if err := t.Scan(ctx, lo, sp.End, kv.ScanOptions{}, &page); err != nil {
				return err
			}
			for i := range page.Len() {
				found[string(page.Key(i))] = bytes.Clone(page.Value(i))
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("the meta records can't be read: %w", err)
	}
	for _, d := range descs {
		key := string(keys.Meta(d.EndKey))
		if !bytes.Equal(found[key], apply.EncodeDescriptor(d)) {
			return fmt.Errorf("the meta record of %s is another one", describe(d))
		}
		delete(found, key)
	}
	for k := range found {
		return fmt.Errorf("there is a meta record %q of no range", k)
	}
	return nil
}

// versions reads all versions of the keys of a span from the engines of the ranges'
// first replicas: what the cluster holds in the end.
func (c *cluster) versions(descs []*kvpb.RangeDescriptor, sp keys.Span) (out []check.Version, err error) {
	for _, d := range descs {
		part := keys.Span{Start: maxKey(sp.Start, d.StartKey), End: minKey(sp.End, d.EndKey)}
		if bytes.Compare(part.Start, part.End) >= 0 {
			continue
		}
		e := c.of(d.Replicas[0].Node).store.Engine()
		var stamps []hlc.Timestamp
		err := each(e, part, func(k, _ []byte) error {
			key, ts, err := mvcc.DecodeVersion(k)
			if err != nil {
				return err
			}
			v := check.Version{Access: check.Access{Key: string(key)}, TS: stamp(ts)}
			stamps = append(stamps, ts)
			out = append(out, v)
			return nil
		})
		if err != nil {
			return nil, err
		}
		for i := range stamps {
			v := &out[len(out)-len(stamps)+i]
			val, ok, err := mvcc.Get(e, []byte(v.Key), stamps[i], nil)
			if err != nil {
				return nil, err
			}
			if v.Value, v.Absent = string(val.Data), !ok; ok && val.TS != stamps[i] {
				return nil, errors.New("a version can't be read at its own timestamp")
			}
		}
	}
	return out, nil
}

func maxKey(a, b []byte) []byte {
	if bytes.Compare(a, b) < 0 {
		return b
	}
	return a
}

func minKey(a, b []byte) []byte {
	if bytes.Compare(a, b) < 0 {
		return a
	}
	return b
}
