package sql_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/sql"
	"github.com/lichendb/lichen/internal/sql/logictest"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/ranges"
)

// notices runs a text and returns the notices it gave rise to.
func notices(t *testing.T, s *sql.Session, text string) string {
	t.Helper()
	r := logictest.NewRows(s)
	if err := s.Query(context.Background(), text, r); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return strings.Join(r.Notices, "\n")
}

func TestWithoutRanges(t *testing.T) {
	n := openNode(t, fs.NewMem(), nodeOptions{ranges: nil})
	defer closeNode(t, n)
	s := n.session(t)
	defer s.Close()
	mustExec(t, s, "CREATE TABLE t (a INT PRIMARY KEY)")
	for _, text := range []string{
		"SHOW RANGES FROM TABLE t", "ALTER TABLE t SPLIT AT VALUES (1)", "ALTER TABLE t UNSPLIT ALL", "ALTER TABLE t SCATTER",
		"CREATE TABLE u (a INT PRIMARY KEY) SPLIT INTO 2 TABLETS", "CREATE INDEX ON t (a) SPLIT AT VALUES ((1))",
	} {
		if err := exec1(s, text); pgerr.CodeOf(err) != pgerr.FeatureNotSupported {
			t.Errorf("%s: %v", text, err)
		}
	}
	// Zones need no ranges; which localities there are is not known.
	mustExec(t, s, "ALTER TABLE t CONFIGURE ZONE USING constraints = '[+region=mars]'")
}

