package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/lichendb/lichen/internal/config"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/security"
	"github.com/lichendb/lichen/internal/server"
	"github.com/spf13/pflag"
)

// secureServer starts a node in memory with the certificates of dir, and returns its
// port.
func secureServer(t *testing.T, dir string) string {
	t.Helper()
	cfg := config.Default()
	cfg.Stores, cfg.SingleNode, cfg.CertsDir, cfg.Drain = config.Dirs("store"), true, dir, 0
	cfg.ListenAddr, cfg.HTTPAddr, cfg.CacheBytes = "localhost:0", "localhost:0", 8<<20
	n, err := server.New(cfg, server.Options{FS: fs.NewMem(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Stop(context.Background()) }) // what is in memory is not needed again
	return portOf(n.Addr().String())
}

// runMain runs a command and returns what it said.
func runMain(args ...string) (code int, out, errOut string) {
	var o, e bytes.Buffer
	code = Main(args, strings.NewReader(""), &o, &e)
	return code, o.String(), e.String()
}

func TestSecureClients(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv(urlVar, "")
	dir, other := t.TempDir(), t.TempDir()
	key := filepath.Join(dir, "ca.key")
	for _, args := range [][]string{
		{"create-ca"}, {"create-node", "localhost"}, {"create-client", "root"},
	} {
		if code, _, errOut := runMain(append([]string{"cert"}, append(args, "--certs-dir="+dir, "--ca-key="+key)...)...); code != 0 {
			t.Fatal(errOut)
		}
	}
	foreign := security.Creator{Dir: other, CAKey: filepath.Join(other, "ca.key")}
	if err := foreign.CA(); err != nil {
		t.Fatal(err)
	}
	if err := foreign.Client("root"); err != nil {
		t.Fatal(err)
	}
	port := secureServer(t, dir)
	sql := func(args ...string) (int, string, string) {
		return runMain(append([]string{"sql", "--format=csv", "-e", "select 42 as n"}, args...)...)
	}
	plain := "postgresql://root@localhost:" + port + "/defaultdb?sslmode=disable"
	for _, args := range [][]string{
		{"--certs-dir=" + dir, "--host=localhost:" + port},
		{"--certs-dir=" + dir, "--port=" + port, "--user=root"},
		{"--certs-dir=" + dir, "--url=" + plain},
		{"--certs-dir=" + dir, "--url=host=localhost user=root dbname=defaultdb port=" + port},
	} {
		if code, out, errOut := sql(args...); code != 0 || out != "n\n42\n" {
			t.Errorf("%q: %d, %q, %q", args, code, out, errOut)
		}
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--url=" + plain}, "unencrypted connections are refused"},
		{[]string{"--url=" + plain}, "lichen's commands find it in --certs-dir"},
		{[]string{"--insecure", "--host=localhost:" + port}, "unencrypted connections are refused"},
		{[]string{"--certs-dir=" + dir, "--host=127.0.0.1:" + port}, "the server's certificate is not for 127.0.0.1 but for localhost"},
		{[]string{"--certs-dir=" + other, "--host=localhost:" + port}, "was not signed by a CA that this side trusts: use ca.crt"},
		{[]string{"--url=postgresql://root@localhost:" + port + "/defaultdb?sslmode=require"}, "password authentication failed for user \"root\""},
	} {
		if code, _, errOut := sql(c.args...); code == 0 || !strings.Contains(errOut, c.want) {
			t.Errorf("%q: %d, %q, want %q", c.args, code, errOut, c.want)
		}
	}
	// The default directory serves when nobody names a server or a directory.
	code, _, errOut := runMain("sql", "-e", "select 1", "--port="+port)
	if code == 0 || !strings.Contains(errOut, "unencrypted") {
		t.Errorf("without certificates: %d, %q", code, errOut)
	}
	t.Setenv("HOME", filepath.Dir(linkDefault(t, dir)))
	if code, out, errOut := sql("--port=" + port); code != 0 || out != "n\n42\n" {
		t.Errorf("default directory: %d, %q, %q", code, out, errOut)
	}
}

// linkDefault copies certificates to the default directory of a new home.
func linkDefault(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), ".lichen-certs")
	disk := fs.Disk()
	if err := disk.MkdirAll(to, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{security.CACert, security.ClientCert("root"), security.ClientKey("root")} {
		if err := disk.Link(filepath.Join(dir, name), filepath.Join(to, name)); err != nil {
			t.Fatal(err)
		}
	}
	return to
}

func TestWithParams(t *testing.T) {
	for _, c := range []struct{ base, want string }{
		{"postgresql://a@h/d", "postgresql://a@h/d?k=it%27s+%5C"},
		{"postgres://a@h/d?k=old&z=1", "postgres://a@h/d?k=it%27s+%5C&z=1"},
		{"host=h user=a", `host=h user=a k='it\'s \\'`},
		{"", `k='it\'s \\'`},
	} {
		if got := withParams(c.base, param{"k", `it's \`}); got != c.want {
			t.Errorf("%q: %q", c.base, got)
		}
	}
}

// TestWorkloadHost checks that a workload takes the flags that a node prints as it starts.
func TestWorkloadHost(t *testing.T) {
	for _, c := range []struct{ base, host, want string }{
		{defaultURL, "there:1234", "there:1234/defaultdb"},
		{defaultURL, "there", "there:26257/defaultdb"},
		{"postgresql://root@h:1/d", "[::1]:5", "::1:5/d"},
		{"host=h port=1 dbname=d user=root", "there:5", "there:5/d"},
	} {
		var f clientSecurity
		fl := pflag.NewFlagSet("test", pflag.ContinueOnError)
		f.add(fl)
		f.addHost(fl)
		if err := fl.Parse([]string{"--insecure", "--host=" + c.host}); err != nil {
			t.Fatal(err)
		}
		target, err := f.target(c.base, false, "")
		if err != nil {
			t.Fatal(err)
		}
		cfg, err := pgconn.ParseConfig(target)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%s:%d/%s", cfg.Host, cfg.Port, cfg.Database); got != c.want || cfg.TLSConfig != nil {
			t.Errorf("%s at %s: %s", c.base, c.host, got)
		}
	}
}

// TestWorkloadSecurity checks that a workload's URL gets the certificates.
func TestWorkloadSecurity(t *testing.T) {
	dir := t.TempDir()
	c := security.Creator{Dir: dir, CAKey: filepath.Join(dir, "ca.key")}
	if err := c.CA(); err != nil {
		t.Fatal(err)
	}
	if err := c.Client("root"); err != nil {
		t.Fatal(err)
	}
	var f clientSecurity
	fl := pflag.NewFlagSet("test", pflag.ContinueOnError)
	fl.SetOutput(io.Discard)
	f.add(fl)
	if err := fl.Parse([]string{"--certs-dir=" + dir}); err != nil {
		t.Fatal(err)
	}
	got, err := f.target(defaultURL, false, "")
	if err != nil || !strings.Contains(got, "sslmode=verify-full") || !strings.Contains(got, "client.root.key") {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := f.target(defaultURL, false, "max"); err == nil || !strings.Contains(err.Error(), "create-client max") {
		t.Errorf("other user: %v", err)
	}
}
