package server

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/config/zone"
	"github.com/lichendb/lichen/internal/encoding"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
)

const (
	// rulesEvery is how often a node reads the placement rules and the cluster settings,
	// rulesTimeout how long it may take.
	rulesEvery   = 3 * time.Second
	rulesTimeout = 10 * time.Second
	// allBordersEvery is how often it reads all records of borders though nobody has said
	// that they changed: a node may have died before it did.
	allBordersEvery = time.Minute
)

// borderPrefix names the records of the borders that SPLIT AT made: the key follows,
// the value is how long the border is to be kept. There may be tens of thousands. So each
// node notes under borderChangePrefix, soon after it has changed some, that it has.
const (
	borderPrefix       = "border/"
	borderChangePrefix = "border-change/"
)

// rules are what is configured about ranges, as last read.
type rules struct {
	zones   *zone.Set
	borders map[string]hlc.Timestamp
	spans   string // the zones as they are stored
	changes string // what all nodes have noted of changes of the borders
	// protected are the protected timestamps as of a time.
	protected []kv.Protection
	asOf      hlc.Timestamp
	readAt    time.Time
}

// ruleCache holds the rules; nil until they were read.
type ruleCache struct {
	now     atomic.Pointer[rules]
	loading chan struct{} // taken by who reads them
	// moved says that this node has changed borders and not noted it yet, stale that it
	// has not read them since.
	moved chan struct{}
	stale atomic.Bool
}

// loadRules reads the rules and settings, and reports whether rules are new.
func (n *Node) loadRules(ctx context.Context) (changed bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, rulesTimeout)
	defer cancel()
	select {
	case n.rules.loading <- struct{}{}:
		defer func() { <-n.rules.loading }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	old, now := n.rules.now.Load(), time.Now()
	all := n.rules.stale.Swap(false) || old == nil || now.Sub(old.readAt) >= allBordersEvery
	var next *rules
	var stored map[string]string
	err = n.db.Run(ctx, func(ctx context.Context, t *kv.Txn) error {
		next = &rules{}
		spans, err := kv.ZoneSpans(ctx, t)
		if err != nil {
			return err
		}
		if next.zones, err = zone.NewSet(spans); err != nil {
			return err
		}
		p, err := json.Marshal(spans)
		if err != nil {
			return err
		}
		next.spans = string(p)
		if stored, err = kv.Settings(ctx, t); err != nil {
			return err
		}
		if next.protected, err = kv.Protections(ctx, t); err != nil {
			return err
		}
		next.asOf = t.ReadTimestamp()
		if next.changes, err = readBorderChanges(ctx, t); err != nil {
			return err
		}
		if !all && next.changes == old.changes {
			next.borders, next.readAt = old.borders, old.readAt
			return nil
		}
		next.readAt = now
		next.borders, err = readBorders(ctx, t, keys.SystemSpan(borderPrefix))
		return err
	})
	if err != nil {
		if all {
			n.rules.stale.Store(true)
		}
		return false, err
	}
	n.rules.now.Store(next)
	n.applySettings(stored)
	return old == nil || old.spans != next.spans || !maps.Equal(old.borders, next.borders), nil
}

// readBorderChanges returns what changes when borders do.
func readBorderChanges(ctx context.Context, t *kv.Txn) (string, error) {
	var all []byte
	span := keys.SystemSpan(borderChangePrefix)
	err := scanAll(ctx, t, span.Start, span.End, func(k, v []byte) (bool, error) {
		all = append(append(append(all, k...), '='), v...)
		return true, nil
	})
	return string(all), err
}

// bordersMoved notes that this node has changed borders.
func (n *Node) bordersMoved() {
	n.rules.stale.Store(true)
	select {
	case n.rules.moved <- struct{}{}:
	default:
	}
}

// noteBorders tells the other nodes of changes of borders, of many at once.
func (n *Node) noteBorders(ctx context.Context) {
	key := keys.SystemKey(borderChangePrefix + strconv.FormatUint(uint64(n.NodeID()), 10))
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.rules.moved:
		}
		err := n.db.Run(ctx, func(_ context.Context, t *kv.Txn) error { return t.Put(key, encodeBorder(n.clock.Now())) })
		if err != nil && ctx.Err() == nil {
			n.log.Warn("noting that borders have changed", "err", err) // all are read now and then
		}
		select {
		case <-ctx.Done():
		case <-time.After(n.paced(noteBordersEvery)):
		}
	}
}

// noteBordersEvery is the least time between two notes.
const noteBordersEvery = time.Second

