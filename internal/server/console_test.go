package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/config"
	"github.com/lichendb/lichen/internal/security"
)

// api calls the console's API of a node as a browser does that has a cookie and a token.
type api struct {
	t             *testing.T
	n             *Node
	cookie, token string
}

// call sends a request and returns the status and the answer.
func (a *api) call(method, path, body string) (int, map[string]any, *httptest.ResponseRecorder) {
	a.t.Helper()
	r := httptest.NewRequest(method, "/api/v2/"+path, strings.NewReader(body))
	r.Host = "localhost"
	if a.cookie != "" {
		r.AddCookie(&http.Cookie{Name: "lichen_session", Value: a.cookie})
	}
	if a.token != "" {
		r.Header.Set("X-Lichen-Token", a.token)
	}
	w := httptest.NewRecorder()
	a.n.httpHandler().ServeHTTP(w, r)
	var v map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
		a.t.Errorf("%s %s: %d, no JSON: %v", method, path, w.Code, err)
	}
	return w.Code, v, w
}

// want sends a request that is answered with a status.
func (a *api) want(status int, method, path, body string) map[string]any {
	a.t.Helper()
	code, v, w := a.call(method, path, body)
	if code != status {
		a.t.Errorf("%s %s: %d, want %d: %s", method, path, code, status, w.Body)
	}
	return v
}

// open returns the API of an insecure node, as its pages call it.
func openAPI(t *testing.T, n *Node) *api {
	a := &api{t: t, n: n}
	a.token, _ = a.want(http.StatusOK, http.MethodGet, "session", "")["token"].(string)
	return a
}

// secured has a node behave as with certificates.
func secured(n *Node) (undo func()) {
	n.certs = &security.Node{}
	return func() { n.certs = nil }
}

// eachEndpoint calls fn with the endpoints of the API's description, the parameters of paths filled in.
func (a *api) eachEndpoint(fn func(method, path string, e map[string]any)) {
	fill := strings.NewReplacer("{database}", "defaultdb", "{schema}", "public", "{table}", "t", "{name}", "sql.defaults.datestyle", "{action}", "cancel")
	for path, methods := range a.want(http.StatusOK, http.MethodGet, "openapi.json", "")["paths"].(map[string]any) {
		for method, e := range methods.(map[string]any) {
			path := fill.Replace(strings.TrimPrefix(path, "/api/v2/"))
			fn(strings.ToUpper(method), strings.ReplaceAll(path, "{id}", "1"), e.(map[string]any))
		}
	}
}

// TestNothingWithoutLogin: a secure node tells who has not logged in nothing.
func TestNothingWithoutLogin(t *testing.T) {
	withNodes(t, func(t *testing.T, c *testNodes) {
		n := c.single(func(*config.Node) {})
		defer secured(n)()
		a := &api{t: t, n: n}
		found := 0
		a.eachEndpoint(func(method, path string, _ map[string]any) {
			if path == "login" || path == "openapi.json" {
				return
			}
			found++
			for _, cookie := range []string{"", "made-up"} {
				b := &api{t: t, n: n, cookie: cookie, token: "made-up"}
				if code, v, w := b.call(method, path, "{}"); code != http.StatusUnauthorized || len(v) != 2 || strings.Contains(w.Body.String(), n.ClusterID()) {
					t.Errorf("%s %s without a login: %d, %s", method, path, code, w.Body)
				}
			}
		})
		if found < 20 {
			t.Errorf("only %d endpoints", found)
		}
		a.want(http.StatusNotFound, http.MethodGet, "absent", "")
		a.want(http.StatusMethodNotAllowed, http.MethodDelete, "overview", "")
	})
}

