//go:build plants

package server

import (
	"testing"

	"github.com/lichendb/lichen/internal/plant"
)

// TestPlants plants what contention for deferrable keys must show: claims that nobody
// locks before they are counted.
func TestPlants(t *testing.T) {
	defer plant.Choose(plant.SkipClaim)()
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

// TestStatisticsPlant plants a node that does not hear of the statistics of others.
func TestStatisticsPlant(t *testing.T) {
	defer plant.Choose(plant.StatisticsUnheard)()
	heard := true
	withNodes(t, func(t *testing.T, c *testNodes) { heard = statisticsHeard(c) })
	if heard {
		t.Error("not found")
	}
}
