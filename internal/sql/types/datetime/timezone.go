package datetime

import (
	_ "embed"
	"sort"
	"strings"
	"time"
	_ "time/tzdata" // zones must not depend on the machine's files

	"github.com/lichendb/lichen/internal/sql/ascii"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/types"
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
	i := sort.Search(len(zoneNames), func(i int) bool { return compareFold(zoneNames[i], name) >= 0 })
	if i < len(zoneNames) && compareFold(zoneNames[i], name) == 0 {
		return zoneNames[i], true
	}
	return "", false
}

// compareFold compares without regard to the case of ASCII letters.
func compareFold(a, b string) int {
	for i := 0; i < len(a) && i < len(b); i++ {
		x, y := foldByte(a[i]), foldByte(b[i])
		if x != y {
			return int(x) - int(y)
		}
	}
	return len(a) - len(b)
}

func foldByte(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c | 0x20
	}
	return c
}

// LoadZone returns the zone of a value of the TimeZone setting: whatever
// namedZone takes, or a number of hours east of Greenwich.
func LoadZone(value string, fc *types.FormatContext) (*time.Location, bool) {
	hours, ok := parseFloatLoose(ascii.TrimSpace(value))
	if !ok {
		return namedZone(value, fc)
	}
	if !(hours > -168 && hours < 168) {
		return nil, false
	}
	return parsePosixZone(OffsetZone(int(hours * 3600)))
}

// OffsetZone returns the POSIX specification of a zone some seconds east of Greenwich.
func OffsetZone(east int) string {
	if east == 0 {
		return "<+00>-00"
	}
	return "<" + string(appendZone(nil, east)) + ">" + string(appendZone(nil, -east))
}

// namedZone returns the time zone of a full name, in any case, or of a POSIX
// specification such as UTC+3 (which is west of Greenwich), <+03>-3 or
// EST5EDT,M3.2.0,M11.1.0.
func namedZone(name string, fc *types.FormatContext) (*time.Location, bool) {
	if n, ok := canonicalZone(name); ok {
		if n == "UTC" {
			return time.UTC, true
		}
		return zones(fc).Load(n)
	}
	return parsePosixZone(strings.ToUpper(name))
}

// maxZoneName is how many bytes of the name of a zone count.
const maxZoneName = 255

// ZoneForExpr returns the zone of AT TIME ZONE: an abbreviation, a
// name or a POSIX specification.
func ZoneForExpr(name string, fc *types.FormatContext) (ExprZone, error) {
	name = name[:min(len(name), maxZoneName)]
	upper := strings.ToUpper(name)
	if east, ok := lookupAbbrev(upper); ok {
		if zone := zonesOfAbbrevs[upper]; zone != "" {
			loc, _ := namedZone(zone, fc)
			return ExprZone{loc: loc, abbrev: upper}, nil
		}
		return ExprZone{loc: time.FixedZone(upper, int(east))}, nil
	}
	if loc, ok := namedZone(name, fc); ok {
		return ExprZone{loc: loc}, nil
	}
	return ExprZone{}, pgerr.New(pgerr.InvalidParameterValue, "time zone \"%s\" not recognized", name)
}

// OffsetAt returns loc's offset east of UTC, in seconds, and its abbreviation
// at a timestamptz value.
func OffsetAt(loc *time.Location, micros int64) (east int, abbrev string) {
	if loc == time.UTC {
		return 0, "UTC"
	}
	abbrev, east = types.TimeFromMicros(micros).In(loc).Zone()
	return east, abbrev
}

// LocalFromUTC returns the wall clock reading, as a timestamp, of a finite
// timestamptz value in loc.
func LocalFromUTC(micros int64, loc *time.Location) int64 {
	east, _ := OffsetAt(loc, micros)
	return micros + int64(east)*types.MicrosPerSec
}

// UTCFromLocal is the inverse of LocalFromUTC. A reading that daylight saving
// skips is taken with the offset before the change, one that occurs twice with
// the offset after it: standard time in both cases.
func UTCFromLocal(local int64, loc *time.Location) int64 {
	if loc == time.UTC {
		return local
	}
	t := types.TimeFromMicros(local - types.MicrosPerDay).In(loc)
	_, before := t.Zone()
	_, end := t.ZoneBounds()
	utcBefore := local - int64(before)*types.MicrosPerSec
	if end.IsZero() {
		return utcBefore
	}
	boundary := types.MicrosFromTime(end)
	_, after := end.Zone()
	utcAfter := local - int64(after)*types.MicrosPerSec
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

func zones(fc *types.FormatContext) *types.ZoneCache {
	if fc == nil {
		return nil
	}
	return fc.Zones
}
