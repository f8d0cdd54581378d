package types

import (
	_ "embed"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // zones must not depend on the machine's files

	"github.com/lichendb/lichen/internal/sql/pgerr"
)

//go:embed tznames.txt
var zoneNameText string

// zoneNames is sorted without regard to case: PostgreSQL ignores it, the Go
// loader does not.
var zoneNames = strings.Fields(zoneNameText)

// ZoneNames returns the known full time zone names, sorted.
func ZoneNames() []string { return append([]string(nil), zoneNames...) }

// canonicalZone returns the proper spelling of a zone name.
func canonicalZone(name string) (string, bool) {
	low := strings.ToLower(name)
	i := sort.Search(len(zoneNames), func(i int) bool { return strings.ToLower(zoneNames[i]) >= low })
	if i < len(zoneNames) && strings.ToLower(zoneNames[i]) == low {
		return zoneNames[i], true
	}
	return "", false
}

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

// load returns the zone of a canonical name, from the cache if there is one.
func (c *ZoneCache) load(name string) (*time.Location, bool) {
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

// LoadZone returns the time zone a SET TIME ZONE or AT TIME ZONE names: a full
// name in any case, an abbreviation, or a POSIX specification such as UTC+3
// (which is west of Greenwich) or <+03>-3.
func LoadZone(name string, fc *FormatContext) (*time.Location, bool) {
	if n, ok := canonicalZone(name); ok {
		if n == "UTC" {
			return time.UTC, true
		}
		return fc.zones().load(n)
	}
	if loc, ok := parsePosixZone(name); ok {
		return loc, true
	}
	if east, ok := lookupAbbrev(strings.ToUpper(name)); ok {
		return time.FixedZone(strings.ToUpper(name), int(east)), true
	}
	return nil, false
}

// ZoneForExpr is LoadZone with AT TIME ZONE's order (abbreviations first) and
// its error.
func ZoneForExpr(name string, fc *FormatContext) (*time.Location, error) {
	if east, ok := lookupAbbrev(strings.ToUpper(name)); ok {
		return time.FixedZone(strings.ToUpper(name), int(east)), nil
	}
	if loc, ok := LoadZone(name, fc); ok {
		return loc, nil
	}
	return nil, pgerr.New(pgerr.InvalidParameterValue, "time zone \"%s\" not recognized", name)
}

// maxZoneSeconds bounds an offset from UTC: 167 hours in a POSIX
// specification, as POSIX says.
const maxZoneSeconds = 168 * 3600

// parsePosixZone reads a POSIX zone without daylight rules: a name of three or
// more letters (or any in angle brackets), then hours west of Greenwich.
func parsePosixZone(s string) (*time.Location, bool) {
	var name, rest string
	if strings.HasPrefix(s, "<") {
		end := strings.IndexByte(s, '>')
		if end < 0 {
			return nil, false
		}
		name, rest = s[1:end], s[end+1:]
	} else {
		i := 0
		for i < len(s) && isAlpha(s[i]) {
			i++
		}
		name, rest = s[:i], s[i:]
		if i < 3 {
			return nil, false
		}
	}
	west, ok := parseZoneOffset(rest)
	if !ok || name == "" {
		return nil, false
	}
	return time.FixedZone(name, -west), true
}

// parseZoneOffset reads [+-]h[h][:mm[:ss]] in seconds.
func parseZoneOffset(s string) (int, bool) {
	if s == "" {
		return 0, false
	}
	sign := 1
	if s[0] == '-' || s[0] == '+' {
		if s[0] == '-' {
			sign = -1
		}
		s = s[1:]
	}
	parts := strings.Split(s, ":")
	if len(parts) > 3 {
		return 0, false
	}
	total, unit := 0, 3600
	for i, p := range parts {
		n, err := strconv.Atoi(p)
		if err != nil || p[0] == '-' || p[0] == '+' || len(p) > 3 || (i > 0 && n > 59) {
			return 0, false
		}
		total += n * unit
		unit /= 60
	}
	return sign * total, total < maxZoneSeconds
}

// OffsetAt returns loc's offset east of UTC, in seconds, and its abbreviation
// at a timestamptz value.
func OffsetAt(loc *time.Location, micros int64) (east int, abbrev string) {
	if loc == time.UTC {
		return 0, "UTC"
	}
	abbrev, east = TimeFromMicros(micros).In(loc).Zone()
	return east, abbrev
}

// LocalFromUTC returns the wall clock reading, as a timestamp, of a finite
// timestamptz value in loc.
func LocalFromUTC(micros int64, loc *time.Location) int64 {
	east, _ := OffsetAt(loc, micros)
	return micros + int64(east)*MicrosPerSec
}

// UTCFromLocal is the inverse of LocalFromUTC. A reading that daylight saving
// skips is taken with the offset before the change, one that occurs twice with
// the offset after it: standard time in both cases.
func UTCFromLocal(local int64, loc *time.Location) int64 {
	if loc == time.UTC {
		return local
	}
	t := TimeFromMicros(local - MicrosPerDay).In(loc)
	_, before := t.Zone()
	_, end := t.ZoneBounds()
	utcBefore := local - int64(before)*MicrosPerSec
	if end.IsZero() {
		return utcBefore
	}
	boundary := MicrosFromTime(end)
	_, after := end.Zone()
	utcAfter := local - int64(after)*MicrosPerSec
	switch {
	case utcBefore < boundary && utcAfter < boundary:
		return utcBefore
	case utcBefore > boundary && utcAfter >= boundary:
		return utcAfter
	case utcBefore > utcAfter:
		return utcBefore // skipped
	}
	return utcAfter // repeated
}

func isAlpha(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }
