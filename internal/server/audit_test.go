package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/lichendb/lichen/internal/config"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/obs"
)

// events takes the lines of an audit log.
type events struct {
	mu  sync.Mutex
	raw bytes.Buffer
}

// Write implements io.Writer.
func (e *events) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.raw.Write(p)
}

// text returns all that was written.
func (e *events) text() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.raw.String()
}

// take returns the events since the last call, as text.
func (e *events) take(t *testing.T) string {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	var out []string
	for line := range strings.Lines(e.raw.String()) {
		var ev struct {
			Actions, User, Role, Statement, Answer, SQLState string
			Event, Error, Client, Database                   string
			Within                                           bool
			Relations                                        map[string]string
		}
		if err := json.Unmarshal([]byte(line), &ev); err != nil {
			t.Fatal(err)
		}
		text := ev.User
		if ev.Role != "" {
			text += " as " + ev.Role
		}
		text += " " + ev.Actions
		for _, r := range slices.Sorted(maps.Keys(ev.Relations)) {
			text += fmt.Sprintf(" %s:%s", r, ev.Relations[r])
		}
		if ev.Within {
			text += " within"
		}
		if ev.Event != "" {
			out = append(out, fmt.Sprintf("%s in %s: %s: %s | %s", text, ev.Database, ev.Event, ev.Error, ev.SQLState))
			continue
		}
		out = append(out, fmt.Sprintf("%s | %s | %s%s", text, ev.Statement, ev.Answer, ev.SQLState))
	}
	e.raw.Reset()
	return strings.Join(out, "\n")
}

// audited opens a node with an audit log, a connection of root and one of eve, who is one of the staff.
func audited(t *testing.T, c *testNodes, change ...func(*Options)) (log *events, root, eve *pgx.Conn) {
	cfg := c.config()
	cfg.Stores, cfg.SingleNode = config.Dirs("n"), true
	log = &events{}
	o := c.options(fs.NewMem())
	o.Audit = obs.NewAudit(log, obs.DefaultLogOptions())
	for _, f := range change {
		f(&o)
	}
	n, err := New(cfg, o)
	if err == nil {
		err = n.Listen()
	}
	if err != nil {
		t.Fatal(err)
	}
	c.nodes = append(c.nodes, n)
	c.start(n)
	root = c.connect(n)
	for _, q := range []string{
		"CREATE ROLE eve LOGIN", "CREATE ROLE staff", "GRANT staff TO eve", "CREATE ROLE owner",
		"CREATE TABLE accounts (k INT PRIMARY KEY, v TEXT)", "CREATE TABLE other (k INT)", "INSERT INTO accounts VALUES (1, 'x')",
		"CREATE VIEW seen AS SELECT k FROM accounts", "GRANT ALL ON accounts, other, seen TO eve", "GRANT CREATE ON SCHEMA public TO eve",
		"CREATE FUNCTION f() RETURNS TEXT LANGUAGE plpgsql SECURITY DEFINER AS 'BEGIN RETURN (SELECT v FROM accounts WHERE k = 1); END'",
	} {
		c.exec(root, q)
	}
	if got := log.take(t); got != "" {
		t.Errorf("without rules there are events:\n%s", got)
	}
	eve = c.connectAs(n, "eve")
	return log, root, eve
}

