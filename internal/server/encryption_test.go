package server

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/config"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/fs/crypt"
	"github.com/lichendb/lichen/internal/storage"
)

// putKey writes a key file.
func (c *testNodes) putKey(disk fs.FS, name string) {
	c.t.Helper()
	b, err := crypt.GenerateKey(256)
	if err != nil {
		c.t.Fatal(err)
	}
	f, err := disk.Create(name, fs.WriteUnspecified)
	if err == nil {
		_, err = f.Write(b)
	}
	if err = errors.Join(err, f.Sync(), f.Close(), fs.SyncDir(disk, "")); err != nil {
		c.t.Fatal(err)
	}
}

// alone makes a node that is a cluster by itself.
func (c *testNodes) alone(disk fs.FS, encryption ...config.Encryption) (*Node, error) {
	cfg := c.config()
	cfg.SingleNode, cfg.Join, cfg.Stores, cfg.Encryption = true, nil, config.Dirs("n"), encryption
	return New(cfg, c.options(disk))
}

// begin starts a node that is a cluster by itself.
func (c *testNodes) begin(disk fs.FS, encryption ...config.Encryption) *Node {
	c.t.Helper()
	n, err := c.alone(disk, encryption...)
	if err != nil {
		c.t.Fatal(err)
	}
	if err := n.Listen(); err != nil {
		c.t.Fatal(err)
	}
	c.start(n)
	return n
}

// find returns the files below a directory that have one of some texts.
func find(f fs.FS, dir string, texts ...string) (found []string, all int, err error) {
	names, err := f.List(dir)
	for _, name := range names {
		path := f.PathJoin(dir, name)
		st, serr := f.Stat(path)
		if serr != nil {
			continue // it was removed meanwhile
		}
		if st.IsDir() {
			below, n, berr := find(f, path, texts...)
			found, all, err = append(found, below...), all+n, errors.Join(err, berr)
			continue
		}
		file, oerr := f.Open(path)
		if oerr != nil {
			continue
		}
		b, rerr := io.ReadAll(file)
		err = errors.Join(err, rerr, file.Close())
		all += len(b)
		for _, text := range texts {
			if bytes.Contains(b, []byte(text)) {
				found = append(found, path+": "+text)
			}
		}
	}
	return found, all, err
}

// TestEncryptionAtRest: no file of an encrypted store has a row, a key, or the name of a table, while statements spill, after
// a power loss and after a clean stop. Without the key the node does not start, and says what to do.
func TestEncryptionAtRest(t *testing.T) { withNodes(t, testEncryptionAtRest) }

func testEncryptionAtRest(t *testing.T, c *testNodes) {
	disk := fs.NewCrashableMem()
	c.putKey(disk, "key")
	secret := config.Encryption{Path: "n", Key: "key", OldKey: config.PlainKey}
	texts := []string{"zebrafinch", "platypus", "wombat", "quagga"}
	nothing := func(when string, disk fs.FS) {
		t.Helper()
		if found, all, err := find(disk, "n", texts...); err != nil || len(found) > 0 || all < 1<<20 {
			t.Errorf("%s: %d bytes were read (%v), and found: %v", when, all, err, found)
		}
	}
	n := c.begin(disk, secret)
	one := c.connect(n)
	c.exec(one, "CREATE TABLE zebrafinch (quagga TEXT PRIMARY KEY, v TEXT)")
	c.exec(one, "INSERT INTO zebrafinch SELECT 'wombat' || g, repeat('platypus', 40) || g FROM generate_series(1, 3000) g")
	c.exec(one, "SET work_mem = '64kB'")
	c.exec(one, "BEGIN")
	c.exec(one, "DECLARE c CURSOR FOR SELECT v FROM zebrafinch ORDER BY v DESC, quagga")
	c.exec(one, "FETCH c")
	if n.Temp.Files() == 0 {
		t.Error("nothing has spilled")
	}
	nothing("while a statement sorts", disk)
	c.exec(one, "COMMIT")
	for _, st := range n.KV.Store.Stores() {
		if err := st.Engine().Flush(); err != nil {
			t.Fatal(err)
		}
	}
	nothing("flushed", disk)
	if f := n.allMetrics(); f["lichen_store_encrypted_bytes"] < 1<<20 || f["lichen_store_data_keys"] != 1 {
		t.Errorf("%v encrypted bytes under %v keys", f["lichen_store_encrypted_bytes"], f["lichen_store_data_keys"])
	}
	after := fs.CrashClone(disk, 50, 1)
	c.stop(n)
	nothing("stopped", disk)
	for _, d := range []*fs.MemFS{disk, after} {
		n = c.begin(d, secret)
		if got := c.query(c.connect(n), "SELECT count(*) FROM zebrafinch WHERE v LIKE 'platypus%'"); got != 3000 {
			t.Errorf("%d rows are there", got)
		}
		c.stop(n)
	}
	c.refuseWithoutKey(disk)
}