// ttl returns how long old versions of the keys in [start, end) must stay readable.
// Of zones that share a range the
// longest counts.
func (n *Node) ttl(start, end []byte) time.Duration {
	r := n.rules.now.Load()
	if r == nil { // not read yet: nothing is collected that might be needed
		return max(n.cfg.GCTTL, *zone.Default().GCTTL)
	}
	longest := time.Duration(0)
	for _, at := range append([][]byte{start}, r.zones.Borders(start, end)...) {
		c, z := r.zones.At(at)
		if z == nil && n.cfg.GCTTL > 0 {
			c.GCTTL = &n.cfg.GCTTL
		}
		longest = max(longest, *c.GCTTL)
	}
	return longest
}

// protected returns the oldest protected time in [start, end), and when it was that.
func (n *Node) protected(start, end []byte) (asOf, oldest hlc.Timestamp) {
	r := n.rules.now.Load()
	if r == nil {
		return asOf, oldest // nothing is known, and nothing collected
	}
	return r.asOf, kv.OldestProtected(r.protected, start, end)
}

// followRules reads the placement rules again and again, on a node that places no
// replicas.
func (n *Node) followRules(ctx context.Context) {
	t := time.NewTicker(n.paced(rulesEvery))
	defer t.Stop()
	for {
		if _, err := n.loadRules(ctx); err != nil && ctx.Err() == nil {
			n.log.Warn("reading the zones", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
	}
}

// borderKey is where the record of a border made by hand is.
func borderKey(key []byte) []byte { return append(keys.SystemKey(borderPrefix), key...) }

func encodeBorder(until hlc.Timestamp) []byte {
	b := binary.AppendVarint([]byte{1}, until.WallTime)
	return binary.AppendUvarint(b, uint64(until.Logical))
}

func decodeBorder(b []byte) (until hlc.Timestamp, err error) {
	bad := fmt.Errorf("a record of a split has an unknown format: %x", b)
	if len(b) == 0 || b[0] != 1 {
		return until, bad
	}
	r := encoding.NewReader(b[1:])
	until = hlc.Timestamp{WallTime: r.Varint(), Logical: uint32(r.Uvarint())}
	if r.Bad() {
		return hlc.Timestamp{}, bad
	}
	return until, nil
}

// readBorders reads the records of the borders in a span of such records, by the
// keys at which the borders are.
func readBorders(ctx context.Context, t *kv.Txn, span keys.Span) (map[string]hlc.Timestamp, error) {
	out := map[string]hlc.Timestamp{}
	prefix := len(keys.SystemKey(borderPrefix))
	err := scanAll(ctx, t, span.Start, span.End, func(k, v []byte) (bool, error) {
		until, err := decodeBorder(v)
		out[string(k[prefix:])] = until
		return true, err
	})
	return out, err
}

// scanAll calls fn for the keys of a span, page by page, until it says to stop.
func scanAll(ctx context.Context, t *kv.Txn, start, end []byte, fn func(k, v []byte) (more bool, err error)) error {
	var page kv.ScanResult
	for start != nil {
		if err := t.Scan(ctx, start, end, kv.ScanOptions{}, &page); err != nil {
			return err
		}
		for i := range page.Len() {
			if more, err := fn(page.Key(i), page.Value(i)); err != nil || !more {
				return err
			}
		}
		if start = nil; page.Resume != nil {
			start = append([]byte(nil), page.Resume...)
		}
	}
	return nil
}

// bordersIn returns the records of the borders in a span of keys.
func (n *Node) bordersIn(ctx context.Context, span keys.Span) (out map[string]hlc.Timestamp, err error) {
	records := keys.Span{Start: borderKey(span.Start), End: borderKey(span.End)}
	if span.IsPoint() {
		records.End = keys.Next(records.Start)
	}
	err = n.db.Run(ctx, func(ctx context.Context, t *kv.Txn) error {
		out, err = readBorders(ctx, t, records)
		return err
	})
	return out, err
}

// putBorder writes the record of a border; with an empty timestamp it deletes it.
func (n *Node) putBorder(ctx context.Context, key []byte, until hlc.Timestamp) error {
	at := borderKey(key)
	defer n.bordersMoved()
	return n.db.Run(ctx, func(ctx context.Context, t *kv.Txn) error {
		_, ok, err := t.Get(ctx, at)
		switch {
		case err != nil:
			return err
		case !until.IsEmpty():
			return t.Put(at, encodeBorder(until))
		case ok:
			return t.Delete(at)
		}
		return nil
	})
}