// TestConsoleLogin: users log in by their passwords, see what they may, and the login ends with the password.
func TestConsoleLogin(t *testing.T) {
	withNodes(t, func(t *testing.T, c *testNodes) {
		n := c.single(func(*config.Node) {})
		conn := c.connect(n)
		defer conn.Close(c.ctx)
		c.exec(conn, "CREATE TABLE secret (a INT); CREATE ROLE boss LOGIN SUPERUSER PASSWORD 'b'; CREATE ROLE worker LOGIN PASSWORD 'w'; CREATE ROLE nobody PASSWORD 'n'")
		defer secured(n)()
		a := &api{t: t, n: n}
		for _, wrong := range []string{`{"username":"worker","password":"x"}`, `{"username":"nobody","password":"n"}`, `{"username":"absent","password":""}`} {
			a.want(http.StatusUnauthorized, http.MethodPost, "login", wrong)
		}
		a.want(http.StatusBadRequest, http.MethodPost, "login", `{"user":"worker"}`)
		worker := a.login("worker", "w")
		if s := worker.want(http.StatusOK, http.MethodGet, "session", ""); s["user"] != "worker" || s["superuser"] != false || s["token"] != worker.token {
			t.Errorf("the session is %v", s)
		}
		worker.want(http.StatusOK, http.MethodGet, "overview", "")
		worker.want(http.StatusForbidden, http.MethodGet, "nodes/1/log", "")
		worker.want(http.StatusForbidden, http.MethodPost, "sql", `{"statement":"SELECT * FROM secret"}`)
		worker.want(http.StatusForbidden, http.MethodPut, "settings/sql.defaults.datestyle", `{"value":"ISO, DMY"}`)
		forged := *worker
		forged.token = "made-up"
		forged.want(http.StatusForbidden, http.MethodPost, "sql", `{"statement":"SELECT 1"}`)
		boss := a.login("boss", "b")
		boss.want(http.StatusOK, http.MethodPost, "sql", `{"statement":"SELECT * FROM secret"}`)
		c.exec(conn, "ALTER ROLE worker PASSWORD 'new'")
		worker.want(http.StatusUnauthorized, http.MethodGet, "session", "")
		boss.want(http.StatusOK, http.MethodPost, "logout", "{}")
		boss.want(http.StatusUnauthorized, http.MethodGet, "session", "")
		worker = a.login("worker", "new")
		<-time.After(2 * time.Hour)
		worker.want(http.StatusUnauthorized, http.MethodGet, "session", "")
	})
}

// login logs in.
func (a *api) login(user, password string) *api {
	a.t.Helper()
	code, v, w := a.call(http.MethodPost, "login", fmt.Sprintf(`{"username":%q,"password":%q}`, user, password))
	if code != http.StatusOK {
		a.t.Fatalf("login of %s: %d, %s", user, code, w.Body)
	}
	cookies := w.Result().Cookies()
	if len(cookies) != 1 || !cookies[0].HttpOnly || !cookies[0].Secure || cookies[0].SameSite != http.SameSiteStrictMode {
		a.t.Errorf("cookies %v", cookies)
	}
	return &api{t: a.t, n: a.n, cookie: cookies[0].Value, token: v["token"].(string)}
}

// TestCSRF: what changes something needs the token, on an insecure node too.
func TestCSRF(t *testing.T) {
	withNodes(t, func(t *testing.T, c *testNodes) {
		n := c.single(func(*config.Node) {})
		a := &api{t: t, n: n}
		body := `{"statement":"SELECT 1"}`
		a.want(http.StatusForbidden, http.MethodPost, "sql", body)
		openAPI(t, n).want(http.StatusOK, http.MethodPost, "sql", body)
	})
}

