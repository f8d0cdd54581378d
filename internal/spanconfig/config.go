package spanconfig

import (
	"bytes"
	"time"

	"github.com/lichendb/lichen/internal/config/zone"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
)

// Config is the configuration of all spans at one time. It does not change.
type Config struct {
	zones  *zone.Set
	splits map[string]hlc.Timestamp // until when each manual split is enforced, by key
	// stored are the zones in their stored form, changes the announcements of all nodes.
	stored, changes string
	// protected are the protected timestamps at asOf.
	protected []kv.Protection
	asOf      hlc.Timestamp
	readAt    time.Time // when all splits were read
}

// At returns the configuration of the range that begins at key.
func (c *Config) At(key []byte) zone.Config {
	at, _ := c.zones.At(key)
	return at
}

// SplitKeys returns the keys inside (start, end) at which another configuration begins: a range
// must be split there.
func (c *Config) SplitKeys(start, end []byte) [][]byte { return c.zones.SplitKeys(start, end) }

// SplitUntil returns until when a range has to begin at key because somebody asked for it.
func (c *Config) SplitUntil(key []byte) (until hlc.Timestamp, ok bool) {
	until, ok = c.splits[string(key)]
	return until, ok
}

// MustSplit reports whether a range has to begin at key: the meta records or all keys end
// there, zones differ there, or a manual split is enforced.
func (c *Config) MustSplit(key []byte, now hlc.Timestamp) bool {
	if bytes.Equal(key, keys.MetaSpan().End) || bytes.Compare(key, keys.ReplicatedSpan().End) >= 0 {
		return true
	}
	for _, s := range c.zones.Spans() {
		if bytes.Equal(s.Start, key) || bytes.Equal(s.End, key) {
			return true
		}
	}
	until, ok := c.splits[string(key)]
	return ok && now.Less(until)
}

// ttl is Watcher.TTL; fallback takes the place of the built-in default.
func (c *Config) ttl(start, end []byte, fallback time.Duration) time.Duration {
	longest := time.Duration(0)
	for _, at := range append([][]byte{start}, c.zones.SplitKeys(start, end)...) {
		conf, z := c.zones.At(at)
		if z == nil && fallback > 0 {
			conf.GCTTL = &fallback
		}
		longest = max(longest, *conf.GCTTL)
	}
	return longest
}
