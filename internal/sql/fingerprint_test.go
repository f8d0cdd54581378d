package sql_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/sql"
	"github.com/lichendb/lichen/internal/sql/pgerr"
	"github.com/lichendb/lichen/internal/sql/plan"
	"github.com/lichendb/lichen/internal/sql/types"
)

// transcript writes results down.
type transcript struct {
	discard
	b strings.Builder
}

func (x *transcript) Rewind() bool { return false }

func (x *transcript) Columns(cols []plan.Column) error {
	for _, c := range cols {
		fmt.Fprintf(&x.b, "%s:%d ", c.Name, c.Type.Oid)
	}
	x.b.WriteByte('\n')
	return nil
}

func (x *transcript) Row(row []types.Datum) error {
	for _, d := range row {
		fmt.Fprintf(&x.b, "%x ", types.AppendEncoded(nil, d))
	}
	x.b.WriteByte('\n')
	return nil
}

func (x *transcript) Complete(tag string) error { x.b.WriteString(tag + "\n"); return nil }

func (x *transcript) done(err error) string {
	var e *pgerr.Error
	if errors.As(err, &e) {
		fmt.Fprintf(&x.b, "%s %s at %d", e.Code, e.Message, e.Position)
	} else if err != nil {
		x.b.WriteString(err.Error())
	}
	return x.b.String()
}

// fingerprintTexts are statements with places for integers: those that share plans, and
// those that must not.
var fingerprintTexts = []string{
	"SELECT * FROM s WHERE id = %d",
	"SELECT id, k FROM s WHERE k = %d ORDER BY id;",
	"SELECT id FROM s WHERE id BETWEEN %d AND %d ORDER BY 1",
	"SELECT id FROM s WHERE id IN (%d, %d, 7, %d) ORDER BY id DESC",
	"SELECT count(*) FROM s WHERE big > %d AND (small <= %d OR NOT k <> %d)",
	"SELECT id FROM s WHERE d >= %d ORDER BY id LIMIT 3",
	"SELECT id FROM s WHERE f < %d ORDER BY id LIMIT %d",
	"SELECT id FROM s WHERE %d = id",
	"SELECT id FROM s WHERE id = %d::smallint",
	"SELECT id FROM s WHERE k = - %d",
	"SELECT id FROM s WHERE k = - -%d",
	"SELECT id FROM s WHERE k = -%d ^ 2",
	"SELECT id FROM s WHERE k=%d--comment",
	"SELECT id FROM s WHERE k=%d-%d",
	"SELECT id FROM s WHERE t = %d",
	"SELECT id FROM s WHERE b = %d",
	"SELECT id FROM s WHERE dt = %d",
	"SELECT id FROM s WHERE k / %d = 1 ORDER BY id",
	"SELECT id + %d FROM s WHERE id < %d ORDER BY id",
	"SELECT k + %d FROM s GROUP BY k + %d ORDER BY k + %d",
	"SELECT DISTINCT k + %d FROM s WHERE k > %d ORDER BY k + %d",
	"SELECT (SELECT max(id) FROM s WHERE k < %d) WHERE %d = %d",
	"SELECT count(*) FROM s GROUP BY k ORDER BY 1, %d",
	"SELECT a.id FROM s a JOIN s b ON a.id = b.k AND b.id > %d WHERE a.id < %d ORDER BY 1",
	"SELECT id FROM s WHERE nosuch = %d",
	"SELECT id FROM nosuch WHERE id = %d",
	"SELECT id FROM s WHERE id = %d FOR UPDATE",
	"UPDATE s SET k = k + %d WHERE id = %d",
	"UPDATE s SET k = k - -%d WHERE id = %d RETURNING id, k",
	"UPDATE s SET small = %d WHERE id = %d",
	"UPDATE s SET small = small + %d WHERE id < %d",
	"UPDATE s SET k = %d / id WHERE id < %d",
	"UPDATE s SET dt = dt + %d WHERE id = %d RETURNING dt",
	"UPDATE s SET t = %d, d = %d, f = %d WHERE id = %d RETURNING *",
	"UPDATE s SET (k, big) = (%d, %d) WHERE id = %d RETURNING k, big",
	"UPDATE s SET b = %d WHERE id = %d",
	"DELETE FROM s WHERE id = %d",
	"DELETE FROM s WHERE id > %d AND id < %d RETURNING id",
	"INSERT INTO s (id, k, small) VALUES (%d, %d, %d)",
	"INSERT INTO s VALUES (%d, %d, %d, %d, %d, %d)",
	"INSERT INTO s (id, dt) VALUES (%d, %d)",
	"INSERT INTO s (id, k) VALUES (%d, %d), (%d, %d)",
	"INSERT INTO s (id, k) VALUES (%d, %d) ON CONFLICT (id) DO UPDATE SET k = s.k + %d RETURNING k",
	"INSERT INTO s (id) SELECT id + %d FROM s WHERE id = %d",
	"SELECT id FROM s WHERE id = %d; SELECT id FROM s WHERE id = %d",
	"SELECT '%d', id FROM s WHERE id = %d",
	"SELECT id AS a%d FROM s WHERE id = %d",
}

