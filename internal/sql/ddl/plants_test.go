//go:build plants

package ddl_test

import (
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/plant"
)

// unnoticed runs a statement beside a transaction that makes changes, and commits while the statement waits for it at the end,
// and returns what the statement says and the problems of the table's indexes.
func unnoticed(t *testing.T, statement, change string) (said, problems string) {
	c, s := parents(t)
	defer c.close()
	a := c.session()
	a.must("begin; " + change)
	done := c.beside(statement)
	a.must("commit")
	said = <-done
	problems, _ = s.inspect(t, "t")
	return said, problems
}

// Each mistake in following the tables makes a statement succeed that must fail, or an index differ from its table.
func TestPlantsOnline(t *testing.T) {
	for _, x := range []struct {
		name              plant.Name
		statement, change string
		differs           bool
	}{
		{plant.LastChangesUnfollowed, "create index tb on t (b)", "update t set b = -1 where a = 5", true},
		{plant.LastChangesUnfollowed, "alter table t add check (b <> 34)", "update t set b = 34 where a = 5", false},
		{plant.EnforcedEarly, "alter table t add check (b <> 34)", "update t set b = 34 where a = 5", false},
		{plant.ReferredUnfollowed, "alter table t add foreign key (r) references p", "delete from p where k = 5", false},
	} {
		found := false
		for range 5 { // the commit may come between two waits, after which the change is followed
			end := plant.Choose(x.name)
			said, problems := unnoticed(t, x.statement, x.change)
			end()
			if found = said == "ALTER TABLE\n" && !x.differs || problems != ""; found {
				break
			}
		}
		if !found {
			t.Errorf("%s: %s beside %s was not wrong", x.name, x.statement, x.change)
		}
	}
}

// A move of which nothing is noted leaves entries of rows behind that another node does not know of.
func TestPlantsMove(t *testing.T) {
	defer plant.Choose(plant.MoveUnnoted)()
	for dieAt := 1; ; dieAt++ {
		job, out, problems := killed(t, "create index tb on t (b)", dieAt)
		if strings.Contains(out, "ERROR") || problems != "" {
			return
		}
		if job.deaths == 0 {
			t.Fatal("the plant was not found")
		}
	}
}
