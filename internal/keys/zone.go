package keys

import "github.com/lichendb/lichen/internal/encoding"

// zonePrefix is the name under which the zone configurations of spans are kept.
const zonePrefix = "zone/"

// Zone is the replicated key of the zone configuration of the span that begins at
// start; an empty start stands for that of the whole key space. Zone keys
// sort as the spans begin.
func Zone(start []byte) []byte { return append(SystemKey(zonePrefix), start...) }

// ZoneSpan covers the zone configurations of all spans.
func ZoneSpan() Span { return SystemSpan(zonePrefix) }

// ZonesWithin covers the zone configurations of the spans that begin in s.
func ZonesWithin(s Span) Span {
	if s.IsPoint() {
		return Span{Start: Zone(s.Start)}
	}
	return Span{Start: Zone(s.Start), End: Zone(s.End)}
}

// DecodeZone returns the start of the span whose configuration a zone key holds; ok is
// false for any other key.
func DecodeZone(key []byte) (start []byte, ok bool) {
	prefix := SystemKey(zonePrefix)
	if len(key) < len(prefix) || string(key[:len(prefix)]) != string(prefix) {
		return nil, false
	}
	return key[len(prefix):], true
}

// MetaSpan covers the addressing keys.
func MetaSpan() Span { return Span{Start: []byte{regionMeta}, End: []byte{regionSystem}} }

// SystemRegion covers all system keys.
func SystemRegion() Span { return Span{Start: []byte{regionSystem}, End: []byte{regionSystem + 1}} }

// DecodeTableIDs reads the ids of database and table that a key of table data
// begins with; table is 0 if the key ends before it. ok is false for any other key.
func DecodeTableIDs(key []byte) (db, table uint64, ok bool) {
	if len(key) == 0 || key[0] != regionTable {
		return 0, 0, false
	}
	db, rest, err := encoding.DecodeUvarintOrdered(key[1:])
	if err != nil || len(rest) == 0 {
		return db, 0, err == nil
	}
	table, _, err = encoding.DecodeUvarintOrdered(rest)
	return db, table, err == nil
}
