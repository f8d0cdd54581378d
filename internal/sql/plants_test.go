//go:build plants

package sql_test

import (
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/plant"
	"github.com/lichendb/lichen/internal/sql"
)

// sqlPlants are the planted bugs of SQL, with the relation between statements that shows each
// within the checks of plantSeeds schemas.
var sqlPlants = map[plant.Name]string{
	plant.FilterBelowOuter: "outer join", plant.OuterUnchecked: "outer join", plant.BoundBelowSort: "LIMIT", plant.NullInAntiJoin: "NOT IN and NOT EXISTS",
	plant.MergedColumns: "equal columns", plant.VolatileTwice: "sequence", plant.ResidualDropped: "partition of WHERE", plant.SpanShort: "DELETE",
	plant.StaleSubquery: "row by row", plant.StaleWith: "row by row", plant.EmptyAggregate: "reference engine", plant.TypmodLost: "UPDATE",
	plant.StalePlan: "prepared over DDL", plant.CursorSkips: "cursor", plant.LaterColumnSeen: "view over DDL",
	plant.RaisedUnchecked: "outer join below a join", plant.DistinctByNullable: "DISTINCT", plant.DistinctOverJoin: "DISTINCT",
}

const (
	plantSeeds  = 120
	plantChecks = 200 // of each schema
)

// TestPlants plants each bug and requires that it is found, and that without one nothing is.
func TestPlants(t *testing.T) {
	run := func(t *testing.T, name plant.Name, seeds uint64, relations ...string) bool {
		defer plant.Choose(name)()
		n := newNode(t, fs.NewMem())
		defer func() { _ = n.close() }() // a planted bug may have left anything
		start := time.Now()
		f, ran := findWrongAnswer(t, n, 1, seeds, plantChecks, relations...)
		if f != nil {
			t.Logf("found after %d checks and %v: %v", ran, time.Since(start).Round(time.Millisecond), f)
		}
		return f != nil
	}
	t.Run("none", func(t *testing.T) {
		if run(t, "", plantSeeds/4) {
			t.Error("a wrong answer without a planted bug")
		}
	})
	for name, relation := range sqlPlants {
		t.Run(string(name), func(t *testing.T) {
			if !run(t, name, plantSeeds, relation) {
				t.Error("not found")
			}
		})
	}
}

// TestPlantsContention plants blocks that take no contention locks.
func TestPlantsContention(t *testing.T) {
	t.Run(string(plant.ContentionUnlocked), func(t *testing.T) {
		defer plant.Choose(plant.ContentionUnlocked)()
		n, loser, b, c := contendedNode(t, readAll)
		defer closeNode(t, n)
		for _, s := range []*sql.Session{loser, b, c} {
			defer s.Close()
		}
		if err := followBlock(t, n, loser, b, readAll); err != nil {
			t.Logf("found: %v", err)
			return
		}
		t.Error("not found")
	})
}

// TestPlantsReserved plants writers that take no notice of what others have reserved.
func TestPlantsReserved(t *testing.T) {
	t.Run(string(plant.ReservedForNobody), func(t *testing.T) {
		defer plant.Choose(plant.ReservedForNobody)()
		if got := reservesAhead(t, "INSERT INTO dst SELECT * FROM src", time.Minute); got > 3 {
			t.Logf("found: the statement ended at attempt %d", got)
			return
		}
		t.Error("not found")
	})
}

// TestPlantsDistributed plants parts of queries that are taken for all.
func TestPlantsDistributed(t *testing.T) {
	for name, found := range map[plant.Name]bool{"": false, plant.RestUnread: true} {
		t.Run(string(name), func(t *testing.T) {
			_, ask := distributedTable(t, nodeOptions{batchRows: 3})
			ask("SET distsql = always")
			defer plant.Choose(name)()
			if got := ask("SELECT count(*) FROM t"); (got != "121") != found {
				t.Errorf("%s rows of 121", got)
			}
		})
	}
}
