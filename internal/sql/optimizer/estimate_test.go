package optimizer_test

import (
	"context"
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/sql/builtin/call"
	"github.com/lichendb/lichen/internal/sql/catalog"
	"github.com/lichendb/lichen/internal/sql/optimizer"
	"github.com/lichendb/lichen/internal/sql/parser"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/planner"
	"github.com/lichendb/lichen/internal/sql/planner/plantest"
	"github.com/lichendb/lichen/internal/sql/types"
)

// eventStats describe a table of a million events: at is spread from 0 to 1,000,000, and
// nine tenths of the states are 1.
type eventStats struct{}

func (eventStats) Stats(t *catalog.Table) *optimizer.TableStats {
	return &optimizer.TableStats{Rows: 1e6, Column: func(id catalog.ColumnID) *catalog.ColumnStatistics {
		for i := range t.Columns {
			if t.Columns[i].ID == id {
				return eventColumns[t.Columns[i].Name]
			}
		}
		return nil
	}}
}

var eventColumns = map[string]*catalog.ColumnStatistics{
	"at": {Distinct: 1e6, Bounds: []types.Datum{
		types.NewInt(0), types.NewInt(250_000), types.NewInt(500_000), types.NewInt(750_000), types.NewInt(1_000_000),
	}},
	"state": {Distinct: 100, Nulls: 0.01, Common: []catalog.CommonValue{{Value: types.NewInt(1), Share: 0.9}}},
}

// planOf plans a statement over the events by the values given, and tells whether it
// missed some.
func planOf(t *testing.T, query string, params ...types.Datum) (text string, guessed bool) {
	t.Helper()
	cat := &plantest.Catalog{}
	if err := cat.Exec(`CREATE TABLE events (id int primary key, at int, state int, payload text);
		CREATE INDEX events_at ON events (at); CREATE INDEX events_state ON events (state)`); err != nil {
		t.Fatal(err)
	}
	st, err := parser.ParseOne(query)
	if err != nil {
		t.Fatal(err)
	}
	p, err := planner.Plan(context.Background(), st.AST, &planner.Env{Catalog: cat})
	if err != nil {
		t.Fatal(err)
	}
	if err := optimizer.Optimize(p, &optimizer.Options{Stats: eventStats{}, Params: params, Context: &call.Context{}}); err != nil {
		t.Fatal(err)
	}
	return strings.Join(plan.Format(p.Root, plan.ExplainOptions{}), "\n"), p.Guessed
}

// What the histogram and the common values say decides between an index and the table.
func TestEstimatesByValue(t *testing.T) {
	for _, c := range []struct {
		where string
		args  []types.Datum
		index bool
	}{
		{where: "at > 999000", index: true},
		{where: "at > 1000", index: false},
		{where: "at < 1000", index: true},
		{where: "at BETWEEN 500000 AND 501000", index: true},
		{where: "at BETWEEN 1000 AND 900000", index: false},
		{where: "at > 998000 + 1000", index: true},
		{where: "at >= $1", args: []types.Datum{types.NewInt(999_500)}, index: true},
		{where: "at >= $1 - 500000", args: []types.Datum{types.NewInt(999_500)}, index: false},
		{where: "at >= $1 AND at < $2", args: []types.Datum{types.NewInt(100), types.NewInt(200)}, index: true},
		{where: "at >= $1 AND at < $2", args: []types.Datum{types.NewInt(100), types.NewInt(900_000)}, index: false},
		{where: "state = 1", index: false},
		{where: "state = 2", index: true},
		{where: "state IN (2, 3)", index: true},
		{where: "state IN (1, 2)", index: false},
		{where: "state = $1", args: []types.Datum{types.NewInt(7)}, index: true},
		{where: "at > 999000 OR at < 100", index: true},
	} {
		text, guessed := planOf(t, "SELECT payload FROM events WHERE "+c.where, c.args...)
		if strings.Contains(text, "Index Scan") != c.index || guessed {
			t.Errorf("%s: guessed %v\n%s", c.where, guessed, text)
		}
	}
	for pattern, hash := range map[string]bool{"%": true, "%%": true, "a%": false, "%a%": false, "": false} {
		text, _ := planOf(t, "SELECT b.at FROM events a JOIN events b ON b.id = a.state WHERE a.payload LIKE '"+pattern+"'")
		if strings.Contains(text, "Hash Join") != hash {
			t.Errorf("LIKE '%s':\n%s", pattern, text)
		}
	}
	if _, guessed := planOf(t, "SELECT payload FROM events WHERE at >= $1"); !guessed {
		t.Error("a plan without the value of its parameter does not say so")
	}
	if _, guessed := planOf(t, "SELECT payload FROM events WHERE id = $1"); guessed {
		t.Error("a plan that no value changes would be made anew")
	}
}
