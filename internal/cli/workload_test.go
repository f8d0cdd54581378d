package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/cli"
	"github.com/lichendb/lichen/internal/config"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/obs"
	"github.com/lichendb/lichen/internal/server"
)

// node starts a node in memory and returns its URL.
func node(t *testing.T) string {
	t.Helper()
	cfg := config.Default()
	cfg.Stores, cfg.Insecure, cfg.SingleNode, cfg.Drain = config.Dirs("store"), true, true, 0
	cfg.ListenAddr, cfg.HTTPAddr, cfg.CacheBytes = "127.0.0.1:0", "127.0.0.1:0", 16<<20
	n, err := server.New(cfg, server.Options{FS: fs.NewMem(), Logger: obs.NewLogger(io.Discard)})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Stop(context.Background()) }) // clients are gone or cut off
	return fmt.Sprintf("postgresql://root@%s/defaultdb?sslmode=disable", n.Addr())
}

// call runs the program and returns its exit code and what it printed.
func call(args ...string) (code int, out, errOut string) {
	var o, e bytes.Buffer
	code = cli.Main(args, strings.NewReader(""), &o, &e)
	return code, o.String(), e.String()
}

// want runs the program, which must succeed.
func want(t *testing.T, args ...string) string {
	t.Helper()
	code, out, errOut := call(args...)
	if code != 0 {
		t.Fatalf("%v: exit code %d\n%s", args, code, errOut)
	}
	return out
}

// count returns how many operations of a report returned a status.
func count(t *testing.T, report, op, status string) (n int) {
	t.Helper()
	m := regexp.MustCompile(`(?m)^\[` + op + `\], Return=` + status + `, (\d+)$`).FindStringSubmatch(report)
	if m == nil {
		return 0
	}
	if _, err := fmt.Sscan(m[1], &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// The names that other programs give to properties work too, and a duration bounds a run by itself.
func TestYCSBNames(t *testing.T) {
	url := node(t)
	want(t, "workload", "init", "ycsb", "--insert-count=50", "--display-every=0", url)
	run := []string{"workload", "run", "ycsb", "--record-count=50", "--concurrency=2", "--max-rate=100000", "--display-every=0", "--workload=C", url}
	if n := count(t, want(t, append(run, "--duration=100ms")...), "READ", "OK"); n == 0 {
		t.Error("a run of 100 ms has read nothing")
	}
	if n := count(t, want(t, append(run, "--duration=1m", "--max-ops=7")...), "READ", "OK"); n != 7 {
		t.Errorf("%d operations, not 7", n)
	}
}

func TestYCSB(t *testing.T) {
	url := node(t)
	common := []string{"--recordcount=300", "--threads=4", "--display-every=0", "-p", "fieldlength=20", "-p", "dataintegrity=true", url}
	ycsb := func(phase string, args ...string) string {
		return want(t, append(append([]string{"workload", phase, "ycsb"}, args...), common...)...)
	}
	rows := func() string {
		return strings.Fields(want(t, "sql", "--url", url, "--format=tsv", "-e", "select count(*), count(distinct ycsb_key) from usertable"))[2]
	}
	for _, load := range [][]string{{}, {"--db.batchsize=7"}, {"--data-loader=copy"}} {
		report := ycsb("init", append(load, "--drop")...)
		if n := count(t, report, "INSERT", "(?:OK|BATCHED_OK)"); n == 0 || rows() != "300" {
			t.Errorf("%v: %s records\n%s", load, rows(), report)
		}
		if !strings.HasPrefix(report, "[OVERALL], RunTime(ms), ") || count(t, report, "CLEANUP", "OK") != 4 {
			t.Errorf("%v:\n%s", load, report)
		}
	}
	ops := map[string][]string{"A": {"READ", "UPDATE"}, "B": {"READ", "UPDATE"}, "C": {"READ"}, "D": {"READ", "INSERT"},
		"E": {"SCAN", "INSERT"}, "F": {"READ", "UPDATE", "READ-MODIFY-WRITE"}}
	for w, names := range ops {
		ycsb("init", "--drop", "--data-loader=copy")
		report := ycsb("run", "--workload="+w, "--operationcount=400")
		n := map[string]int{}
		total := 0
		for _, name := range names {
			n[name] = count(t, report, name, "OK")
			total += n[name]
		}
		total -= n["READ-MODIFY-WRITE"] * 2 // each is a read and an update, too
		if total != 400 || strings.Contains(report, "FAILED") || strings.Contains(report, "UNEXPECTED") {
			t.Errorf("workload %s: %v\n%s", w, n, report)
		}
	}
}

// TestYCSBFailures: what fails is in the report, on standard error and in the exit
// code.
func TestYCSBFailures(t *testing.T) {
	url := node(t)
	common := []string{"--recordcount=50", "--threads=2", "--display-every=0", "--fieldcount=1", url}
	want(t, append([]string{"workload", "init", "ycsb"}, common...)...)
	code, report, errOut := call(append([]string{"workload", "init", "ycsb"}, common...)...)
	if code != 1 || !strings.Contains(errOut, "duplicate key") || count(t, report, "INSERT", "ERROR") == 0 {
		t.Errorf("second load: exit code %d, %s\n%s", code, errOut, report)
	}
	want(t, "sql", "--url", url, "-e", "delete from usertable")
	code, report, errOut = call(append([]string{"workload", "run", "ycsb", "--workload=C", "--operationcount=10"}, common...)...)
	if code != 1 || count(t, report, "READ", "NOT_FOUND") != 10 || !strings.Contains(report, "[READ-FAILED], Operations, 10") {
		t.Errorf("missing records: exit code %d, %s\n%s", code, errOut, report)
	}
}

// TestYCSBFiles: properties come from several files, options and flags.
func TestYCSBFiles(t *testing.T) {
	url, dir := node(t), t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	a := file("a", "workload=site.ycsb.workloads.CoreWorkload\nrecordcount=20\noperationcount=1000\nreadproportion=1\nupdateproportion=0\n")
	b := file("b", "recordcount = 40\ndb.driver=org.postgresql.Driver\ndb.url=jdbc:"+url+"\n")
	export := filepath.Join(dir, "report")
	args := []string{"-P", a, "-P", b, "-p", "operationcount=30", "-p", "fieldcount=2", "--status.interval=0"}
	want(t, append([]string{"workload", "init", "ycsb"}, args...)...)
	code, out, errOut := call(append([]string{"workload", "run", "ycsb", "--exportfile", export}, args...)...)
	report, err := os.ReadFile(export)
	if code != 0 || out != "" || err != nil || count(t, string(report), "READ", "OK") != 30 {
		t.Errorf("exit code %d, %v, %s\n%s", code, err, errOut, report)
	}
	if !strings.Contains(errOut, "properties without effect here: db.driver") {
		t.Errorf("standard error: %s", errOut)
	}
	if got := want(t, "sql", url, "--format=tsv", "-e", "select count(*) from usertable"); got != "count\n40\n" {
		t.Errorf("records: %q", got)
	}
}
