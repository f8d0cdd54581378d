package crypt_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/fs/crypt"
	"github.com/lichendb/lichen/internal/fs/crypt/crypttest"
)

const dir = "store"

func options() crypt.Options { return crypt.Options{Dir: dir, Key: crypttest.Key(1)} }

func mount(t *testing.T, f fs.FS, o crypt.Options) *crypt.FS {
	t.Helper()
	s, err := crypt.Open(f, o)
	if err != nil {
		t.Fatal(err)
	}
	c := crypt.New(f, s)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func write(t *testing.T, f fs.FS, name, text string) {
	t.Helper()
	if err := put(f, name, text); err != nil {
		t.Fatal(err)
	}
}

// put makes a file durable.
func put(f fs.FS, name, text string) error {
	file, err := f.Create(name, fs.WriteUnspecified)
	if err != nil {
		return err
	}
	_, err = file.Write([]byte(text))
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	return fs.SyncDir(f, f.PathDir(name))
}

func read(f fs.FS, name string) (string, error) {
	file, err := f.Open(name)
	if err != nil {
		return "", err
	}
	b, err := io.ReadAll(file)
	return string(b), errors.Join(err, file.Close())
}

func wantText(t *testing.T, f fs.FS, name, want string) {
	t.Helper()
	if got, err := read(f, name); err != nil || got != want {
		t.Fatalf("%s: %q, %v, want %q", name, got, err, want)
	}
}

// TestReadWrite reads at all offsets what was written in pieces of all lengths, through all ways to read, also
// after the store was opened anew.
func TestReadWrite(t *testing.T) {
	mem := fs.NewMem()
	c := mount(t, mem, options())
	text := make([]byte, 300<<10)
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range text {
		text[i] = byte(rng.Uint32())
	}
	file, err := c.Create(dir+"/f", fs.WriteUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	for rest := text; len(rest) > 0; {
		n := min(len(rest), rng.IntN(200<<10))
		p := bytes.Clone(rest[:n])
		if k, err := file.Write(p); k != n || err != nil || !bytes.Equal(p, rest[:n]) {
			t.Fatal(k, err)
		}
		rest = rest[n:]
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if got, err := read(c, dir+"/f"); err != nil || got != string(text) {
			t.Fatal("sequential read", err)
		}
		file, err := c.Open(dir + "/f")
		if err != nil {
			t.Fatal(err)
		}
		for range 200 {
			off := rng.IntN(len(text))
			p := make([]byte, rng.IntN(len(text)-off))
			if n, err := file.ReadAt(p, int64(off)); n != len(p) || err != nil || !bytes.Equal(p, text[off:off+n]) {
				t.Fatalf("read of %d bytes at %d: %d %v", len(p), off, n, err)
			}
		}
		if err := errors.Join(file.Close(), c.Close()); err != nil {
			t.Fatal(err)
		}
		c = mount(t, mem, options())
	}
	if raw, err := read(mem, dir+"/f"); err != nil || len(raw) != len(text) || strings.Contains(raw, string(text[:16])) {
		t.Error("the file on the disk", err)
	}
}

// TestWriteOnce: no place is written twice under one key stream, and Rewrite makes that possible.
func TestWriteOnce(t *testing.T) {
	mem := fs.NewMem()
	fail := &fs.FailAt{N: 1 << 40, Err: syscall.ENOSPC, Short: 3, Match: func(op *fs.Op) bool { return op.Kind == fs.OpWrite && op.Path == dir+"/f" }}
	c := mount(t, fs.WithHooks(mem, fail.Hook), options())
	write(t, c, dir+"/f", "0123456789")
	file, err := c.OpenReadWrite(dir+"/f", fs.WriteUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	at := func(off int64, text string, want error) {
		t.Helper()
		if _, err := file.WriteAt([]byte(text), off); !errors.Is(err, want) {
			t.Fatalf("write at %d: %v", off, err)
		}
	}
	at(9, "x", crypt.ErrOverwrite)
	at(11, "x", crypt.ErrOverwrite) // a hole would read as arbitrary bytes
	at(10, "abc", nil)              // this process knows that the place is new
	at(10, "abc", crypt.ErrOverwrite)
	rewrite := func(from int64) {
		t.Helper()
		if err := fs.Rewrite(file, from); err != nil {
			t.Fatal(err)
		}
	}
	rewrite(4)
	at(4, "ABCDEF", nil)
	wantText(t, c, dir+"/f", "0123ABCDEF"+mustRead(t, c)[10:])
	fail.N = 1
	*fail = fs.FailAt{N: 1, Err: syscall.ENOSPC, Short: 3, Match: fail.Match}
	at(10, "ghijkl", syscall.ENOSPC)
	at(10, "GHIJKL", crypt.ErrOverwrite)
	rewrite(10)
	at(10, "GHIJKL", nil)
	if err := errors.Join(file.Close(), c.Close()); err != nil {
		t.Fatal(err)
	}
	c = mount(t, mem, options())
	wantText(t, c, dir+"/f", "0123ABCDEFGHIJKL")
	if file, err = c.OpenReadWrite(dir+"/f", fs.WriteUnspecified); err != nil {
		t.Fatal(err)
	}
	at(16, "x", crypt.ErrOverwrite) // what the last process wrote there is not known
	rewrite(0)
	at(0, "from the beginning", nil)
	wantText(t, c, dir+"/f", "from the beginning")
	var limit error
	for i := int64(1); limit == nil && i < 2000; i++ {
		limit = fs.Rewrite(file, i)
	}
	if !errors.Is(limit, fs.ErrRewrites) {
		t.Errorf("rewritten for ever: %v", limit)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}

func mustRead(t *testing.T, f fs.FS) string {
	t.Helper()
	s, err := read(f, dir+"/f")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestNames renames, links and removes files: names lead to their bytes, and one that is in use is not taken.
func TestNames(t *testing.T) {
	mem := fs.NewMem()
	c := mount(t, mem, options())
	for _, d := range []string{"store/d", "elsewhere"} {
		if err := c.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write(t, c, "store/a", "first")
	write(t, c, "store/b", "second")
	if err := c.Rename("store/a", "store/b"); !errors.Is(err, iofs.ErrExist) {
		t.Errorf("a name that another file has: %v", err)
	}
	if err := errors.Join(c.Rename("store/a", "store/d/a"), c.Link("store/d/a", "store/e")); err != nil {
		t.Fatal(err)
	}
	if err := c.Link("store/b", "store/e"); !errors.Is(err, iofs.ErrExist) { // or it would be copied over the other
		t.Errorf("a link over a file: %v", err)
	}
	if err := c.Rename("store/b", "elsewhere/b"); err == nil {
		t.Error("a file left the store")
	}
	if err := c.Rename("store/none", "store/f"); !errors.Is(err, syscall.ENOENT) && !strings.Contains(fmt.Sprint(err), "not exist") {
		t.Errorf("rename of nothing: %v", err)
	}
	write(t, c, "store/a", "third")
	old, err := c.Open("store/b")
	if err != nil {
		t.Fatal(err)
	}
	write(t, c, "store/b", "fourth") // in place of the old one, which is open still
	if b, err := io.ReadAll(old); err != nil || string(b) != "second" {
		t.Errorf("a file that was replaced: %q %v", b, err)
	}
	reused, err := c.ReuseForWrite("store/a", "store/g", fs.WriteUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := reused.Write([]byte("fifth")); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(old.Close(), reused.Close(), c.RemoveAll("store/d"), c.Close()); err != nil {
		t.Fatal(err)
	}
	c = mount(t, mem, options())
	for name, want := range map[string]string{"store/b": "fourth", "store/e": "first", "store/g": "fifth"} {
		wantText(t, c, name, want)
	}
	for _, name := range []string{"store/a", "store/d/a"} {
		if _, err := c.Stat(name); err == nil {
			t.Errorf("%s is there", name)
		}
	}
	write(t, c, "elsewhere/f", "plain")
	wantText(t, mem, "elsewhere/f", "plain")
	if c.Encrypts("elsewhere") || !c.Encrypts("store") || !fs.Encrypts(fs.NewWatch(c), "store") || fs.Encrypts(mem, "store") {
		t.Error("store is encrypted, elsewhere is not")
	}
}

// TestRandom writes, rewrites, renames and removes files at random, with failures and restarts in between, and
// compares with the same on a file system without encryption. No key stream is used twice.
func TestRandom(t *testing.T) {
	for seed := range uint64(5) {
		testRandom(t, seed)
	}
}

func testRandom(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 3))
	mem, streams, model := fs.NewMem(), crypttest.NewStreams(), map[string][]byte{}
	var failing bool
	disk := streams.Below(fs.WithHooks(mem, func(op *fs.Op) error {
		if failing && op.Kind.Mutates() && rng.IntN(4) == 0 {
			op.Short = rng.IntN(op.Bytes + 1)
			return syscall.ENOSPC
		}
		return nil
	}))
	now := time.Unix(1000, 0)
	o := options()
	o.Now = func() time.Time { return now }
	o.Rotation = time.Hour
	c := mount(t, disk, o)
	f := streams.Above(c)
	path := func() string { return fmt.Sprintf("%s/%d", dir, rng.IntN(6)) }
	for step := range 600 {
		now = now.Add(time.Minute)
		failing = step%50 > 40
		p, q := path(), path()
		data := make([]byte, rng.IntN(100))
		for i := range data {
			data[i] = byte(rng.Uint32())
		}
		switch rng.IntN(10) {
		case 0, 1:
			delete(model, p) // a failure may leave anything
			if err := put(f, p, string(data)); err == nil {
				model[p] = data
			} else if rmErr := removeFor(f, p, &failing); rmErr != nil {
				t.Fatal(rmErr)
			}
		case 2:
			if err := f.Remove(p); err == nil {
				delete(model, p)
			}
		case 3:
			if _, taken := model[q]; !taken && model[p] != nil && f.Rename(p, q) == nil {
				model[q] = model[p]
				delete(model, p)
			}
		case 4:
			failing = false
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
			c = mount(t, disk, o)
			f = streams.Above(c)
		default:
			randomRewrite(f, rng, p, model, data, &failing)
		}
		failing = false
		for p, want := range model {
			if got, err := read(f, p); err != nil || !strings.HasPrefix(got, string(want)) {
				t.Fatalf("seed %d, step %d: %s is %x, %v, want %x", seed, step, p, got, err, want)
			}
		}
	}
	if blocks, err := streams.Err(); err != nil || blocks < 100 {
		t.Errorf("seed %d: %d blocks: %v", seed, blocks, err)
	}
}

func removeFor(f fs.FS, p string, failing *bool) error {
	*failing = false
	if _, err := f.Stat(p); err != nil {
		return nil
	}
	return f.Remove(p)
}

// randomRewrite gives up the end of a file and writes another one. The file keeps its length, but what follows is
// arbitrary: the model has what comes before.
func randomRewrite(f fs.FS, rng *rand.Rand, p string, model map[string][]byte, data []byte, failing *bool) {
	was, ok := model[p]
	if !ok {
		return
	}
	file, err := f.OpenReadWrite(p, fs.WriteUnspecified)
	if err != nil {
		return
	}
	defer file.Close()
	from := rng.IntN(len(was) + 1)
	model[p] = was[:from]
	if fs.Rewrite(file, int64(from)) != nil {
		return
	}
	_, err = file.WriteAt(data, int64(from))
	for err != nil {
		*failing = false
		if err = fs.Rewrite(file, int64(from)); err == nil {
			_, err = file.WriteAt(data, int64(from))
		}
	}
	model[p] = append(bytes.Clone(was[:from]), data...)
}