// TestAudit: the audit log tells what the rules say, of whichever statement.
func TestAudit(t *testing.T) {
	withNodes(t, func(t *testing.T, c *testNodes) {
		log, root, eve := audited(t, c)
		c.exec(root, "SET CLUSTER SETTING sql.log.user_audit = '+staff all all\nall *.public.accounts read,write\nall all role'")
		if got, want := log.take(t), "root ddl | SET CLUSTER SETTING sql.log.user_audit = _ | SET CLUSTER SETTING"; got != want {
			t.Errorf("the rules themselves:\n%s\nwant\n%s", got, want)
		}
		for _, s := range []struct {
			conn      *pgx.Conn
			sql, want string
		}{
			{eve, "SELECT v FROM accounts WHERE k = 1 -- why", "eve read defaultdb.public.accounts:read | SELECT v FROM accounts WHERE k = _ | SELECT 1"},
			{eve, "SELECT count(*) FROM seen", "eve read defaultdb.public.accounts:read defaultdb.public.seen:read | SELECT count(*) FROM seen | SELECT 1"},
			{eve, "INSERT INTO other SELECT k FROM accounts", "eve read,write defaultdb.public.accounts:read defaultdb.public.other:write | INSERT INTO other SELECT k FROM accounts | INSERT 0 1"},
			{eve, "UPDATE accounts SET v = 'secret' || v", "eve read,write defaultdb.public.accounts:read,write | UPDATE accounts SET v = _ || v | UPDATE 1"},
			{eve, "SELECT f()", "eve as root read defaultdb.public.accounts:read within | SELECT (SELECT v FROM accounts WHERE k = _) | SELECT 1"},
			{eve, "BEGIN; DECLARE c CURSOR FOR SELECT v FROM accounts WHERE k > 0; FETCH c; COMMIT", "eve read defaultdb.public.accounts:read | DECLARE CURSOR FOR SELECT v FROM accounts WHERE k > _ | "},
			{eve, "DO $$DECLARE r RECORD; BEGIN FOR r IN SELECT v FROM accounts LOOP END LOOP; END$$", "eve read defaultdb.public.accounts:read within | SELECT v FROM accounts | SELECT 1"},
			{eve, "EXPLAIN SELECT v FROM accounts", ""},
			{eve, "EXPLAIN (ANALYZE, COSTS OFF) SELECT v FROM accounts", "eve read defaultdb.public.accounts:read | EXPLAIN (ANALYZE, COSTS OFF) SELECT v FROM accounts | EXPLAIN"},
			{eve, "COPY accounts TO STDOUT", "eve read defaultdb.public.accounts:read | COPY accounts TO STDOUT | COPY 1"},
			{eve, "SELECT 1/(k-1) FROM accounts", "eve read defaultdb.public.accounts:read | SELECT _/(k-_) FROM accounts | 22012"},
			{eve, "SELECT count(*) FROM pg_class", ""},
			{eve, "CREATE TABLE mine (a INT)", "eve ddl defaultdb.public.mine:ddl | CREATE TABLE mine (a INT) | CREATE TABLE"},
			{eve, "ALTER TABLE mine ADD COLUMN b TEXT DEFAULT 'x'", "eve ddl defaultdb.public.mine:ddl | ALTER TABLE mine ADD COLUMN b TEXT DEFAULT _ | ALTER TABLE"},
			{eve, "TRUNCATE mine", "eve write defaultdb.public.mine:write | TRUNCATE mine | TRUNCATE TABLE"},
			{eve, "DROP TABLE mine", "eve ddl defaultdb.public.mine:ddl | DROP TABLE mine | DROP TABLE"},
			{eve, "SET application_name = 'x'", ""},
			{root, "SELECT v FROM accounts", "root read defaultdb.public.accounts:read | SELECT v FROM accounts | SELECT 1"},
			{root, "SELECT k FROM other", ""},
			{root, "CREATE TABLE more (a INT)", ""},
			{root, "CREATE ROLE bob PASSWORD 'kugelblitz'", "root role | CREATE ROLE bob PASSWORD _ | CREATE ROLE"},
			{root, "GRANT SELECT ON other TO bob", "root role defaultdb.public.other:role | GRANT SELECT ON other TO bob | GRANT"},
		} {
			_, err := s.conn.Exec(c.ctx, s.sql)
			if err != nil && !strings.Contains(s.want, "22012") {
				t.Errorf("%s: %v", s.sql, err)
			}
			if got := log.take(t); got != s.want {
				t.Errorf("%s:\n%s\nwant\n%s", s.sql, got, s.want)
			}
		}
	})
}

