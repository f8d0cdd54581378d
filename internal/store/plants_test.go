//go:build plants

package store_test

import (
	"testing"

	"github.com/lichendb/lichen/internal/plant"
)

// TestPlants plants a bug that a lock transfer to a dying target must show.
func TestPlants(t *testing.T) {
	t.Run(string(plant.LocksBesideRecord), func(t *testing.T) {
		defer plant.Choose(plant.LocksBesideRecord)()
		if err := transferTwice(t); err != nil {
			t.Logf("found: %v", err)
			return
		}
		t.Error("not found")
	})
}

// TestPlantsGap plants a split during which no replica holds the right half for a moment.
func TestPlantsGap(t *testing.T) {
	defer plant.Choose(plant.SplitGap)()
	if err := splitsWithoutGap(t); err != nil {
		t.Logf("found: %v", err)
		return
	}
	t.Error("not found")
}

// TestPlantsMend plants a store that empties a log that has lost its end.
func TestPlantsMend(t *testing.T) {
	defer plant.Choose(plant.MendAlways)()
	if err := startsAgainBehindFlush(t); err != nil {
		t.Logf("found: %v", err)
		return
	}
	t.Error("not found")
}

// TestPlantsInFlight plants commands that overtake those of others in the log.
func TestPlantsInFlight(t *testing.T) {
	defer plant.Choose(plant.InFlightUnseen)()
	if err := stageBehindAborted(t); err != nil {
		t.Logf("found: %v", err)
		return
	}
	t.Error("not found")
}
