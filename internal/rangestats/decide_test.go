package rangestats

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
)

// TestRates runs testdata/rates: each line is a time in which a counter grows by a number; the
// output adds the rate per second, and whether it is idle.
func TestRates(t *testing.T) {
	datadriven.RunTest(t, "testdata/rates", func(t *testing.T, d *datadriven.TestData) string {
		var r rate
		var out strings.Builder
		count := int64(0)
		for line := range strings.Lines(d.Input) {
			line = strings.TrimSpace(line)
			f := strings.Fields(line)
			past, err := time.ParseDuration(f[0])
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			var grown int64
			if _, err := fmt.Sscan(f[1], &grown); err != nil {
				d.Fatalf(t, "%v", err)
			}
			count += grown
			r.follow(count, past, len(f) > 2 && f[2] == "anew")
			fmt.Fprintf(&out, "%s: %.2f", line, r.perSecond())
			if r.idle(count) {
				out.WriteString(" idle")
			}
			out.WriteByte('\n')
		}
		return out.String()
	})
}

// TestSizeLookups runs testdata/sizes: the state of a range at times, as a size, a generation and
// what has been logged; the output says what becomes of its size then.
func TestSizeLookups(t *testing.T) {
	names := map[lookup]string{sizeKnown: "known", sizeStale: "stale", sizeDue: "looked up"}
	datadriven.RunTest(t, "testdata/sizes", func(t *testing.T, d *datadriven.TestData) string {
		var z sizing
		var out strings.Builder
		for line := range strings.Lines(d.Input) {
			line = strings.TrimSpace(line)
			f := strings.Fields(line)
			past, err := time.ParseDuration(f[0])
			if err != nil {
				d.Fatalf(t, "%v", err)
			}
			var size, logged int64
			var generation uint64
			if _, err := fmt.Sscanf(strings.Join(f[1:], " "), "size=%d generation=%d logged=%d", &size, &generation, &logged); err != nil {
				d.Fatalf(t, "%v", err)
			}
			now := time.Unix(1000, 0).Add(past)
			what := z.next(size, generation, logged, 0, sizeAtRest, now)
			if what == sizeDue {
				z.at, z.generation, z.counted = now, generation, logged
			}
			fmt.Fprintf(&out, "%s: %s\n", line, names[what])
		}
		return out.String()
	})
}