// TestAuditDenied: attempts that lack a privilege are told where the rules say so, by the relation if there is one; also
// where the statement is only prepared.
func TestAuditDenied(t *testing.T) {
	withNodes(t, func(t *testing.T, c *testNodes) {
		log, root, eve := audited(t, c)
		c.exec(root, "CREATE TABLE hidden (k INT, v TEXT)")
		c.exec(root, "GRANT SELECT (k) ON hidden TO eve")
		c.exec(root, "CREATE TABLE quiet (k INT)")
		c.exec(root, "SET CLUSTER SETTING sql.log.user_audit = 'all quiet none\nall all denied'")
		log.take(t)
		for _, s := range []struct{ sql, want string }{
			{"SELECT v FROM hidden WHERE v = 'x'", "eve denied defaultdb.public.hidden:denied | SELECT v FROM hidden WHERE v = _ | 42501"},
			{"SELECT k FROM hidden", ""},
			{"INSERT INTO hidden VALUES (1, 'x')", "eve denied defaultdb.public.hidden:denied | INSERT INTO hidden VALUES (_, ...) | 42501"},
			{"ALTER TABLE hidden ADD COLUMN w INT", "eve denied defaultdb.public.hidden:denied | ALTER TABLE hidden ADD COLUMN w INT | 42501"},
			{"DROP TABLE hidden", "eve denied defaultdb.public.hidden:denied | DROP TABLE hidden | 42501"},
			{"CREATE ROLE bob", "eve denied | CREATE ROLE bob | 42501"},
			{"CREATE DATABASE d", "eve denied | CREATE DATABASE d | 42501"},
			{"SET CLUSTER SETTING kv.range.max_size = '1GB'", "eve denied | SET CLUSTER SETTING kv.range.max_size = _ | 42501"},
			{"SET ROLE owner", "eve denied | SET ROLE owner | 42501"},
			{"SELECT * FROM quiet", ""},
			{"SELECT v FROM absent", ""},
		} {
			if _, err := eve.Exec(c.ctx, s.sql); (err == nil) != (s.sql == "SELECT k FROM hidden") {
				t.Errorf("%s: %v", s.sql, err)
			}
			if got := log.take(t); got != s.want {
				t.Errorf("%s:\n%s\nwant\n%s", s.sql, got, s.want)
			}
		}
		if _, err := eve.Prepare(c.ctx, "p", "SELECT v FROM hidden WHERE k = $1"); err == nil {
			t.Error("prepared without the privilege")
		}
		if got, want := log.take(t), "eve denied defaultdb.public.hidden:denied | SELECT v FROM hidden WHERE k = $1 | 42501"; got != want {
			t.Errorf("prepared:\n%s\nwant\n%s", got, want)
		}
	})
}

// TestAuditConstants: constants are shown where the setting says so, passwords never.
func TestAuditConstants(t *testing.T) {
	withNodes(t, func(t *testing.T, c *testNodes) {
		log, root, _ := audited(t, c)
		c.exec(root, "SET CLUSTER SETTING sql.log.user_audit = 'all all all'")
		c.exec(root, "SET CLUSTER SETTING sql.log.user_audit.constants = true")
		log.take(t)
		c.exec(root, "SELECT v FROM accounts WHERE k = 17")
		c.exec(root, "ALTER ROLE eve PASSWORD 'kugelblitz'")
		got := log.take(t)
		if !strings.Contains(got, "k = 17") || strings.Contains(got, "kugelblitz") {
			t.Errorf("with constants:\n%s", got)
		}
		// Whoever ends the log is in it.
		c.exec(root, "RESET CLUSTER SETTING sql.log.user_audit")
		if got := log.take(t); !strings.Contains(got, "RESET CLUSTER SETTING sql.log.user_audit") {
			t.Errorf("the end of the log:\n%s", got)
		}
		c.exec(root, "SELECT v FROM accounts")
		if got := log.take(t); got != "" {
			t.Errorf("without rules:\n%s", got)
		}
	})
}

// TestAuditLogins: logins that are refused are told as attempts are, whatever they are refused for.
func TestAuditLogins(t *testing.T) {
	withNodes(t, func(t *testing.T, c *testNodes) {
		log, root, _ := audited(t, c)
		n := c.nodes[len(c.nodes)-1]
		c.exec(root, "CREATE DATABASE closed")
		c.exec(root, "REVOKE CONNECT ON DATABASE closed FROM PUBLIC")
		c.exec(root, "SET CLUSTER SETTING sql.log.user_audit = '+staff all denied\nnobody all denied\nowner all denied'")
		log.take(t)
		for _, x := range []struct{ user, database, want string }{
			{"eve", "closed", `eve denied in closed: login refused: permission denied for database closed | 42501`},
			{"eve", "absent", `eve denied in absent: login refused: database "absent" does not exist | 3D000`},
			{"nobody", "defaultdb", `nobody denied in defaultdb: login refused: role "nobody" does not exist | 28000`},
			{"owner", "defaultdb", `owner denied in defaultdb: login refused: role "owner" is not permitted to log in | 28000`},
			{"someone", "defaultdb", ""},
		} {
			if conn, err := c.tryConnectAs(n, x.user, x.database); err == nil {
				t.Errorf("%s in %s: logged in", x.user, x.database)
				_ = conn.Close(c.ctx)
			}
			if got := log.take(t); got != x.want {
				t.Errorf("%s in %s:\n%s\nwant\n%s", x.user, x.database, got, x.want)
			}
		}
	})
}
