package security

import (
	"crypto/rsa"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/fs"
)

// cluster is a directory of certificates in memory, made by a CA of its own.
type cluster struct {
	t  testing.TB
	fs fs.FS
	Creator
}

func newCluster(t testing.TB, dir string) *cluster {
	t.Helper()
	mem := fs.NewMem()
	c := &cluster{t: t, fs: mem, Creator: Creator{FS: mem, Dir: dir, CAKey: "safe/ca.key"}}
	c.must(c.CA())
	return c
}

func (c *cluster) must(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// node makes a node's certificate for localhost and loads it.
func (c *cluster) node() *Node {
	c.t.Helper()
	over := c.Creator
	over.Overwrite = true
	c.must(over.Node([]string{"localhost", "127.0.0.1"}))
	n, err := LoadNodeFS(c.fs, c.Dir)
	c.must(err)
	return n
}

// copyFile copies a file of another cluster over that of this one.
func (c *cluster) copyFile(from *cluster, src, dst string) {
	c.t.Helper()
	b, err := readFile(from.fs, from.Dir+"/"+src, false)
	c.must(err)
	c.must(install(c.fs, newFile{c.Dir + "/" + dst, b, certMode}))
}

// wants fails unless err contains all the parts.
func wants(t testing.TB, what string, err error, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if err == nil || !strings.Contains(err.Error(), p) {
			t.Errorf("%s: error %v, want %q in it", what, err, p)
			return
		}
	}
}

func TestCreateAndLoad(t *testing.T) {
	for _, bits := range []int{0, 2048} {
		c := newCluster(t, "certs")
		c.RSABits, c.PKCS8 = bits, true
		c.must(c.Node([]string{"localhost", "db.example.com", "*.db.example.com", "::1", "10.0.0.1"}))
		c.must(c.Client("root"))
		n, err := LoadNodeFS(c.fs, "certs")
		c.must(err)
		if !n.Covers("x.db.example.com") || !n.Covers("10.0.0.1") || n.Covers("10.0.0.2") {
			t.Error("the certificate does not cover its hosts, or covers others")
		}
		if got := strings.Join(n.Hosts(), " "); got != "localhost db.example.com *.db.example.com ::1 10.0.0.1" {
			t.Errorf("hosts %s", got)
		}
		if d := time.Until(n.Expires()); d < DefaultLifetime-time.Minute || d > DefaultLifetime {
			t.Errorf("expires in %s", d)
		}
		if _, isRSA := n.cur.Load().cert.PrivateKey.(*rsa.PrivateKey); isRSA != (bits > 0) {
			t.Errorf("%d bits gave a %T", bits, n.cur.Load().cert.PrivateKey)
		}
		cfg, err := ClientTLSFS(c.fs, "certs", "root")
		c.must(err)
		if cn := cfg.Certificates[0].Leaf.Subject.CommonName; cn != "root" {
			t.Errorf("client certificate for %q", cn)
		}
		if b, err := readFile(c.fs, "certs/client.root.key.pk8", true); err != nil || b[0] != 0x30 {
			t.Errorf("binary key: %v", err)
		}
	}
}

