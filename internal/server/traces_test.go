package server

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/config"
	otlptrace "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

// bundleTrace returns the trace in the last bundle of a node.
func bundleTrace(t *testing.T, n *Node) string {
	t.Helper()
	list := n.SQL.Server().Diagnostics()
	if len(list) == 0 {
		t.Fatal("there is no bundle")
	}
	z, err := zip.NewReader(bytes.NewReader(list[0].Zip), int64(len(list[0].Zip)))
	if err != nil {
		t.Fatal(err)
	}
	f, err := z.Open("trace.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestTracesAcrossNodes: a bundle has what other nodes did, requests to ranges as well as parts of queries, and the rows that those
// have read count.
func TestTracesAcrossNodes(t *testing.T) {
	withNodes(t, func(t *testing.T, c *testNodes) {
		_, second, _, one := c.spreadTable()
		c.exec(one, "EXPLAIN (ANALYZE, DEBUG) SELECT count(*), sum(v) FROM t")
		text := bundleTrace(t, second)
		for _, want := range []string{"call Fragment", "fragment, entries: ", "n1 ", "n2 ", "n3 ", "      plan"} {
			if !strings.Contains(text, want) {
				t.Errorf("there is no %q in\n%s", want, text)
			}
		}
		c.exec(one, "SET distsql = off")
		c.exec(one, "EXPLAIN (ANALYZE, DEBUG) UPDATE t SET v = v + 1 WHERE k < 100")
		text = bundleTrace(t, second)
		for _, want := range []string{"call KV", "serve, scan of range", "serve, lock", "replicate", "commit"} {
			if !strings.Contains(text, want) {
				t.Errorf("there is no %q in\n%s", want, text)
			}
		}
		c.exec(one, "SET distsql = always")
		c.query(one, "SELECT sum(v * 3)::INT FROM t")
		if n := c.query(one, "SELECT rows_read::INT FROM lichen_internal.node_statement_statistics WHERE query LIKE 'SELECT sum(v * _)%'"); n != 100 {
			t.Errorf("%d rows were read", n)
		}
	})
}

// TestSlowTraced: once a statement was slow, the next one like it is traced; how long statements have waited for others on another
// node is summed by fingerprint.
func TestSlowTraced(t *testing.T) {
	withNodes(t, func(t *testing.T, c *testNodes) {
		first, second, third := c.three()
		holder, waiter := c.connect(second), c.connect(third)
		c.exec(holder, "CREATE TABLE accounts (a INT PRIMARY KEY, b INT); INSERT INTO accounts VALUES (1, 0)")
		for range 2 {
			c.exec(holder, "BEGIN")
			c.exec(holder, "UPDATE accounts SET b = 7 WHERE a = 1")
			done := make(chan struct{})
			go func() {
				defer close(done)
				c.exec(waiter, "UPDATE accounts SET b = 8 WHERE a = 1")
			}()
			<-time.After(1500 * time.Millisecond)
			c.exec(holder, "COMMIT")
			<-done
		}
		type answer struct {
			Statements []struct {
				Query, Trace string
				Contention   float64
			}
		}
		ask := func(path string) (a answer) {
			raw, err := json.Marshal(openAPI(t, first).want(http.StatusOK, http.MethodGet, path, ""))
			if err == nil {
				err = json.Unmarshal(raw, &a)
			}
			if err != nil {
				t.Fatal(err)
			}
			return a
		}
		slow := ask("slow-statements").Statements
		if len(slow) != 2 || slow[1].Trace != "" || slow[0].Contention < 1.2 || !strings.Contains(slow[0].Trace, "wait for a lock /Table/") {
			t.Errorf("%+v", slow)
		}
		for _, s := range ask("statements").Statements {
			if waited := s.Contention > 2.4; waited != (s.Query == "UPDATE accounts SET b = _ WHERE a = _") {
				t.Errorf("%s has waited %v s", s.Query, s.Contention)
			}
		}
	})
}

// TestTracesExported: statements are sent to a collector while a setting says so, without constants.
func TestTracesExported(t *testing.T) {
	var got []*otlptrace.ExportTraceServiceRequest // no two at a time
	fake := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		req := &otlptrace.ExportTraceServiceRequest{}
		if err == nil {
			err = proto.Unmarshal(body, req)
		}
		if err != nil {
			t.Error(err)
		}
		got = append(got, req)
	}))
	defer fake.Close()
	withNodes(t, func(t *testing.T, c *testNodes) {
		n := c.single(func(*config.Node) {})
		conn := c.connect(n)
		for _, q := range []string{
			"CREATE TABLE t (a INT PRIMARY KEY, b TEXT)", "SET CLUSTER SETTING server.traces.otlp.sample_rate = 1",
			"SET CLUSTER SETTING server.traces.otlp.endpoint = '" + fake.URL + "/v1/traces'",
			"INSERT INTO t VALUES (424242, 'very secret')", "SELECT * FROM t WHERE a = 424242", "RESET CLUSTER SETTING server.traces.otlp.sample_rate",
		} {
			c.exec(conn, q)
		}
		n.traces.Close()
		text := ""
		for _, r := range got {
			text += r.String()
		}
		for _, want := range []string{"INSERT INTO t VALUES (_, ...)", "SELECT * FROM t WHERE a = _", "replicate", "service.instance.id"} {
			if !strings.Contains(text, want) {
				t.Errorf("there is no %q in\n%s", want, text)
			}
		}
		if strings.Contains(text, "secret") || strings.Contains(text, "424242") {
			t.Errorf("constants are sent: %s", text)
		}
	})
}

// TestHeaders reads the headers of a collector as OpenTelemetry writes them.
func TestHeaders(t *testing.T) {
	got := parseHeaders("authorization=Bearer%20x%3D1, x-tenant = lichen ,,nothing, =empty")
	if want := map[string]string{"authorization": "Bearer x=1", "x-tenant": "lichen"}; !reflect.DeepEqual(got, want) {
		t.Errorf("%q", got)
	}
}