var fingerprintValues = []int64{
	0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 40, 100, -1, -3, 32767, 32768, 1<<31 - 1, 1 << 31, -1 << 31, -1<<31 - 1, 1<<63 - 1, -1<<63 + 1,
}

func setUpFingerprints(t *testing.T, s *sql.Session) {
	t.Helper()
	for _, text := range []string{
		"DROP TABLE IF EXISTS s",
		"CREATE TABLE s (id INT PRIMARY KEY, k INT DEFAULT 3, small SMALLINT, big BIGINT, d DECIMAL(20,2), f FLOAT, t TEXT, b BOOL, dt DATE, INDEX (k))",
		"INSERT INTO s SELECT g, g % 4, g, g::BIGINT * 1000000000, g, g, g, g % 2 = 0, DATE '2026-01-01' + g::int FROM generate_series(1, 12) AS g",
	} {
		if err := s.Query(context.Background(), text, &discard{}); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
}

// A statement does the same whether its integers are constants or, by its fingerprint,
// parameters.
func TestFingerprints(t *testing.T) {
	n := newNode(t, fs.NewMem())
	shared, plain := n.session(t), n.session(t)
	defer func() {
		shared.Close()
		plain.Close()
		if err := n.close(); err != nil {
			t.Error(err)
		}
	}()
	setUpFingerprints(t, plain)
	ctx := context.Background()
	rng := rand.New(rand.NewPCG(3, 4))
	// inUndone runs a text in a transaction that is undone, after what makes it
	// have no fingerprint, if plain.
	inUndone := func(s *sql.Session, text string) string {
		if err := s.Query(ctx, "BEGIN", &discard{}); err != nil {
			t.Fatal(err)
		}
		var x transcript
		err := s.Query(ctx, text, &x)
		x.done(err)
		if err == nil {
			if err := s.Query(ctx, "SELECT * FROM s ORDER BY id", &x); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Query(ctx, "ROLLBACK", &discard{}); err != nil {
			t.Fatal(err)
		}
		return x.b.String()
	}
	for _, form := range fingerprintTexts {
		for range 40 {
			args := make([]any, strings.Count(form, "%d"))
			for i := range args {
				args[i] = fingerprintValues[rng.IntN(len(fingerprintValues))]
			}
			text := strings.ReplaceAll(fmt.Sprintf(form, args...), "--", "- -")
			text = strings.Replace(text, "- -comment", "--comment", 1)
			// Longer than what has a fingerprint.
			want := inUndone(plain, text+strings.Repeat(" ", 5000))
			if got := inUndone(shared, text); got != want {
				t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
			}
		}
	}
}

// A fingerprint outlives changes of its table.
func TestFingerprintsAfterChanges(t *testing.T) {
	n := newNode(t, fs.NewMem())
	s := n.session(t)
	defer func() {
		s.Close()
		if err := n.close(); err != nil {
			t.Error(err)
		}
	}()
	setUpFingerprints(t, s)
	run := func(text string) string {
		var x transcript
		return x.done(s.Query(context.Background(), text, &x))
	}
	star := func(id int) string { return run(fmt.Sprintf("SELECT * FROM s WHERE id = %d", id)) }
	star(1)
	before := star(2)
	run("ALTER TABLE s ADD COLUMN more INT DEFAULT 5")
	if after := star(3); strings.Count(after, ":") != strings.Count(before, ":")+1 || !strings.Contains(after, "SELECT 1") {
		t.Errorf("after ADD COLUMN: %s", after)
	}
	run("DROP TABLE s")
	if got := star(4); !strings.HasPrefix(got, "42P01") {
		t.Errorf("after DROP TABLE: %s", got)
	}
	run("CREATE TABLE s (id TEXT)")
	if got := star(4); !strings.HasPrefix(got, "42883") {
		t.Errorf("with a column of another type: %s", got)
	}
	run("DROP TABLE s")
	setUpFingerprints(t, s)
	if got := star(4); got == "" || !strings.Contains(got, "SELECT 1") {
		t.Errorf("with the table back: %s", got)
	}
}
