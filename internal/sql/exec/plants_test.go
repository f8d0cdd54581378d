//go:build plants

package exec

import (
	"testing"

	"github.com/lichendb/lichen/internal/plant"
)

// TestPlants plants writers that take any datum for any column.
func TestPlants(t *testing.T) {
	defer plant.Choose(plant.WriteUnchecked)()
	for name, write := range writings {
		if writeUnfit(t, write) == 0 {
			t.Errorf("%s: not found", name)
		}
	}
}