// TestShellReadOnly: the shell writes where a setting says so, and no function or block writes elsewhere.
func TestShellReadOnly(t *testing.T) {
	withNodes(t, func(t *testing.T, c *testNodes) {
		n := c.single(func(*config.Node) {})
		conn := c.connect(n)
		defer conn.Close(c.ctx)
		c.exec(conn, `CREATE TABLE t (a INT PRIMARY KEY); CREATE SEQUENCE s; INSERT INTO t VALUES (1), (2);
			CREATE FUNCTION w() RETURNS int LANGUAGE plpgsql AS $$ BEGIN PERFORM set_config('transaction_read_only', 'off', true); INSERT INTO t VALUES (7); RETURN 1; END $$`)
		a := openAPI(t, n)
		shell := func(status int, statement string) map[string]any {
			t.Helper()
			b, _ := json.Marshal(map[string]string{"statement": statement})
			return a.want(status, http.MethodPost, "sql", string(b))
		}
		got := shell(http.StatusOK, "SELECT a, NULL AS n FROM t ORDER BY a;")
		if text, _ := json.Marshal(got["rows"]); string(text) != `[["1",null],["2",null]]` {
			t.Errorf("rows %s", text)
		}
		for _, s := range []string{"SHOW TABLES", "EXPLAIN SELECT 1", "SHOW RANGES FROM TABLE t", "SHOW ALL"} {
			shell(http.StatusOK, s)
		}
		for _, s := range []string{
			"INSERT INTO t VALUES (3)", "EXPLAIN ANALYZE INSERT INTO t VALUES (3)", "DO $$ BEGIN INSERT INTO t VALUES (3); END $$", "SET default_transaction_read_only = off",
			"CREATE TABLE u (a INT)", "COMMIT", "CANCEL SESSION 'x'", "CALL p()",
		} {
			shell(http.StatusForbidden, s)
		}
		for _, s := range []string{"SELECT 1; SELECT 2", "SELECT nextval('s')", "SELECT w()", "WITH x AS (INSERT INTO t VALUES (4) RETURNING a) SELECT * FROM x", "SELECT * INTO u FROM t", "SELEC"} {
			shell(http.StatusBadRequest, s)
		}
		if rows := c.query(conn, "SELECT count(*) FROM t"); rows != 2 {
			t.Errorf("the shell has written: %d rows", rows)
		}
		counted, _ := json.Marshal(a.want(http.StatusOK, http.MethodGet, "statements", ""))
		if !strings.Contains(string(counted), "SELECT a, NULL AS n FROM t ORDER BY a") || strings.Contains(string(counted), "cluster_statement_statistics") {
			t.Errorf("what the shell runs is to be counted, and what pages ask is not: %s", counted)
		}
		a.want(http.StatusOK, http.MethodPut, "settings/server.console.sql_writes.enabled", `{"value":"true"}`)
		shell(http.StatusOK, "INSERT INTO t VALUES (3); SELECT * FROM t")
		if rows := c.query(conn, "SELECT count(*) FROM t"); rows != 3 {
			t.Errorf("the shell has not written: %d rows", rows)
		}
	})
}

// TestAnswersAsDescribed: the answers of all endpoints that read are as the description says.
func TestAnswersAsDescribed(t *testing.T) {
	withNodes(t, func(t *testing.T, c *testNodes) {
		first, _, _ := c.three()
		conn := c.connect(first)
		defer conn.Close(c.ctx)
		c.exec(conn, "CREATE TABLE t (a INT PRIMARY KEY, b TEXT DEFAULT 'x'); INSERT INTO t VALUES (1)")
		<-time.After(30 * time.Second) // metrics come together
		a := openAPI(t, first)
		a.n.logDir = ""
		schemas := a.want(http.StatusOK, http.MethodGet, "openapi.json", "")["components"].(map[string]any)["schemas"].(map[string]any)
		a.eachEndpoint(func(method, path string, e map[string]any) {
			if method != http.MethodGet || path == "nodes/1/log" || path == "statement-diagnostics/1" {
				return
			}
			if path == "metrics" {
				path += "?names=lichen_sql_statements_total,lichen_go_heap_bytes"
			}
			answer := a.want(http.StatusOK, method, path, "")
			schema := e["responses"].(map[string]any)["200"].(map[string]any)["content"].(map[string]any)["application/json"].(map[string]any)["schema"]
			for _, wrong := range violations(path, answer, schema.(map[string]any), schemas) {
				t.Error(wrong)
			}
		})
	})
}

