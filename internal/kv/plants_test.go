//go:build plants

package kv_test

import (
	"testing"

	"github.com/lichendb/lichen/internal/plant"
)

// TestPlants plants what power losses must show: log that is not synced when it is
// acknowledged, or dropped too early.
func TestPlants(t *testing.T) {
	const writes, rounds = 80, 8
	for _, n := range []plant.Name{plant.AckBeforeSync, plant.TruncateEarly} {
		t.Run(string(n), func(t *testing.T) {
			defer plant.Choose(n)()
			for range rounds {
				if err := firstLoss(losePower(t, writes), writes); err != nil {
					t.Logf("found: %v", err)
					return
				}
			}
			t.Errorf("not found in %d rounds", rounds)
		})
	}
}

// TestPlantsMessages plants what messages in a certain order must show.
func TestPlantsMessages(t *testing.T) {
	t.Run(string(plant.CountedReplaced), func(t *testing.T) {
		defer plant.Choose(plant.CountedReplaced)()
		if err := replaceCounted(t); err != nil {
			t.Logf("found: %v", err)
			return
		}
		t.Error("not found")
	})
}

// TestPlantsLocks plants what locks on rows that others change must show.
func TestPlantsLocks(t *testing.T) {
	t.Run(string(plant.SeenUnchanged), func(t *testing.T) {
		defer plant.Choose(plant.SeenUnchanged)()
		if err := lockSeen(t); err != nil {
			t.Logf("found: %v", err)
			return
		}
		t.Error("not found")
	})
}

// TestPlantsCollection plants what reads of collected versions must show.
func TestPlantsCollection(t *testing.T) {
	t.Run(string(plant.IgnoreThreshold), func(t *testing.T) {
		defer plant.Choose(plant.IgnoreThreshold)()
		if err := readCollected(t); err != nil {
			t.Logf("found: %v", err)
			return
		}
		t.Error("not found")
	})
}

// firstLoss returns what the first power loss shows that shows anything.
func firstLoss(c *crasher, writes uint64) error {
	for _, cr := range c.crashes {
		if err := verifyCrash(cr, writes); err != nil {
			return err
		}
	}
	return nil
}

// TestPlantsDelegated plants what reads by other nodes must show.
func TestPlantsDelegated(t *testing.T) {
	for n, check := range map[plant.Name]func(*testing.T) error{plant.DelegateUnrecorded: delegate, plant.DelegateLate: delegateTooLate} {
		t.Run(string(n), func(t *testing.T) {
			defer plant.Choose(n)()
			if err := check(t); err != nil {
				t.Logf("found: %v", err)
				return
			}
			t.Error("not found")
		})
	}
}
