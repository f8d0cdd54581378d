package keys

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

func TestZoneKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gen := rapid.SliceOfN(rapid.Byte(), 0, 4)
		a, b := gen.Draw(t, "a"), gen.Draw(t, "b")
		if bytes.Compare(Zone(a), Zone(b)) != bytes.Compare(a, b) {
			t.Fatalf("the zones at %x and %x are out of order", a, b)
		}
		if got, ok := DecodeZone(Zone(a)); !ok || !bytes.Equal(got, a) {
			t.Fatalf("the zone at %x decodes to %x", a, got)
		}
		if !ZoneSpan().Contains(Zone(a)) || !SystemRegion().Contains(Zone(a)) {
			t.Fatalf("the zone at %x lies outside the zones", a)
		}
		span := Span{Start: a, End: b}
		if span.Valid() && ZonesWithin(span).Contains(Zone(b)) {
			t.Fatalf("the zone at %x lies in the zones of %v", b, span)
		}
		if span.Valid() && !ZonesWithin(span).Contains(Zone(a)) {
			t.Fatalf("the zone at %x does not lie in the zones of %v", a, span)
		}
	})
	if _, ok := DecodeZone(SystemKey("zon")); ok {
		t.Error("another system key was taken for a zone")
	}
	if table := TableSpan(1, 2); !ZonesWithin(table).Contains(Zone(IndexPrefix(1, 2, 3))) ||
		ZonesWithin(table).Contains(Zone(IndexPrefix(1, 3, 1))) {
		t.Error("the zones of a table are those of its indexes and no others")
	}
	if MetaSpan().Overlaps(SystemRegion()) || !MetaSpan().Contains(Meta([]byte("x"))) || MetaSpan().Overlaps(TableDataSpan()) {
		t.Error("the named regions are out of place")
	}
}
