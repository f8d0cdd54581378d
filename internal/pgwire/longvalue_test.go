package pgwire

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/sql"
)

// TestLongValuesAreSentFromWhereTheyAre reads rows with long values, in text and in binary, with others between
// them: the client gets what it would of copies, and the node holds one value at a time.
func TestLongValuesAreSentFromWhereTheyAre(t *testing.T) {
	mem := quota.NewPool("test", 256<<20)
	db, _ := newSQLOf(t, func(cfg *sql.Config) { cfg.Mem = mem })
	_, addr := newServer(t, func(o *Options) { o.SQL, o.Mem = db, mem })
	conn := connect(t, addr, "")
	ctx := context.Background()
	const query = `SELECT 7, repeat('äb', 100000), NULL::text, (repeat('ab', 100000) || 'z')::bytea, 'x',
		('"' || repeat('j', 100000) || '"')::json, array_fill('y'::text, ARRAY[70000])`
	text := []string{
		"7", strings.Repeat("äb", 100000), "", `\x` + strings.Repeat("6162", 100000) + "7a", "x",
		`"` + strings.Repeat("j", 100000) + `"`, "{" + strings.TrimSuffix(strings.Repeat("y,", 70000), ",") + "}",
	}
	res := conn.PgConn().ExecParams(ctx, query, nil, nil, nil, nil).Read()
	if res.Err != nil {
		t.Fatal(res.Err)
	}
	for i, want := range text {
		if got := string(res.Rows[0][i]); got != want {
			t.Errorf("column %d in text: %d bytes, not %d", i, len(got), len(want))
		}
	}
	res = conn.PgConn().ExecParams(ctx, query, nil, nil, nil, []int16{1}).Read()
	if res.Err != nil {
		t.Fatal(res.Err)
	}
	for i, want := range map[int]string{0: "\x00\x00\x00\x07", 1: text[1], 3: strings.Repeat("ab", 100000) + "z", 5: text[5]} {
		if got := string(res.Rows[0][i]); got != want {
			t.Errorf("column %d in binary: %d bytes, not %d", i, len(got), len(want))
		}
	}
	before := mem.Used()
	const size = 20 << 20
	if err := conn.QueryRow(ctx, "SELECT repeat('x', $1)", pgx.QueryExecModeExec, size).Scan(new([]byte)); err != nil {
		t.Fatal(err)
	}
	if peak := mem.Peak() - before; peak > size*3/2 {
		t.Errorf("%d bytes were in use for a value of %d", peak, size)
	}
}
