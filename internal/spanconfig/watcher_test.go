package spanconfig

import (
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/config/zone"
)

// TestTTL: before the first reading nothing is collected that the built-in default or a zone
// might protect; then the longest time in the span counts, and the flag where there is no zone.
func TestTTL(t *testing.T) {
	c := &Config{}
	var err error
	short, long := time.Minute, 100*time.Hour
	c.zones, err = zone.NewSet([]zone.Span{
		{Start: []byte("c"), Record: zone.Record{End: []byte("d"), Config: zone.Config{GCTTL: &short}}},
		{Start: []byte("e"), Record: zone.Record{End: []byte("f"), Config: zone.Config{GCTTL: &long}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	w := NewWatcher(Options{GCTTL: time.Hour})
	if got := w.TTL([]byte("c"), []byte("d")); got < *zone.Default().GCTTL {
		t.Errorf("unknown: %v", got)
	}
	if asOf, _ := w.Protected([]byte("c"), []byte("d")); !asOf.IsEmpty() {
		t.Error("something may be collected though the protections are not known")
	}
	w.now.Store(c)
	for _, x := range []struct {
		start, end string
		want       time.Duration
	}{{"c", "d", short}, {"a", "b", time.Hour}, {"a", "d", time.Hour}, {"c", "f", long}} {
		if got := w.TTL([]byte(x.start), []byte(x.end)); got != x.want {
			t.Errorf("%s to %s: %v, want %v", x.start, x.end, got, x.want)
		}
	}
}
