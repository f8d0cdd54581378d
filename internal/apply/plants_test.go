//go:build plants

package apply

import (
	"testing"

	"github.com/lichendb/lichen/internal/plant"
)

// TestPlants plants a table that comes before what it has to come after.
func TestPlants(t *testing.T) {
	defer plant.Choose(plant.TableJoinsBatch)()
	if err := tableAfterClear(t); err == nil {
		t.Error("not found")
	}
}
