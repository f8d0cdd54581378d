//go:build plants

package ddl_test

import (
	"testing"

	"github.com/lichendb/lichen/internal/plant"
)

// What changes after the last snapshot of an index that is built online is in it.
func TestPlantsLastChanges(t *testing.T) {
	defer plant.Choose(plant.LastChangesUnfollowed)()
	if onlineIndex(t) == "0\n" {
		t.Error("the plant was not found")
	}
}

// Constraints are verified for what others write meanwhile, on both sides of a foreign key.
func TestPlantsConstraints(t *testing.T) {
	for _, x := range []struct {
		name              plant.Name
		statement, change string
	}{
		{plant.EnforcedEarly, "alter table t add check (b <> 34)", "update t set b = 34 where a = 5"},
		{plant.LastChangesUnfollowed, "alter table t add check (b <> 34)", "update t set b = 34 where a = 5"},
		{plant.ReferredUnfollowed, "alter table t add foreign key (r) references p", "delete from p where k = 5"},
	} {
		end := plant.Choose(x.name)
		c, _, got := besideUser(t, x.statement, x.change, "update t set b = 36 where a = 6")
		end()
		c.close()
		if got != "ALTER TABLE\n" {
			t.Errorf("%s was not planted: %s", x.name, got)
		}
	}
}
