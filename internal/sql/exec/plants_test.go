//go:build plants

package exec

import (
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/sql/optimizer"
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

// TestPlantsVectors plants mistakes in expressions over columns, which a comparison with rows finds.
func TestPlantsVectors(t *testing.T) {
	w := newWorld(t)
	w.table("t", "id int4 not null; b int4; primary (id)")
	w.must("INSERT INTO t VALUES (1, 5), (2, NULL), (3, 2147483647), (4, 0)")
	for p, q := range map[plant.Name]string{
		"":                  "SELECT id FROM t WHERE b < 7",
		plant.NullsAsValues: "SELECT id FROM t WHERE b < 7",
		plant.LaterRowFails: "SELECT b + id, 1 / b FROM t",
	} {
		undo := plant.Choose(p)
		run := func(v optimizer.Vectorization) string {
			w.optimize, w.options = true, &optimizer.Options{Vectorize: v}
			rows, _, err := w.exec(q)
			if err != nil {
				return describe(err)
			}
			return strings.Join(rows, " ")
		}
		if rows, columns := run(optimizer.VectorizeNever), run(optimizer.VectorizeAlways); (rows == columns) != (p == "") {
			t.Errorf("plant %q: %s by rows, %s by columns", p, rows, columns)
		}
		undo()
	}
}
