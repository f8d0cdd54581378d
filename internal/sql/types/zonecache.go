package types

import (
	"sync"
	"time"
)

// maxCachedZones bounds a ZoneCache; PostgreSQL knows about 600 zones.
const maxCachedZones = 1024

// ZoneCache keeps loaded time zones. It is safe for concurrent use, so one
// cache may serve all sessions of a node.
type ZoneCache struct {
	mu sync.Mutex
	m  map[string]*time.Location
}

// NewZoneCache returns an empty cache.
func NewZoneCache() *ZoneCache { return &ZoneCache{m: map[string]*time.Location{}} }

// Load returns the zone of a canonical name, from the cache if there is one.
func (c *ZoneCache) Load(name string) (*time.Location, bool) {
	if c == nil {
		loc, err := time.LoadLocation(name)
		return loc, err == nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if loc, ok := c.m[name]; ok {
		return loc, true
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil, false
	}
	if len(c.m) < maxCachedZones {
		c.m[name] = loc
	}
	return loc, true
}
