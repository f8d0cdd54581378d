package server

import (
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/lichendb/lichen/internal/config"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/obs"
)

// secret is what must be seen nowhere.
const secret = "kugelblitz"

// statementsWithSecrets are all ways to write a password, some with errors behind it.
var statementsWithSecrets = []string{
	"CREATE ROLE a LOGIN PASSWORD '" + secret + "'",
	"CREATE ROLE a LOGIN PASSWORD '" + secret + "'", // it is there
	"CREATE ROLE b ENCRYPTED PASSWORD '" + secret + "' NONSENSE",
	"ALTER USER a PASSWORD 'x' 'y' '" + secret + "'",
	"ALTER ROLE a WITH PASSWORD E'" + secret + "\\n'",
	"ALTER ROLE a PASSWORD $$" + secret + "$$ VALID UNTIL 'never'",
	"DO $$BEGIN EXECUTE 'ALTER ROLE a PASSWORD ''" + secret + "'''; END$$",
	"DO $$BEGIN EXECUTE 'ALTER ROLE nobody PASSWORD ''" + secret + "'''; END$$",
	"ALTER ROLE a PASSWORD '" + secret, // not closed: the error, which only the author gets, names it
}

// TestSecretsAreHidden: passwords that statements contain are in no log, no relation of the catalog and no page, though
// others look while the session is still there.
func TestSecretsAreHidden(t *testing.T) {
	withNodes(t, func(t *testing.T, c *testNodes) {
		cfg := c.config()
		cfg.Stores, cfg.SingleNode = config.Dirs("n"), true
		var log, audit events
		o := c.options(fs.NewMem())
		o.Logger, o.Audit = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})), obs.NewAudit(&audit, obs.DefaultLogOptions())
		n, err := New(cfg, o)
		if err == nil {
			err = n.Listen()
		}
		if err != nil {
			t.Fatal(err)
		}
		c.nodes = append(c.nodes, n)
		c.start(n)
		watcher := c.connect(n)
		c.exec(watcher, "SET CLUSTER SETTING sql.log.user_audit = 'all all all'")
		c.exec(watcher, "SET CLUSTER SETTING sql.log.user_audit.constants = true")
		relations := everyRelation(t, c, watcher)
		for _, q := range statementsWithSecrets {
			conn := c.connect(n) // whose last statement stays to be seen
			if _, err := conn.PgConn().Exec(c.ctx, q).ReadAll(); err != nil && strings.HasSuffix(q, "'") {
				hides(t, q, err.Error())
			}
		}
		for _, r := range relations {
			hides(t, r, contentOf(c, watcher, r))
		}
		for _, path := range []string{"/", "/_status/vars", "/debug/pprof/goroutine?debug=2"} {
			w := httptest.NewRecorder()
			n.httpHandler().ServeHTTP(w, httptest.NewRequest("GET", "http://"+n.AdvertisedHTTPAddr()+path, nil))
			hides(t, path, w.Body.String())
		}
		hides(t, "the log", log.text())
		hides(t, "the audit log", audit.text())
		if !strings.Contains(audit.text(), "ALTER ROLE a PASSWORD") {
			t.Error("the audit log does not hold the statements: the test shows nothing")
		}
	})
}

func hides(t *testing.T, where, text string) {
	t.Helper()
	if at := strings.Index(text, secret); at >= 0 {
		t.Errorf("%s shows the secret: …%s", where, text[max(at-100, 0):at+len(secret)])
	}
}

// everyRelation lists the relations of the system's schemas, and what SHOW lists.
func everyRelation(t *testing.T, c *testNodes, conn *pgx.Conn) []string {
	t.Helper()
	rows, err := conn.Query(c.ctx, "SELECT table_schema || '.' || table_name FROM information_schema.tables WHERE table_schema IN ('pg_catalog', 'information_schema', 'lichen_internal')")
	if err != nil {
		t.Fatal(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(list) < 100 {
		t.Fatalf("%d relations, %v", len(list), err)
	}
	for i, r := range list {
		list[i] = "SELECT x::TEXT FROM " + r + " x"
	}
	return append(list, "SHOW ALL", "SHOW SESSIONS", "SHOW QUERIES", "SHOW JOBS", "SHOW CLUSTER SETTINGS", "SHOW ROLES", "SHOW TRANSACTIONS")
}

// contentOf returns what a query returns, or its error.
func contentOf(c *testNodes, conn *pgx.Conn, query string) string {
	results, err := conn.PgConn().Exec(c.ctx, query).ReadAll()
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	for _, r := range results {
		for _, row := range r.Rows {
			for _, v := range row {
				b.Write(v)
				b.WriteByte('\n')
			}
		}
	}
	return b.String()
}
