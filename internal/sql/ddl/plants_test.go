//go:build plants

package ddl_test

import (
	"testing"

	"github.com/lichendb/lichen/internal/plant"
)

func TestPlantsOnline(t *testing.T) {
	defer plant.Choose(plant.ChangesUnfollowed)()
	if onlineIndex(t) == "0\n" {
		t.Error("the plant was not found")
	}
}
