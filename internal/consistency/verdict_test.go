package consistency

import (
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/lichendb/lichen/internal/kvpb"
)

// TestVerdicts runs testdata/verdicts: the checksums of a range's replicas, - for one that did
// not answer; the output is the verdict and the replicas that differ.
func TestVerdicts(t *testing.T) {
	datadriven.RunTest(t, "testdata/verdicts", func(t *testing.T, d *datadriven.TestData) string {
		c := RangeCheck{Range: 7, Start: "a", End: "b"}
		for i, sum := range strings.Fields(d.Input) {
			rc := ReplicaCheck{Node: kvpb.NodeID(i + 1), Store: kvpb.StoreID(i + 1), Sum: sum}
			if sum == "-" {
				rc.Sum, rc.Err = "", "no answer"
			}
			c.Replicas = append(c.Replicas, rc)
		}
		c.judge()
		return strings.ReplaceAll(c.String(), "; ", "\n  ") + "\n"
	})
}
