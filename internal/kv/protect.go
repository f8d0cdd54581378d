package kv

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/lichendb/lichen/internal/config/zone"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
)

// protectPrefix names the records of protected timestamps: the protection's name follows.
// The value is protectVersion and the protection in JSON.
const (
	protectPrefix  = "protect/"
	protectVersion = 1
	// maxProtections bounds the protections of a cluster. Each node reads all of them every few
	// seconds.
	maxProtections = 4096
	// maxProtectedSpans bounds the spans of one.
	maxProtectedSpans = 1024
)

// Protection keeps the versions that are visible in some spans at a timestamp from garbage collection,
// for a backup in progress or a feed that may have to resume.
type Protection struct {
	Name  string // identifies it in the cluster
	Spans []kvpb.Span
	TS    hlc.Timestamp
	Why   string // for people
}

// Protect stores a protection, in place of one of the same name. It fails with
// kvpb.SnapshotTooOldError if the versions may be gone already: the timestamp is further back than the
// TTL of one of the spans, or than minTTL where no zone sets one.
//
// A store collects no protected version, although it may not have read the newest protections. It
// collects only versions that were older than the TTL when it read the protections last. A protection
// that it has not read was stored later, and protects no version that was older than the TTL then. For
// the same reason a raised TTL counts here only once it has been in place for its own duration.
func (db *DB) Protect(ctx context.Context, p Protection, minTTL time.Duration) error {
	if p.Name == "" || len(p.Spans) == 0 || len(p.Spans) > maxProtectedSpans || p.TS.IsEmpty() {
		return fmt.Errorf("kv: a protection needs a name, a time and 1 to %d spans", maxProtectedSpans)
	}
	return db.Run(ctx, func(ctx context.Context, t *Txn) error {
		old, err := Protections(ctx, t)
		if err != nil {
			return err
		}
		if len(old) >= maxProtections {
			return fmt.Errorf("kv: there are %d protected timestamps already", len(old))
		}
		zones, err := ZoneSpans(ctx, t)
		if err != nil {
			return err
		}
		set, err := zone.NewSet(zones)
		if err != nil {
			return err
		}
		// The commit may be later than this; a deadline keeps that within the margin.
		now := db.env.Clock.Now()
		limit := hlc.Timestamp{WallTime: now.WallTime - int64(leastTTL(set, p.Spans, minTTL)) + int64(protectMargin)}
		if p.TS.Less(limit) && !protected(old, &p) {
			return &kvpb.SnapshotTooOldError{ReadTS: p.TS, Threshold: limit}
		}
		t.Deadline = hlc.Timestamp{WallTime: now.WallTime + int64(protectMargin)}
		v, err := json.Marshal(p)
		if err != nil {
			return err
		}
		return t.Put(keys.SystemKey(protectPrefix+p.Name), append([]byte{protectVersion}, v...))
	})
}

// protectMargin is how long storing a protection may take.
const protectMargin = 500 * time.Millisecond

// protected reports whether the stored protection of the same name covers the new one, as when it moves
// forward.
func protected(old []Protection, p *Protection) bool {
	for _, o := range old {
		if o.Name != p.Name || p.TS.Less(o.TS) {
			continue
		}
		all := true
		for _, s := range p.Spans {
			held := false
			for _, h := range o.Spans {
				held = held || bytes.Compare(h.Key, s.Key) <= 0 && bytes.Compare(s.EndKey, h.EndKey) <= 0
			}
			all = all && held
		}
		return all
	}
	return false
}

// leastTTL returns the shortest time for which versions in the spans are kept.
func leastTTL(set *zone.Set, spans []kvpb.Span, least time.Duration) time.Duration {
	ttl := time.Duration(zone.MaxGCTTL)
	for _, s := range spans {
		for _, at := range append([][]byte{s.Key}, set.SplitKeys(s.Key, s.EndKey)...) {
			c, z := set.At(at)
			if z == nil && least > 0 {
				ttl = min(ttl, least)
			} else {
				ttl = min(ttl, *c.GCTTL)
			}
		}
	}
	return ttl
}

// Unprotect deletes a protection, if it is there.
func (db *DB) Unprotect(ctx context.Context, name string) error {
	return db.Run(ctx, func(_ context.Context, t *Txn) error { return t.Delete(keys.SystemKey(protectPrefix + name)) })
}

// Protections reads the stored protections as the transaction sees them.
func Protections(ctx context.Context, t *Txn) ([]Protection, error) {
	var out []Protection
	err := Each(ctx, t, keys.SystemSpan(protectPrefix), func(key, value []byte) (bool, error) {
		if len(value) == 0 || value[0] != protectVersion {
			return false, fmt.Errorf("the record of a protected timestamp at %s has an unknown format", keys.Pretty(key))
		}
		var p Protection
		if err := json.Unmarshal(value[1:], &p); err != nil {
			return false, fmt.Errorf("protected timestamp at %s: %w", keys.Pretty(key), err)
		}
		out = append(out, p)
		return true, nil
	})
	return out, err
}

// OldestProtected returns the earliest timestamp that is protected in [start, end), zero if there is none.
func OldestProtected(all []Protection, start, end []byte) (oldest hlc.Timestamp) {
	for i := range all {
		for _, s := range all[i].Spans {
			if bytes.Compare(s.Key, end) < 0 && bytes.Compare(start, s.EndKey) < 0 && (oldest.IsEmpty() || all[i].TS.Less(oldest)) {
				oldest = all[i].TS
			}
		}
	}
	return oldest
}