func TestCreateErrors(t *testing.T) {
	c := newCluster(t, "certs")
	with := func(change func(*Creator)) Creator {
		k := c.Creator
		change(&k)
		return k
	}
	other := newCluster(t, "certs")
	c.must(install(c.fs, newFile{"other.key", must(readFile(other.fs, "safe/ca.key", true)), keyMode}))
	c.must(install(c.fs, newFile{"junk.key", []byte("junk"), keyMode}))
	c.must(c.Client("root"))
	wants(t, "CA again", c.CA(), "certs/ca.crt exists already", "--overwrite")
	wants(t, "client again", c.Client("root"), "certs/client.root.crt exists already")
	wants(t, "no hosts", c.Node(nil), "name the hosts")
	wants(t, "port", c.Node([]string{"localhost:26257"}), `give "localhost"`)
	wants(t, "bad host", c.Node([]string{"a b"}), "neither a host name nor an IP address")
	wants(t, "empty host", c.Node([]string{""}), "neither a host name nor an IP address")
	wants(t, "empty label", c.Node([]string{"a..b"}), "neither a host name nor an IP address")
	wants(t, "node as user", c.Client("node"), "create-node")
	wants(t, "path as user", c.Client("../x"), "name of a file")
	wants(t, "no user", c.Client(""), "name the user")
	wants(t, "long user", c.Client(strings.Repeat("x", 64)), "longer than")
	wants(t, "small key", with(func(k *Creator) { k.RSABits = 512 }).Node([]string{"a"}), "2048 to 8192")
	wants(t, "long life", with(func(k *Creator) { k.Lifetime = 2 * DefaultCALifetime }).Node([]string{"a"}), "longer than that of the CA")
	wants(t, "no CA key", with(func(k *Creator) { k.CAKey = "nosuch" }).Node([]string{"a"}), "nosuch is missing", "create-ca --certs-dir=certs --ca-key=nosuch")
	wants(t, "no CA", with(func(k *Creator) { k.Dir = "empty" }).Node([]string{"a"}), "empty/ca.crt is missing", "copy it")
	wants(t, "other CA's key", with(func(k *Creator) { k.CAKey = "other.key" }).Node([]string{"a"}), "other.key is not the key of certs/ca.crt")
	wants(t, "junk key", with(func(k *Creator) { k.CAKey = "junk.key" }).Node([]string{"a"}), "holds no private key")
	wants(t, "expired CA", with(func(k *Creator) { k.Now = time.Now().Add(2 * DefaultCALifetime) }).Node([]string{"a"}), "expired")
	names, err := c.fs.List("certs")
	if err != nil || len(names) != 3 {
		t.Errorf("left behind: %v, %v", names, err)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestLifetimes checks that nothing outlives the CA, unless that was asked for.
func TestLifetimes(t *testing.T) {
	mem := fs.NewMem()
	ca := Creator{FS: mem, Dir: "certs", CAKey: "ca.key", Lifetime: time.Hour}
	if err := ca.CA(); err != nil {
		t.Fatal(err)
	}
	node := Creator{FS: mem, Dir: "certs", CAKey: "ca.key"}
	if err := node.Node([]string{"a"}); err != nil {
		t.Fatal(err)
	}
	n, err := LoadNodeFS(mem, "certs")
	if err != nil {
		t.Fatal(err)
	}
	if left := time.Until(n.Expires()); left > time.Hour || left < 50*time.Minute {
		t.Errorf("expires in %s", left)
	}
}

func TestLoadErrors(t *testing.T) {
	other := newCluster(t, "certs")
	other.node()
	other.must(other.Client("root"))
	long := 2 * DefaultCALifetime
	cases := []struct {
		name   string
		break_ func(c *cluster)
		want   []string
	}{
		{"no CA", func(c *cluster) { c.must(c.fs.Remove("certs/ca.crt")) }, []string{"certs/ca.crt is missing", "create-ca --certs-dir=certs"}},
		{"no certificate", func(c *cluster) { c.must(c.fs.Remove("certs/node.crt")) },
			[]string{"certs/node.crt is missing", "lichen cert create-node HOST... --certs-dir=certs --ca-key=CA-KEY"}},
		{"no key", func(c *cluster) { c.must(c.fs.Remove("certs/node.key")) }, []string{"certs/node.key", "--overwrite"}},
		{"other CA", func(c *cluster) { c.copyFile(other, CACert, CACert) }, []string{"certs/node.crt was not signed by the CA in certs/ca.crt"}},
		{"other key", func(c *cluster) { c.copyFile(other, NodeKey, NodeKey) }, []string{"are not a certificate and its key"}},
		{"client's certificate", func(c *cluster) {
			c.must(c.Client("root"))
			c.copyFile(c, "client.root.crt", NodeCert)
			c.copyFile(c, "client.root.key", NodeKey)
		}, []string{"made for another use"}},
		{"expired", func(c *cluster) {
			c.must(c.fs.Remove("certs/ca.crt"))
			c.must(c.fs.Remove("safe/ca.key"))
			old := c.Creator
			old.Now, old.Overwrite = time.Now().Add(-48*time.Hour), true
			c.must(old.CA())
			old.Lifetime = time.Hour
			c.must(old.Node([]string{"localhost"}))
		}, []string{"certs/node.crt expired on ", "create-node HOST... --certs-dir=certs --ca-key=CA-KEY --overwrite"}},
		{"expired CA", func(c *cluster) {
			old := c.Creator
			old.Now, old.Overwrite = time.Now().Add(-long), true
			c.must(old.CA())
			old.Lifetime = 0
			c.must(old.Node([]string{"localhost"}))
		}, []string{"expired on "}},
		{"not valid yet", func(c *cluster) {
			early := c.Creator
			early.Now, early.Overwrite = time.Now().Add(72*time.Hour), true
			c.must(early.Node([]string{"localhost"}))
		}, []string{"certs/node.crt is valid from ", "clock"}},
		{"junk", func(c *cluster) { c.must(install(c.fs, newFile{"certs/node.crt", []byte("junk"), certMode})) }, []string{"certs/node.crt and certs/node.key"}},
		{"junk CA", func(c *cluster) { c.must(install(c.fs, newFile{"certs/ca.crt", []byte("junk"), certMode})) }, []string{"certs/ca.crt holds no certificate"}},
		{"long file", func(c *cluster) {
			c.must(install(c.fs, newFile{"certs/ca.crt", make([]byte, maxFile+1), certMode}))
		}, []string{"certs/ca.crt is larger than"}},
	}
	for _, tc := range cases {
		c := newCluster(t, "certs")
		n := c.node()
		tc.break_(c)
		_, err := LoadNodeFS(c.fs, "certs")
		wants(t, tc.name, err, tc.want...)
		wants(t, tc.name+", reloading", n.Reload(), tc.want...)
		if n.cur.Load() == nil {
			t.Errorf("%s: a failed Reload dropped the certificates in use", tc.name)
		}
	}
	c := newCluster(t, "certs")
	c.must(c.Client("alice"))
	c.copyFile(c, "client.alice.crt", "client.bob.crt")
	c.copyFile(c, "client.alice.key", "client.bob.key")
	_, err := ClientTLSFS(c.fs, "certs", "bob")
	wants(t, "other user", err, `made out to "alice", not to "bob"`)
	_, err = ClientTLSFS(c.fs, "certs", "carol")
	wants(t, "no user's certificate", err, "certs/client.carol.crt is missing", "lichen cert create-client carol --certs-dir=certs")
}

func TestKeysArePrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "my certs")
	old := syscall.Umask(0) // the modes must not depend on it
	c := Creator{Dir: dir, CAKey: filepath.Join(dir, "safe", "ca.key"), PKCS8: true}
	err := errors.Join(c.CA(), c.Node([]string{"localhost"}), c.Client("root"))
	syscall.Umask(old)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{
		"": 0o700 | os.ModeDir, "ca.crt": 0o644, "safe": 0o700 | os.ModeDir, "safe/ca.key": 0o600, "node.crt": 0o644,
		"node.key": 0o600, "client.root.key": 0o600, "client.root.key.pk8": 0o600,
	} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode() != want {
			t.Errorf("%q: %v, %v; want %v", name, info, err, want)
		}
	}
	key := filepath.Join(dir, NodeKey)
	for _, mode := range []os.FileMode{0o644, 0o640, 0o604, 0o620, 0o601} {
		if err := os.Chmod(key, mode); err != nil {
			t.Fatal(err)
		}
		_, err := LoadNode(dir)
		wants(t, mode.String(), err, key, "run 'chmod 600 '"+key+"''")
	}
	if err := os.Chmod(key, 0o400); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadNode(dir); err != nil {
		t.Error(err)
	}
}

