//go:build plants

package server

import (
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/plant"
)

// TestPlants plants what contention for deferrable keys must show: unique keys that nobody
// locks before they are counted.
func TestPlants(t *testing.T) {
	defer plant.Choose(plant.SkipUniqueLock)()
	for seed := uint64(1); seed <= 8; seed++ {
		twice := 0
		withNodes(t, func(t *testing.T, c *testNodes) { _, twice = contendForKeys(t, c, seed) })
		if twice > 0 {
			t.Logf("found with seed %d: %d values have several rows", seed, twice)
			return
		}
	}
	t.Error("not found")
}

// TestPlantsStatistics plants a node that does not hear of the statistics of others.
func TestPlantsStatistics(t *testing.T) {
	defer plant.Choose(plant.StatisticsUnheard)()
	received := true
	withNodes(t, func(t *testing.T, c *testNodes) { received = statisticsReceived(c) })
	if received {
		t.Error("not found")
	}
}

// TestPlantsPanic plants a node that goes on after a panic of the goroutine that ran a range.
func TestPlantsPanic(t *testing.T) {
	out, code := runFatal(t, "TestPanicBelowEnds", "LICHEN_PLANT="+string(plant.PanicSurvived))
	if code == fatalExit || !strings.Contains(out, livesOn) {
		t.Errorf("not found: exit code %d: %s", code, out)
	}
}

// TestPlantsTwin plants nodes that hear a later process of a node that goes on.
func TestPlantsTwin(t *testing.T) {
	out, code := runFatal(t, "TestTwin", "LICHEN_PLANT="+string(plant.TwinAdmitted))
	if code == fatalExit && twinEnded(out) {
		t.Error("not found")
	}
	t.Logf("found: exit code %d: %s", code, out)
}
