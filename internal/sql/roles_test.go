package sql_test

import (
	"context"
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/sql"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// as returns a session of another user.
func as(t *testing.T, n *node, user string) *sql.Session {
	t.Helper()
	s, err := n.sql.NewSession(context.Background(), sql.SessionArgs{User: user, Database: "defaultdb"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// TestRevokedAtOnce: a session that has prepared a statement may not run it once it lacks the privilege, whatever
// has taken that away, nor may another session run the shared plan.
func TestRevokedAtOnce(t *testing.T) {
	n := newNode(t, fs.NewMem())
	t.Cleanup(func() { closeNode(t, n) })
	admin := n.session(t)
	t.Cleanup(admin.Close)
	for _, q := range []string{
		"CREATE ROLE u LOGIN", "CREATE ROLE g", "CREATE ROLE o", "CREATE SCHEMA s", "CREATE TABLE s.t (a INT)", "CREATE VIEW v AS SELECT a FROM s.t",
	} {
		mustExec(t, admin, q)
	}
	user := as(t, n, "u")
	for _, c := range []struct{ text, grant, revoke string }{
		{"SELECT a FROM s.t", "GRANT SELECT ON s.t TO u", "REVOKE SELECT ON s.t FROM u"},
		{"SELECT a FROM s.t", "GRANT SELECT (a) ON s.t TO u", "REVOKE SELECT (a) ON s.t FROM u"},
		{"SELECT a FROM s.t", "GRANT SELECT ON s.t TO g; GRANT g TO u", "REVOKE g FROM u"},
		{"SELECT a FROM s.t", "GRANT SELECT ON s.t TO g; GRANT g TO u", "ALTER ROLE u NOINHERIT"},
		{"SELECT a FROM s.t", "GRANT SELECT ON s.t TO u", "REVOKE USAGE ON SCHEMA s FROM u"},
		{"SELECT a FROM s.t", "ALTER TABLE s.t OWNER TO u", "ALTER TABLE s.t OWNER TO root"},
		{"SELECT a FROM s.t", "ALTER ROLE u SUPERUSER", "ALTER ROLE u NOSUPERUSER"},
		{"SELECT a FROM s.t", "GRANT admin TO u", "REVOKE admin FROM u"},
		{"SELECT a FROM v", "GRANT SELECT ON v TO u", "REVOKE SELECT ON v FROM u"},
		{"SELECT a FROM v", "GRANT SELECT ON v TO u", "ALTER VIEW v OWNER TO o"},
		{"INSERT INTO s.t VALUES (1)", "GRANT INSERT ON s.t TO u", "REVOKE INSERT ON s.t FROM u"},
	} {
		for _, q := range []string{
			"GRANT USAGE ON SCHEMA s TO u", "REVOKE ALL ON s.t, v FROM u, g", "REVOKE g FROM u", "ALTER ROLE u INHERIT", "ALTER VIEW v OWNER TO root",
		} {
			mustExec(t, admin, q)
		}
		for q := range strings.SplitSeq(c.grant, ";") {
			mustExec(t, admin, q)
		}
		p, err := user.Prepare(context.Background(), "p", c.text, nil, nil)
		if err != nil {
			t.Errorf("%s after %s: %v", c.text, c.grant, err)
			continue
		}
		again := func() error { return exec1(user, "EXECUTE p") }
		if err := again(); err != nil {
			t.Errorf("%s after %s: %v", c.text, c.grant, err)
		}
		mustExec(t, admin, c.revoke)
		if err := again(); pgerr.CodeOf(err) != pgerr.InsufficientPrivilege {
			t.Errorf("%s after %s: %v", c.text, c.revoke, err)
		}
		if err := exec1(user, c.text); pgerr.CodeOf(err) != pgerr.InsufficientPrivilege {
			t.Errorf("%s anew after %s: %v", c.text, c.revoke, err)
		}
		user.CloseStatement(p.Name)
	}
}

// TestDroppedWhileConnected: the session of a role that was dropped goes on, as nobody: it owns nothing new, and is not the next role
// of the name. That it has made temporary tables keeps no role.
func TestDroppedWhileConnected(t *testing.T) {
	n := newNode(t, fs.NewMem())
	t.Cleanup(func() { closeNode(t, n) })
	admin := n.session(t)
	t.Cleanup(admin.Close)
	mustExec(t, admin, "CREATE ROLE u LOGIN")
	mustExec(t, admin, "CREATE TABLE t (a INT)")
	mustExec(t, admin, "GRANT SELECT ON t TO public")
	user := as(t, n, "u")
	mustExec(t, user, "CREATE TEMP TABLE x (a INT)")
	if err := exec1(admin, "DROP ROLE u"); pgerr.CodeOf(err) != pgerr.DependentObjectsStillExist {
		t.Errorf("it has a temporary table: %v", err)
	}
	mustExec(t, user, "DROP TABLE x")
	mustExec(t, admin, "DROP ROLE u")
	mustExec(t, admin, "CREATE ROLE u SUPERUSER")
	for _, q := range []string{"SELECT * FROM t", "SELECT 1", "SELECT has_table_privilege('t', 'select')", "SHOW role"} {
		if err := exec1(user, q); err != nil {
			t.Errorf("%s: %v", q, err)
		}
	}
	for _, c := range []struct{ text, code, message string }{
		{"SELECT current_user", "42704", "invalid role OID: "}, {"SELECT session_user", "42704", "invalid role OID: "}, {"SELECT current_role", "42704", "invalid role OID: "},
		{"SELECT user", "42704", "invalid role OID: "}, {"CREATE TEMP TABLE x (a INT)", "42704", "was concurrently dropped"},
		{"SET ROLE u", "42501", "permission denied to set role"}, {"CREATE ROLE v", "42501", "permission denied to create role"}, {"DELETE FROM t", "42501", "permission denied"},
		{"CREATE SCHEMA s", "42501", "permission denied for database"},
	} {
		if err := exec1(user, c.text); string(pgerr.CodeOf(err)) != c.code || !strings.Contains(err.Error(), c.message) {
			t.Errorf("%s: %v", c.text, err)
		}
	}
}

// TestOwnersStay: a role that has just become an owner is not dropped before that is committed.
func TestOwnersStay(t *testing.T) {
	n := newNode(t, fs.NewMem())
	t.Cleanup(func() { closeNode(t, n) })
	admin, other := n.session(t), n.session(t)
	t.Cleanup(admin.Close)
	t.Cleanup(other.Close)
	mustExec(t, admin, "CREATE ROLE u")
	mustExec(t, admin, "CREATE TABLE t (a INT)")
	mustExec(t, admin, "BEGIN")
	mustExec(t, admin, "ALTER TABLE t OWNER TO u")
	mustExec(t, other, "SET lock_timeout = '50ms'")
	if err := exec1(other, "DROP ROLE u"); pgerr.CodeOf(err) != pgerr.LockNotAvailable {
		t.Errorf("while it becomes an owner: %v", err)
	}
	mustExec(t, admin, "COMMIT")
	if err := exec1(other, "DROP ROLE u"); pgerr.CodeOf(err) != pgerr.DependentObjectsStillExist {
		t.Errorf("as an owner: %v", err)
	}
}

// TestPasswordsAreNotStored: nothing that is stored has the text of a password.
func TestPasswordsAreNotStored(t *testing.T) {
	n := newNode(t, fs.NewMem())
	t.Cleanup(func() { closeNode(t, n) })
	s := n.session(t)
	t.Cleanup(s.Close)
	mustExec(t, s, "CREATE ROLE u LOGIN PASSWORD 'Kugelblitz17'")
	mustExec(t, s, "ALTER ROLE u PASSWORD 'Kugelblitz18'")
	stored := 0
	err := n.sql.StoredText(context.Background(), func(k, v []byte) {
		stored++
		if strings.Contains(string(k)+string(v), "Kugelblitz") {
			t.Errorf("the password is stored under %q", k)
		}
	})
	if err == nil && stored == 0 {
		t.Error("nothing is stored")
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestPasswordsAreNotShown: no relation of the catalog that another session reads shows the password of a statement that runs, has
// run or has failed, nor does an error.
func TestPasswordsAreNotShown(t *testing.T) {
	n := newNode(t, fs.NewMem())
	t.Cleanup(func() { closeNode(t, n) })
	s, prepares, other := n.session(t), n.session(t), n.session(t)
	for _, x := range []*sql.Session{s, prepares, other} {
		t.Cleanup(x.Close)
	}
	mustExec(t, s, "CREATE ROLE u LOGIN PASSWORD 'Kugelblitz17'")
	for _, text := range []string{
		"CREATE ROLE u PASSWORD 'Kugelblitz17'", "ALTER ROLE nobody PASSWORD 'Kugelblitz17'", "ALTER ROLE u PASSWORD 'Kugelblitz17' NONSENSE",
		"ALTER ROLE u VALID UNTIL 'never' PASSWORD 'Kugelblitz17'", "CREATE USER v PASSWORD 'Kugelblitz17' PASSWORD 'Kugelblitz17'",
	} {
		if err := exec1(s, text); err == nil || strings.Contains(err.Error()+pgerr.From(err).Detail+pgerr.From(err).Hint, "Kugelblitz") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := prepares.Prepare(context.Background(), "p", "ALTER ROLE u PASSWORD 'Kugelblitz17'", nil, nil); err != nil {
		t.Fatal(err)
	}
	mustExec(t, s, "BEGIN")
	mustExec(t, s, "ALTER ROLE u PASSWORD 'Kugelblitz17'")
	tables := strings.Fields(answer(t, other, `SELECT string_agg(format('%I.%I', table_schema, table_name), ' ')
		FROM information_schema.tables WHERE table_schema IN ('pg_catalog', 'information_schema', 'lichen_internal')`))
	if len(tables) < 100 {
		t.Fatalf("%d relations", len(tables))
	}
	for _, name := range tables {
		if got := answer(t, other, "SELECT count(*) FROM "+name+" x WHERE x::text LIKE '%Kugel' || 'blitz%'"); got != "0" {
			t.Errorf("%s shows the password", name)
		}
	}
	mustExec(t, s, "COMMIT")
}

// TestLoginRoles: who does not exist, may not log in, or has too many sessions, is refused.
func TestLoginRoles(t *testing.T) {
	n := newNode(t, fs.NewMem())
	t.Cleanup(func() { closeNode(t, n) })
	s := n.session(t)
	t.Cleanup(s.Close)
	mustExec(t, s, "CREATE ROLE group1")
	mustExec(t, s, "CREATE ROLE once LOGIN CONNECTION LIMIT 1")
	mustExec(t, s, "CREATE ROLE away LOGIN")
	mustExec(t, s, "REVOKE CONNECT ON DATABASE defaultdb FROM public")
	mustExec(t, s, "GRANT CONNECT ON DATABASE defaultdb TO once")
	as(t, n, "once")
	for user, want := range map[string]pgerr.Code{
		"nobody": "28000", "group1": "28000", "postgres": "28000", "pg_monitor": "28000", "once": "53300", "away": "42501",
	} {
		_, err := n.sql.NewSession(context.Background(), sql.SessionArgs{User: user, Database: "defaultdb"})
		if pgerr.CodeOf(err) != want {
			t.Errorf("%s: %v, want %s", user, err, want)
		}
	}
}
