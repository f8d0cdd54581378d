package cli

import (
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/config"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/security"
	"github.com/lichendb/lichen/internal/server"
)

// startNodes starts a cluster in memory, with certificates unless dir is empty.
func startNodes(t *testing.T, count int, dir string) []*server.Node {
	t.Helper()
	var nodes []*server.Node
	for i := range count {
		cfg := config.Default()
		cfg.Stores, cfg.Insecure, cfg.CertsDir, cfg.Drain = config.Dirs("store"), dir == "", dir, 0
		cfg.ListenAddr, cfg.HTTPAddr, cfg.CacheBytes = "localhost:0", "localhost:0", 8<<20
		for _, n := range nodes {
			cfg.Join = append(cfg.Join, n.AdvertisedAddr())
		}
		n, err := server.New(cfg, server.Options{FS: fs.NewMem(), Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			if err := n.Init(); err != nil {
				t.Fatal(err)
			}
		}
		if err := n.Start(context.Background()); err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, n)
	}
	t.Cleanup(func() {
		for _, n := range nodes {
			// What is in memory is not needed again; the last ones would look in vain
			// for others.
			go func() { _ = n.Stop(context.Background()) }()
		}
	})
	return nodes
}

// TestSecureCluster operates nodes that speak TLS with one another and with clients.
func TestSecureCluster(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	dir := t.TempDir()
	c := security.Creator{Dir: dir, CAKey: filepath.Join(dir, "ca.key")}
	for _, err := range []error{c.CA(), c.Node([]string{"localhost"}), c.Client("root"), c.Client("max")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	nodes := startNodes(t, 3, dir)
	at := func(i int) string { return "--host=" + nodes[i-1].AdvertisedAddr() }
	certs := "--certs-dir=" + dir

	for _, x := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"sql", certs, at(3), "--format=csv", "-e", `create table if not exists t (a int primary key);
insert into t values (1), (2) on conflict do nothing; select 'rows: ' || count(*) from t`}, 0, "\nrows: 2\n"},
		{[]string{"node", "ls", certs, at(2), "--format=csv"}, 0, "id\n1\n2\n3\n"},
		{[]string{"node", "ls", "--insecure", at(2)}, 1, "it runs with certificates: give --certs-dir"},
		{[]string{"sql", "--insecure", at(2), "-e", "select 1"}, 1, "unencrypted connections are refused"},
		{[]string{"sql", certs, "--user=max", at(2), "-e", "select 1"}, 1, `role "max" does not exist`},
		{[]string{"init", certs, at(2)}, 1, "has been initialized already"},
		{[]string{"node", "drain", "3", certs, at(1)}, 0, "drain ok"},
		{[]string{"node", "status", "3", certs, at(3), "--format=csv"}, 0, ",false,true,"},
		{[]string{"gen", "haproxy", certs, at(1), "--out=-"}, 0, "check check-ssl verify none addr localhost port "},
	} {
		var code int
		var out, errOut string
		if !comesTrue(func() bool {
			code, out, errOut = runMain(x.args...)
			return code == x.code && strings.Contains(out+errOut, x.want)
		}) {
			t.Errorf("%q: %d, %q, %q, want %q", x.args, code, out, errOut, x.want)
		}
	}
	for i, want := range map[int]int{1: http.StatusOK, 3: http.StatusServiceUnavailable} {
		var got int
		if !comesTrue(func() bool { got = ready(t, dir, nodes[i-1]); return got == want }) {
			t.Errorf("node %d: /health?ready=1 answers %d, want %d", i, got, want)
		}
	}
	for _, n := range nodes {
		if err := n.ReloadCerts(); err != nil {
			t.Error(err)
		}
	}
}

// comesTrue waits for what several nodes answer in real time: on a machine that is too
// busy they may lose one another for a while.
func comesTrue(f func() bool) bool {
	for begun := time.Now(); !f(); {
		if time.Since(begun) > 5*time.Minute {
			return false
		}
	}
	return true
}

func ready(t *testing.T, dir string, n *server.Node) int {
	t.Helper()
	tlsConfig, err := security.ClientTLS(dir, security.RootName)
	if err != nil {
		t.Fatal(err)
	}
	tlsConfig.Certificates = nil
	tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: tlsConfig.RootCAs, MinVersion: tls.VersionTLS12}}
	defer tr.CloseIdleConnections()
	resp, err := (&http.Client{Transport: tr}).Get("https://" + n.AdvertisedHTTPAddr() + "/health?ready=1")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}