// violations tells where a value is not as a schema says.
func violations(at string, v any, schema, schemas map[string]any) (out []string) {
	if ref, ok := schema["$ref"].(string); ok {
		return violations(at, v, schemas[ref[strings.LastIndex(ref, "/")+1:]].(map[string]any), schemas)
	}
	if either, ok := schema["anyOf"].([]any); ok {
		if v == nil {
			return nil
		}
		return violations(at, v, either[0].(map[string]any), schemas)
	}
	kinds := map[string]bool{}
	switch v := v.(type) {
	case string:
		kinds["string"] = true
	case bool:
		kinds["boolean"] = true
	case float64:
		kinds["number"], kinds["integer"] = true, v == float64(int64(v))
	case []any:
		kinds["array"] = true
		for i := range v {
			out = append(out, violations(fmt.Sprintf("%s[%d]", at, i), v[i], schema["items"].(map[string]any), schemas)...)
		}
	case map[string]any:
		kinds["object"] = true
		props, closed := schema["properties"].(map[string]any)
		for name := range v {
			if p, ok := props[name]; ok {
				out = append(out, violations(at+"."+name, v[name], p.(map[string]any), schemas)...)
			} else if closed {
				out = append(out, at+" has "+name+", which is not described")
			}
		}
		for _, name := range asList(schema["required"]) {
			if _, ok := v[name.(string)]; !ok {
				out = append(out, fmt.Sprintf("%s lacks %s", at, name))
			}
		}
	}
	if !kinds[schema["type"].(string)] {
		out = append(out, fmt.Sprintf("%s is %v, not %s", at, v, schema["type"]))
	}
	return out
}

func asList(v any) []any {
	list, _ := v.([]any)
	return list
}

// TestConsoleSeesTheCluster: what happens in a cluster is in the API of every node: load, a node that dies, events.
func TestConsoleSeesTheCluster(t *testing.T) {
	withNodes(t, func(t *testing.T, c *testNodes) {
		first, second, third := c.three()
		conn := c.connect(second)
		defer conn.Close(c.ctx)
		c.exec(conn, "CREATE TABLE t (a INT PRIMARY KEY)")
		<-time.After(11 * time.Second) // the first metrics are there
		for i := range 50 {
			c.exec(conn, fmt.Sprintf("INSERT INTO t VALUES (%d)", i))
		}
		<-time.After(10 * time.Second)
		a := openAPI(t, first)
		o := a.want(http.StatusOK, http.MethodGet, "overview", "")
		if n := o["totals"].(map[string]any)["statements"].(float64); n < 4 || n > 6 {
			t.Errorf("%v statements per second, want 5", n)
		}
		if p := o["problems"].([]any); len(p) != 0 {
			t.Errorf("problems %v", p)
		}
		var text []byte
		text, _ = json.Marshal(a.want(http.StatusOK, http.MethodGet, "statements", ""))
		if !strings.Contains(string(text), `"calls":50,"contention":0,"database":"defaultdb"`) || !strings.Contains(string(text), "INSERT INTO t VALUES (_)") {
			t.Errorf("statements %s", text)
		}
		c.exec(conn, "ANALYZE t")
		if d := openAPI(t, second).want(http.StatusOK, http.MethodGet, "databases/defaultdb/tables/public/t", ""); d["analyzed"].(float64) == 0 ||
			!strings.Contains(fmt.Sprint(d["statistics"]), "column:a common: distinct:-1 ") {
			t.Errorf("analysed %v: %v", d["analyzed"], d["statistics"])
		}
		id := fmt.Sprint(second.NodeID())
		if d := a.want(http.StatusOK, http.MethodGet, "nodes/"+id, ""); !strings.Contains(fmt.Sprint(d["configuration"]), "name:max-offset value:") {
			t.Errorf("configuration %v", d["configuration"])
		}
		all, there := a.want(http.StatusOK, http.MethodGet, "ranges", "")["ranges"].([]any), a.want(http.StatusOK, http.MethodGet, "ranges?node="+id, "")["ranges"].([]any)
		if none := a.want(http.StatusOK, http.MethodGet, "ranges?node=99", "")["ranges"].([]any); len(there) == 0 || len(there) > len(all) || len(none) > 0 {
			t.Errorf("%d ranges, %d on a node, %d on none", len(all), len(there), len(none))
		}
		gone := fmt.Sprint(third.NodeID())
		c.stop(third)
		c.until("a problem", func() (bool, string) {
			text, _ = json.Marshal(a.want(http.StatusOK, http.MethodGet, "overview", "")["problems"])
			return strings.Contains(string(text), "Node "+gone+" is dead"), string(text)
		})
		c.until("events", func() (bool, string) {
			text, _ = json.Marshal(a.want(http.StatusOK, http.MethodGet, "events", ""))
			return strings.Contains(string(text), "node "+gone+" does not answer") && strings.Contains(string(text), "CREATE TABLE t"), string(text)
		})
		m := a.want(http.StatusOK, http.MethodGet, "metrics?names=lichen_sql_statements_total", "")
		if text, _ = json.Marshal(m["missing"]); string(text) != "["+gone+"]" || len(m["series"].([]any)) != 2 {
			t.Errorf("missing %s, %d series", text, len(m["series"].([]any)))
		}
	})
}