// TestOIDCSecret: the secret of an identity provider is in a file that only its owner may read.
func TestOIDCSecret(t *testing.T) {
	dir := t.TempDir()
	c := Creator{Dir: dir, CAKey: filepath.Join(dir, "ca.key")}
	if err := errors.Join(c.CA(), c.Node([]string{"localhost"})); err != nil {
		t.Fatal(err)
	}
	n, err := LoadNode(dir)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := n.OIDCSecret(); s != "" || err != nil {
		t.Errorf("without a file: %q, %v", s, err)
	}
	path := filepath.Join(dir, OIDCSecret)
	for _, x := range []struct {
		text string
		mode os.FileMode
		want string // of the error
	}{
		{"hidden\n", 0o600, ""}, {"hidden", 0o400, ""}, {"hidden\n", 0o644, "chmod 600"}, {"hidden\n", 0o640, "chmod 600"}, {"\n", 0o600, "in one line"}, {"hidden\nmore\n", 0o600, "in one line"},
	} {
		if err := errors.Join(os.RemoveAll(path), os.WriteFile(path, []byte(x.text), 0o600), os.Chmod(path, x.mode)); err != nil {
			t.Fatal(err)
		}
		s, err := n.OIDCSecret()
		if x.want == "" {
			if s != "hidden" || err != nil {
				t.Errorf("%q, %o: %q, %v", x.text, x.mode, s, err)
			}
			continue
		}
		wants(t, x.mode.String(), err, path, x.want)
		if strings.Contains(err.Error(), "hidden") {
			t.Errorf("the error tells the secret: %v", err)
		}
	}
}

