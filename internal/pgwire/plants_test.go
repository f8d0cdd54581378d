//go:build plants

package pgwire

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/plant"
)

// TestPlants plants a server that goes on behind an error. The transcripts are run by a
// process of their own, since they end their test where an answer differs.
func TestPlants(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestTranscripts$")
	cmd.Env = append(os.Environ(), "LICHEN_PLANT="+string(plant.PipelineGoesOn))
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "--- FAIL: TestTranscripts/") {
		t.Errorf("not found: %v, %s", err, out)
	}
}
