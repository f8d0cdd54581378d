package sql_test

import (
	"context"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/sql"
	"github.com/lichendb/lichen/internal/sql/generate"
	"github.com/lichendb/lichen/internal/sql/logictest"
	"github.com/lichendb/lichen/internal/sql/metamorphic"
	"github.com/lichendb/lichen/internal/sql/optimizer"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// checkedSession is a session for package metamorphic.
type checkedSession struct{ s *sql.Session }

// Query implements metamorphic.DB.
func (c checkedSession) Query(ctx context.Context, text string) ([]string, error) {
	r := logictest.NewRows(c.s)
	if err := c.s.Query(ctx, text, r); err != nil {
		return nil, &metamorphic.Error{Code: string(pgerr.CodeOf(err)), Message: err.Error()}
	}
	return r.Lines, nil
}

// metamorphicSettings are those of the sessions that are checked.
var metamorphicSettings = []string{"SET search_path = diff, public", "SET statement_timeout = '2s'", "SET timezone = 'UTC'"}

// findWrongAnswer checks relations, or all if none is named, over the schemas of seeds, until a
// check finds something.
func findWrongAnswer(t *testing.T, n *node, from, seeds uint64, checks int, relations ...string) (found *metamorphic.Finding, ran int) {
	db := checkedSession{n.session(t)}
	defer db.s.Close()
	for _, q := range metamorphicSettings {
		if _, err := db.Query(context.Background(), q); err != nil {
			t.Fatal(err)
		}
	}
	all := generate.NewCoverage()
	for seed := from; seed < from+seeds; seed++ {
		c := metamorphic.New(seed, optimizer.Rules(), relations...)
		if err := c.Setup(context.Background(), db); err != nil {
			t.Fatal(err)
		}
		for range checks {
			ran++
			if f := c.Check(); f != nil {
				t.Logf("seed %d, after %d checks", seed, ran)
				return f, ran
			}
		}
		all.Merge(c.Coverage)
	}
	return nil, ran
}

// TestMetamorphic checks a few statements whose answers must relate to each other. make
// metamorphic runs more, make plants with planted bugs.
func TestMetamorphic(t *testing.T) {
	t.Parallel()
	n := newNode(t, fs.NewMem())
	defer func() {
		if err := n.close(); err != nil {
			t.Error(err)
		}
	}()
	if f, _ := findWrongAnswer(t, n, 1, 2, 150); f != nil {
		t.Error(f)
	}
}
