package cli

import (
	"archive/zip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/security"
	"github.com/lichendb/lichen/internal/server"
)

// wants runs commands against a node and checks what they print.
func wants(t *testing.T, n *server.Node, flags []string, commands map[string]string) {
	t.Helper()
	for command, want := range commands {
		args := append(append(strings.Split(command, " "), "--http-host="+n.HTTPAddr().String()), flags...)
		code, out, errOut := runMain(args...)
		if !strings.Contains(out+errOut, want) || strings.HasPrefix(want, "HINT") != (code != 0) {
			t.Errorf("lichen %s: exit code %d, no %q in\n%s%s", command, code, want, out, errOut)
		}
	}
}

// TestAPICommands: commands show what the console shows, by its API.
func TestAPICommands(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	n := startNodes(t, 1, "")[0]
	run := func(statement string) {
		t.Helper()
		if code, out, errOut := runMain("sql", "--url=postgresql://root@"+n.Addr().String()+"/defaultdb?sslmode=disable", "-e", statement); code != 0 {
			t.Fatal(statement, out, errOut)
		}
	}
	run("CREATE TABLE t (a INT PRIMARY KEY); INSERT INTO t VALUES (1), (2)")
	run("EXPLAIN (ANALYZE, DEBUG) SELECT * FROM t WHERE a = 1")
	run("SELECT * FROM t WHERE a = 2")
	wants(t, n, []string{"--insecure"}, map[string]string{
		"overview":                  " 1    | live",
		"range ls --limit=3":        "start_key",
		"range ls --search=nowhere": "(0 rows)",
		"job ls --format=csv":       "job,type,status",
		"event ls":                  "CREATE TABLE t",
		"statement ls":              "SELECT * FROM t WHERE a = _",
		"statement slow":            "(0 rows)",
		"statement bundles":         "SELECT * FROM t WHERE a = 1",
		"api session":               `"insecure":true`,
		"api sql --method=POST --body={\"statement\":\"SELECT/**/1\"}": `"columns"`,
	})
	wants(t, n, nil, map[string]string{"overview": "live"})
	for args, want := range map[string]string{
		"job cancel x --insecure":          "id must be a number",
		"job pause --insecure":             "it takes 1 arguments",
		"range ls --limit=0 --insecure":    "limit must be a number from 1",
		"api //elsewhere --insecure":       "name what follows /api/v2/",
		"overview --insecure --user=clerk": "goes with neither",
		"api nothing --insecure":           "the API has no /api/v2/nothing",
	} {
		code, out, errOut := runMain(append(strings.Split(args, " "), "--http-host="+n.HTTPAddr().String())...)
		if code == 0 || !strings.Contains(errOut, want) {
			t.Errorf("lichen %s: exit code %d, no %q in\n%s%s", args, code, want, out, errOut)
		}
	}
	_, out, _ := runMain("statement", "bundles", "--format=csv", "--insecure", "--http-host="+n.HTTPAddr().String())
	id, _, _ := strings.Cut(strings.Split(out, "\n")[1], ",")
	file := filepath.Join(t.TempDir(), "bundle.zip")
	wants(t, n, []string{"--insecure"}, map[string]string{"statement bundle " + id + " " + file: "bytes"})
	z, err := zip.OpenReader(file)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != bundleMode || len(z.File) < 5 {
		t.Errorf("%d files, %v, %v", len(z.File), info.Mode(), err)
	}
}

// TestAPISecure: with certificates root shows its own, others log in with a password and see what their privileges let them.
func TestAPISecure(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	dir := t.TempDir()
	c := security.Creator{Dir: dir, CAKey: filepath.Join(dir, "ca.key")}
	for _, err := range []error{c.CA(), c.Node([]string{"localhost", "127.0.0.1"}), c.Client("root")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	n := startNodes(t, 1, dir)[0]
	certs := "--certs-dir=" + dir
	code, out, errOut := runMain("sql", certs, "--host="+n.AdvertisedAddr(), "-e", "CREATE ROLE clerk LOGIN PASSWORD 'battery staple'; CREATE TABLE secret (a INT PRIMARY KEY)")
	if code != 0 {
		t.Fatal(out, errOut)
	}
	wants(t, n, []string{certs}, map[string]string{"overview": "live", "statement ls": "CREATE TABLE secret", "api session": `"user":"root"`})
	t.Setenv(passwordVar, "battery staple")
	wants(t, n, []string{certs, "--user=clerk"}, map[string]string{"api session": `"user":"clerk"`, "statement ls": "(0 rows)", "overview": "live"})
	for _, x := range []struct {
		flags []string
		want  string
	}{
		{[]string{certs, "--user=nobody"}, "authentication failed"},
		{[]string{"--insecure"}, "HTTPS"},
		{[]string{"--certs-dir=" + t.TempDir()}, "ca.crt"},
	} {
		code, out, errOut := runMain(append([]string{"overview", "--http-host=" + n.HTTPAddr().String()}, x.flags...)...)
		if code == 0 || !strings.Contains(errOut, x.want) {
			t.Errorf("%q: exit code %d, no %q in\n%s%s", x.flags, code, x.want, out, errOut)
		}
	}
}