// A statement that returns rows says so before it runs, and takes no parameters.
func TestRangesInTheExtendedProtocol(t *testing.T) {
	n := newNode(t, fs.NewMem())
	defer closeNode(t, n)
	s := n.session(t)
	defer s.Close()
	mustExec(t, s, "CREATE TABLE t (a INT PRIMARY KEY)")
	ctx := context.Background()
	for text, want := range map[string]string{
		"ALTER TABLE t SPLIT AT VALUES (1)": "key pretty split_enforced_until",
		"ALTER TABLE t UNSPLIT ALL":         "key pretty",
		"ALTER TABLE t SCATTER":             "key pretty",
		"SHOW RANGES FROM TABLE t": "start_key end_key range_id range_size_mb lease_holder lease_holder_locality replicas " +
			"replica_localities voting_replicas non_voting_replicas split_enforced_until",
		"SHOW ZONE CONFIGURATIONS":               "target raw_config_sql",
		"SHOW ZONE CONFIGURATION FROM TABLE t":   "target raw_config_sql",
		"ALTER TABLE t CONFIGURE ZONE DISCARD":   "",
		"SHOW RANGE FROM TABLE t FOR ROW (1)":    "start_key end_key range_id range_size_mb lease_holder lease_holder_locality replicas replica_localities voting_replicas non_voting_replicas split_enforced_until",
		"SHOW ZONE CONFIGURATION FOR RANGE meta": "target raw_config_sql",
	} {
		p, err := s.Prepare(ctx, "", text, nil, &discard{})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		var names []string
		for _, c := range p.Columns() {
			names = append(names, c.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s: %s", text, got)
		}
		portal, err := s.Bind(ctx, "", p, nil)
		if err != nil {
			t.Fatal(err)
		}
		r := &rows{Format: s.Format(), Cols: p.Columns()}
		if _, err := s.Execute(ctx, portal, 0, true, r); err != nil || len(r.Tags) != 1 {
			t.Errorf("%s: %v, %v", text, err, r.Tags)
		}
		if err := s.Sync(ctx); err != nil {
			t.Error(err)
		}
	}
	p, err := s.Prepare(ctx, "", "ALTER TABLE t SPLIT AT VALUES ($1)", nil, &discard{})
	if err == nil {
		if _, err = s.Bind(ctx, "", p, nil); err == nil {
			portal, _ := s.Portal("")
			_, err = s.Execute(ctx, portal, 0, true, logictest.NewRows(s))
		}
	}
	if pgerr.CodeOf(err) != pgerr.UndefinedParameter {
		t.Errorf("a parameter gave %v", err)
	}
}

// What waits for the commit can no longer undo it: the client is warned.
func TestSplitFailsAfterCommit(t *testing.T) {
	n := newNode(t, fs.NewMem())
	defer closeNode(t, n)
	s := n.session(t)
	defer s.Close()
	n.ranges.fail = true
	for i, text := range []string{
		"CREATE TABLE t0 (a UUID PRIMARY KEY) SPLIT INTO 2 TABLETS",
		"CREATE TABLE t1 (a UUID PRIMARY KEY); ALTER TABLE t1 SPLIT AT VALUES ('00000000-0000-0000-0000-000000000001')",
		"BEGIN; CREATE TABLE t2 (a INT PRIMARY KEY) SPLIT AT VALUES ((1)); COMMIT",
	} {
		if got := notices(t, s, text); got != "WARNING: the transaction was committed, but its ranges were not changed: no quorum" {
			t.Errorf("%s: %s", text, got)
		}
		mustExec(t, s, fmt.Sprintf("SELECT * FROM t%d", i))
	}
	if err := exec1(s, "ALTER TABLE t0 SPLIT AT VALUES ('00000000-0000-0000-0000-000000000001')"); err == nil {
		t.Error("a split that failed was not reported")
	}
	n.ranges.fail = false
	if got := notices(t, s, "CREATE TABLE t3 (a INT PRIMARY KEY) SPLIT INTO 2 TABLETS"); !strings.HasPrefix(got, "NOTICE: tablets divide the values of \"a\" from 0 to 2147483647") {
		t.Error(got)
	}
}

func TestUnsplitSpan(t *testing.T) {
	ctx, r := context.Background(), newFakeRanges()
	for table := range uint64(3) {
		for i := range byte(4) {
			if err := r.SplitAt(ctx, append(keys.IndexPrefix(1, table, 1), 0x88+i), hlc.MaxTimestamp); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := ranges.UnsplitSpan(ctx, r, keys.TableSpan(1, 1)); err != nil {
		t.Fatal(err)
	}
	if len(r.starts) != 1+8 {
		t.Errorf("%d ranges are left", len(r.starts))
	}
}

// Whatever meets in whatever order, no zone outlives its table.
func TestZonesAndDropsAtOnce(t *testing.T) {
	n := newNode(t, fs.NewMem())
	defer closeNode(t, n)
	setup := n.session(t)
	defer setup.Close()
	const tables = 20
	for i := range tables {
		mustExec(t, setup, fmt.Sprintf("CREATE TABLE t%d (a INT PRIMARY KEY, b INT, INDEX i%d (b))", i, i))
	}
	var wg sync.WaitGroup
	each := func(format string, codes ...pgerr.Code) {
		wg.Go(func() {
			s := n.session(t)
			defer s.Close()
			for i := range tables {
				err := exec1(s, strings.ReplaceAll(format, "%d", fmt.Sprint(i)))
				ok := err == nil
				for _, c := range codes {
					ok = ok || pgerr.CodeOf(err) == c
				}
				if !ok {
					t.Errorf("%s: %v (%s)", format, err, pgerr.CodeOf(err))
				}
			}
		})
	}
	each("ALTER TABLE t%d CONFIGURE ZONE USING num_replicas = 5", pgerr.UndefinedTable)
	each("ALTER INDEX t%d@i%d CONFIGURE ZONE USING gc.ttlseconds = 60", pgerr.UndefinedTable)
	each("ALTER RANGE default CONFIGURE ZONE USING gc.ttlseconds = 1%d")
	each("TRUNCATE t%d", pgerr.UndefinedTable)
	each("DROP TABLE t%d")
	wg.Wait()
	r := logictest.NewRows(setup)
	if err := setup.Query(context.Background(), "SHOW ZONE CONFIGURATIONS", r); err != nil || len(r.Lines) != 1 {
		t.Errorf("%v\n%s", err, strings.Join(r.Lines, "\n"))
	}
}
