//go:build plants

package storage

import (
	"testing"

	"github.com/lichendb/lichen/internal/plant"
)

// TestPlants plants what a read after a table must show.
func TestPlants(t *testing.T) {
	defer plant.Choose(plant.TableUnheard)()
	if err := newestAfterTable(t); err == nil {
		t.Error("not found")
	}
}