// TestConsoleCancels: a statement is cancelled, and a session ended, from another node's console.
func TestConsoleCancels(t *testing.T) {
	withNodes(t, func(t *testing.T, c *testNodes) {
		first, second, _ := c.three()
		conn := c.connect(second)
		defer conn.Close(c.ctx)
		a := openAPI(t, first)
		session := func() map[string]any {
			for _, s := range a.want(http.StatusOK, http.MethodGet, "sessions", "")["sessions"].([]any) {
				if s := s.(map[string]any); s["node"] == float64(second.NodeID()) {
					return s
				}
			}
			return nil
		}
		ended := make(chan error, 1)
		go func() {
			_, err := conn.Exec(c.ctx, "SELECT pg_sleep(3600)")
			ended <- err
		}()
		c.until("a running statement", func() (bool, string) {
			s := session()
			return s != nil && s["queryId"] != "" && strings.Contains(s["query"].(string), "pg_sleep"), fmt.Sprint(s)
		})
		a.want(http.StatusOK, http.MethodPost, "queries/"+session()["queryId"].(string)+"/cancel", "{}")
		if err := <-ended; err == nil || !strings.Contains(err.Error(), "57014") {
			t.Errorf("the statement ended with %v", err)
		}
		a.want(http.StatusOK, http.MethodPost, "sessions/"+session()["id"].(string)+"/cancel", "{}")
		if _, err := conn.Exec(c.ctx, "SELECT 1"); err == nil {
			t.Error("the session goes on")
		}
		a.want(http.StatusBadRequest, http.MethodPost, "sessions/made-up/cancel", "{}")
	})
}

// TestDashboards: the metrics of all graphs are there.
func TestDashboards(t *testing.T) {
	withNodes(t, func(t *testing.T, c *testNodes) {
		n := c.single(func(*config.Node) {})
		<-time.After(11 * time.Second)
		values := n.sampler.last().Values
		vars := answer(n.httpHandler(), http.MethodGet, "/_status/vars", nil).Body.String()
		for _, d := range openAPI(t, n).want(http.StatusOK, http.MethodGet, "dashboards", "")["dashboards"].([]any) {
			for _, g := range d.(map[string]any)["graphs"].([]any) {
				for _, curve := range g.(map[string]any)["curves"].([]any) {
					name := curve.(map[string]any)["metric"].(string)
					if _, ok := values[name]; !ok || !strings.Contains(vars, "\n"+name) {
						t.Errorf("%s is kept: %v, for Prometheus: %v", name, ok, strings.Contains(vars, "\n"+name))
					}
				}
			}
		}
	})
}