// TestInstallIsAtomic replaces a node's certificate with a failure, and with a power
// loss, at every operation: each file is the old one or the new one.
func TestInstallIsAtomic(t *testing.T) {
	for n := int64(1); ; n++ {
		mem := fs.NewCrashableMem()
		c := Creator{FS: mem, Dir: "certs", CAKey: "ca.key"}
		if err := errors.Join(c.CA(), c.Node([]string{"old"}), fs.SyncDir(mem, "certs"), fs.SyncDir(mem, "")); err != nil {
			t.Fatal(err)
		}
		before := [2][]byte{must(readFile(mem, "certs/node.crt", false)), must(readFile(mem, "certs/node.key", false))}
		loss := &fs.PowerLoss{N: n}
		c.FS, c.Overwrite = fs.WithHooks(mem, loss.Hook), true
		err := c.Node([]string{"new"})
		crashed := fs.CrashClone(mem, 50, uint64(n))
		whole := 0
		for i, name := range []string{"certs/node.crt", "certs/node.key"} {
			b, rerr := readFile(crashed, name, false)
			if rerr != nil || len(b) < 100 || !strings.HasSuffix(string(b), "-----\n") {
				t.Fatalf("operation %d: %s is %q, %v", n, name, b, rerr)
			}
			if string(b) != string(before[i]) {
				whole++
			}
		}
		if err == nil && !loss.Struck() {
			if whole != 2 {
				t.Errorf("%d of 2 files replaced", whole)
			}
			return
		}
		fail := &fs.FailAt{N: n, Err: syscall.EIO}
		c.FS = fs.WithHooks(mem, fail.Hook)
		if err := c.Node([]string{"new"}); err == nil && fail.Struck() {
			t.Errorf("operation %d failed without an error", n)
		}
	}
}

func TestCheckPresent(t *testing.T) {
	c := newCluster(t, "certs")
	err := checkPresent(c.fs, "my certs", "")
	wants(t, "nothing there", err, "no certificates in my certs", "lichen cert create-ca --certs-dir='my certs' --ca-key=",
		"lichen cert create-node localhost ", "lichen cert create-client root ", "--insecure")
	err = checkPresent(c.fs, "certs", "10.1.2.3")
	wants(t, "CA only", err, "certs/node.crt is missing", "lichen cert create-node localhost ", " 10.1.2.3 --certs-dir", "--insecure")
	if strings.Contains(err.Error(), "create-ca") {
		t.Errorf("there is a CA already: %v", err)
	}
	c.node()
	if err := checkPresent(c.fs, "certs", "localhost"); err != nil {
		t.Error(err)
	}
}

func TestList(t *testing.T) {
	c := newCluster(t, "certs")
	c.node()
	c.must(c.Client("root"))
	c.must(c.Client("alice"))
	c.copyFile(c, "client.alice.crt", "client.bob.crt")
	c.copyFile(c, "client.alice.crt", "stray.crt")
	c.must(c.fs.Remove("certs/client.alice.key"))
	infos, err := List(c.fs, "certs")
	c.must(err)
	var got []string
	for _, i := range infos {
		problem, _, _ := strings.Cut(i.Problem, ":")
		got = append(got, strings.Join([]string{i.File, i.Usage, i.Name, strings.Join(i.Addresses, "+"), problem}, "|"))
	}
	want := []string{
		"ca.crt|ca|Lichen CA||",
		"node.crt|node|node|localhost+127.0.0.1|",
		"client.alice.crt|client|alice||certs/client.alice.key, the key of certs/client.alice.crt, is missing",
		"client.bob.crt|client|alice||certs/client.bob.key, the key of certs/client.bob.crt, is missing",
		"client.root.crt|client|root||",
		"stray.crt||alice||not used",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
	_, err = List(c.fs, "nosuch")
	wants(t, "no directory", err, "create-ca")
}
