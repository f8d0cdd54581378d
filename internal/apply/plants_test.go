//go:build plants

package apply

import (
	"testing"

	"github.com/lichendb/lichen/internal/plant"
)

// TestPlants plants a table that comes before what it has to come after, and one that takes the place of another.
func TestPlants(t *testing.T) {
	for name, finds := range map[plant.Name]func(*testing.T) error{
		plant.TableJoinsBatch: tableAfterClear, plant.TableOfAnother: preparedForAnother,
	} {
		restore := plant.Choose(name)
		if err := finds(t); err == nil {
			t.Errorf("%s was not found", name)
		}
		restore()
	}
}
