package snapshot

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/lichendb/lichen/internal/apply"
	"github.com/lichendb/lichen/internal/raftlog"
)

// TestMend runs testdata/mend. A "start" has what a store finds when it starts: the engine's state
// (index, term), the log's last entry, its term at the state's index, its hard state, and the mark
// of a snapshot, if there is one. The output is what is to be done with the log.
func TestMend(t *testing.T) {
	datadriven.RunTest(t, "testdata/mend", func(t *testing.T, d *datadriven.TestData) string {
		var at apply.State
		var log raftlog.State
		var entry uint64
		var mark *Mark
		for line := range strings.Lines(d.Input) {
			line = strings.TrimSpace(line)
			var err error
			switch what, _, _ := strings.Cut(line, " "); what {
			case "state":
				_, err = fmt.Sscanf(line, "state %d term=%d", &at.Index, &at.Term)
			case "log":
				_, err = fmt.Sscanf(line, "log ..%d term=%d vote=%d, entry-term=%d", &log.Last, &log.HardState.Term, &log.HardState.Vote, &entry)
			case "mark":
				mark = new(Mark)
				_, err = fmt.Sscanf(line, "mark of %d term=%d, log ..%d term=%d vote=%d", &mark.At.Index, &mark.At.Term, &mark.Last, &mark.Term, &mark.Vote)
			default:
				t.Fatalf("%s: %q", d.Pos, line)
			}
			if err != nil {
				t.Fatalf("%s: %q: %v", d.Pos, line, err)
			}
		}
		what, why := Mend(at, &log, entry, mark)
		return strings.TrimSuffix(fmt.Sprintf("%v: %s", what, why), ": ") + "\n"
	})
}
