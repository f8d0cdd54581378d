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

// firstLoss returns what the first power loss shows that shows anything.
func firstLoss(c *crasher, writes uint64) error {
	for _, cr := range c.crashes {
		if err := verifyCrash(cr, writes); err != nil {
			return err
		}
	}
	return nil
}
