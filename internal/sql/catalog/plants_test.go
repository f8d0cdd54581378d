//go:build plants

package catalog

import (
	"testing"
	"testing/synctest"

	"github.com/lichendb/lichen/internal/plant"
)

func TestPlantsUnknownCommit(t *testing.T) {
	defer plant.Choose(plant.UnknownCommitForgotten)()
	for _, late := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			if seen, there := unknownCommit(t, late, false); seen == there {
				t.Errorf("late %v: the plant was not found", late)
			}
		})
	}
}
