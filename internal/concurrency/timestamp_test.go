package concurrency

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/lichendb/lichen/internal/hlc"
)

// TestChooseTimestamp runs testdata/timestamps: each line is a commit with its bounds, the output
// repeats it with what is chosen.
func TestChooseTimestamp(t *testing.T) {
	datadriven.RunTest(t, "testdata/timestamps", func(t *testing.T, d *datadriven.TestData) string {
		var out strings.Builder
		for line := range strings.Lines(d.Input) {
			line = strings.TrimSpace(line)
			var b CommitBounds
			bounds := map[string]*hlc.Timestamp{
				"snapshot": &b.Snapshot, "spilled": &b.Spilled, "fixed": &b.Fixed, "read": &b.Read, "threshold": &b.Threshold, "min": &b.MinTS,
			}
			for _, f := range strings.Fields(line) {
				name, value, _ := strings.Cut(f, "=")
				switch name {
				case "serializable":
					b.Serializable = true
				case "read-committed":
				case "reads-elsewhere":
					b.ReadsElsewhere = true
				default:
					wall, err := strconv.ParseInt(value, 10, 64)
					if err != nil || bounds[name] == nil {
						t.Fatalf("%s: %q", d.Pos, f)
					}
					bounds[name].WallTime = wall
				}
			}
			c, ts, refresh := b.Choose()
			fmt.Fprintf(&out, "%s: %v", line, c)
			if !ts.IsEmpty() {
				fmt.Fprintf(&out, " %d.%d", ts.WallTime, ts.Logical)
			}
			if refresh {
				out.WriteString(", if what it read is unchanged")
			}
			out.WriteString("\n")
		}
		return out.String()
	})
}