// refuseWithoutKey tries to start a node without the key of its store, or with another.
func (c *testNodes) refuseWithoutKey(disk fs.FS) {
	c.t.Helper()
	c.putKey(disk, "other")
	for _, test := range []struct {
		e    []config.Encryption
		want error
		text string
	}{
		{nil, crypt.ErrKeyNeeded, "--encryption=path=n,key=FILE"},
		{[]config.Encryption{{Path: "*", Key: "other", OldKey: config.PlainKey}}, crypt.ErrWrongKey, "as old-key to exchange it"},
		{[]config.Encryption{{Path: "*", Key: "none", OldKey: config.PlainKey}}, nil, "lichen gen encryption-key"},
	} {
		n, err := c.alone(disk, test.e...)
		if err == nil || test.want != nil && !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) {
			c.t.Errorf("with %+v: %v", test.e, err)
		}
		if n != nil {
			c.stop(n)
		}
	}
	if id, err := storage.ReadIdent(disk, "n"); err != nil || !id.Encrypted {
		c.t.Errorf("the store is not marked as encrypted: %+v %v", id, err)
	}
}

// TestEncryptLater: a store that is not encrypted becomes so from one start to the next, gets another store key, and is
// decrypted again; at the end it starts without the flag once nothing is encrypted.
func TestEncryptLater(t *testing.T) { withNodes(t, testEncryptLater) }

func testEncryptLater(t *testing.T, c *testNodes) {
	disk := fs.NewMem()
	c.putKey(disk, "key")
	c.putKey(disk, "next")
	starts := []config.Encryption{
		{},
		{Path: "n", Key: "key", OldKey: config.PlainKey, Rotation: time.Second},
		{Path: "*", Key: "next", OldKey: "key"},
		{Path: "n", Key: "next", OldKey: config.PlainKey},
		{Path: "n", Key: config.PlainKey, OldKey: "next"},
	}
	for i, e := range starts {
		list := []config.Encryption{e}
		if e.Key == "" {
			list = nil
		}
		n := c.begin(disk, list...)
		one := c.connect(n)
		c.exec(one, "CREATE TABLE IF NOT EXISTS zebrafinch (k INT PRIMARY KEY, v TEXT)")
		c.exec(one, fmt.Sprintf("INSERT INTO zebrafinch VALUES (%d, 'platypus')", i))
		if got := c.query(one, "SELECT count(*) FROM zebrafinch WHERE v = 'platypus'"); got != i+1 {
			t.Errorf("start %d: %d rows", i, got)
		}
		for _, st := range n.KV.Store.Stores() {
			if err := errors.Join(st.Engine().Flush(), st.Engine().CompactAll(c.ctx)); err != nil {
				t.Fatal(err)
			}
		}
		c.stop(n)
	}
	if _, err := c.alone(disk); !errors.Is(err, crypt.ErrKeyNeeded) {
		t.Errorf("files are encrypted still: %v", err)
	}
}
