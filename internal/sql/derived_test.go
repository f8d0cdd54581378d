package sql_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/sql"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// Whatever is written, every index has just the entries that the rows demand: the
// same query gives the same rows through each of them.
func TestIndexesAgree(t *testing.T) {
	n := newNode(t, fs.NewMem())
	defer closeNode(t, n)
	s := n.session(t)
	defer s.Close()
	for _, q := range []string{
		"CREATE TABLE w (a INT, b INT, s TEXT, f BOOL, g INT GENERATED ALWAYS AS (a * 10 + coalesce(b, 0)) STORED, PRIMARY KEY (a HASH, s))",
		"CREATE INDEX part ON w (b) WHERE f",
		"CREATE UNIQUE INDEX upart ON w (b, s) WHERE b > 5",
		"CREATE INDEX low ON w (lower(s), b DESC)",
		"CREATE INDEX sum ON w ((a + b)) WHERE f IS NOT NULL",
		"CREATE UNIQUE INDEX nnd ON w (b, g) NULLS NOT DISTINCT",
		"CREATE INDEX gen ON w (g) INCLUDE (f)",
		"CREATE INDEX sh ON w (b, a) USING HASH WITH BUCKET_COUNT = 4",
	} {
		mustExec(t, s, q)
	}
	r := rand.New(rand.NewPCG(3, 4))
	for i := range 600 {
		if err := exec1(s, randomWrite(r)); err != nil && pgerr.CodeOf(err) != pgerr.UniqueViolation {
			t.Fatalf("%v (%s)", err, pgerr.CodeOf(err))
		}
		if i%60 == 59 {
			agree(t, s, r)
		}
	}
	mustExec(t, s, "ALTER TABLE w ADD COLUMN z INT DEFAULT 5")
	mustExec(t, s, "CREATE INDEX late ON w ((z + a)) WHERE b < 9")
	agree(t, s, r)
	mustExec(t, s, "DELETE FROM w WHERE a >= 0")
	agree(t, s, r)
}

func randomWrite(r *rand.Rand) string {
	val := func(n int) string {
		if r.IntN(8) == 0 {
			return "NULL"
		}
		return fmt.Sprint(r.IntN(n))
	}
	flag := []string{"true", "false", "NULL"}
	a, name, f := r.IntN(6), fmt.Sprintf("'%c%c'", "aAbB"[r.IntN(4)], "xX"[r.IntN(2)]), flag[r.IntN(3)]
	switch r.IntN(8) {
	case 0, 1, 2:
		return fmt.Sprintf("INSERT INTO w (a, b, s, f) VALUES (%d, %s, %s, %s)", a, val(12), name, f)
	case 3:
		return fmt.Sprintf("INSERT INTO w (a, b, s, f) VALUES (%d, %s, %s, %s) ON CONFLICT (a, s) DO UPDATE SET b = excluded.b, f = NOT w.f", a, val(12), name, f)
	case 4:
		return fmt.Sprintf("UPDATE w SET b = %s, f = %s WHERE a = %d", val(12), f, a)
	case 5:
		return fmt.Sprintf("UPDATE w SET s = %s, a = a + %d WHERE a = %d AND b < %d", name, r.IntN(2), a, r.IntN(12))
	case 6:
		return fmt.Sprintf("DELETE FROM w WHERE lower(s) = lower(%s) AND a = %d", name, a)
	}
	return fmt.Sprintf(`MERGE INTO w USING (VALUES (%d, %s)) v (a, s) ON w.a = v.a AND w.s = v.s
		WHEN MATCHED AND f THEN DELETE WHEN MATCHED THEN UPDATE SET b = coalesce(b, 0) + 1
		WHEN NOT MATCHED THEN INSERT (a, s, b, f) VALUES (v.a, v.s, %s, true)`, a, name, val(12))
}

// agree compares what queries return through the primary index and through others.
func agree(t *testing.T, s *sql.Session, r *rand.Rand) {
	t.Helper()
	k := r.IntN(12)
	for _, c := range []struct{ index, where string }{
		{"part", "f"}, {"part", fmt.Sprintf("f AND b >= %d", k)}, {"part", fmt.Sprintf("f = true AND b = %d", k)},
		{"upart", "b > 5"}, {"upart", "b = 7"}, {"upart", "b IN (6, 8, 9) AND s > 'a'"},
		{"low", "lower(s) = 'ax'"}, {"low", fmt.Sprintf("lower(s) = 'bx' AND b > %d", k)}, {"low", "true"},
		{"sum", "f IS NOT NULL AND a + b = 7"}, {"sum", fmt.Sprintf("f AND a + b > %d", k)}, {"sum", "NOT f"},
		{"nnd", "b IS NULL"}, {"nnd", fmt.Sprintf("b = %d", k)}, {"nnd", "b IS NULL AND g = 30"}, {"gen", fmt.Sprintf("g = %d", 10*(k%6)+3)},
		{"gen", "true"}, {"sh", fmt.Sprintf("b = %d", k)}, {"sh", fmt.Sprintf("b = %d AND a = 3", k)}, {"sh", fmt.Sprintf("b > %d", k)}, {"sh", "true"},
	} {
		q := "SELECT count(*) || ' ' || coalesce(sum(a * 1000 + coalesce(b, -1) + ascii(s) * 7 + g * 3 + CASE WHEN f THEN 1 ELSE 0 END), 0) FROM w@%s WHERE %s"
		want := value(t, s, fmt.Sprintf(q, "w_pkey", c.where))
		if got := value(t, s, fmt.Sprintf(q, c.index, c.where)); got != want {
			t.Fatalf("WHERE %s through %s: %s, want %s", c.where, c.index, got, want)
		}
	}
	if got := value(t, s, "SELECT count(*) FROM w WHERE g IS DISTINCT FROM a * 10 + coalesce(b, 0)"); got != "0" {
		t.Fatalf("%s generated values are wrong", got)
	}
}
