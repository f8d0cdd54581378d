package fs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

func create(t *testing.T, fs FS, path, content string) {
	t.Helper()
	f, err := fs.Create(path, WriteUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(f, content); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		t.Fatal(err)
	}
}

func content(t *testing.T, fs FS, path string) string {
	t.Helper()
	f, err := fs.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(f)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestDiskSyncData(t *testing.T) {
	fs := Disk()
	path := fs.PathJoin(t.TempDir(), "f")
	f, err := fs.OpenReadWrite(path, WriteUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	if f.Fd() == ^uintptr(0) {
		t.Fatal("not a file of the operating system")
	}
	if _, err := f.WriteAt([]byte("hello"), 3); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.SyncData(), f.Close(), SyncDir(fs, fs.PathDir(path))); err != nil {
		t.Fatal(err)
	}
	if got := content(t, fs, path); got != "\x00\x00\x00hello" {
		t.Fatalf("read %q", got)
	}
}

// TestCloneWhileLinking copies a file system while files are linked, locked and renamed there. Without
// MemFS.cloning it soon waits for ever.
func TestCloneWhileLinking(t *testing.T) {
	m := NewCrashableMem()
	create(t, m, "a", "content")
	const rounds = 2000
	var all sync.WaitGroup
	change := func(op func(i int) error) {
		all.Go(func() {
			for i := range rounds {
				if err := op(i); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	change(func(i int) error { return m.Link("a", fmt.Sprint("link", i)) })
	change(func(i int) error {
		l, err := m.Lock("lock")
		if err != nil {
			return err
		}
		return l.Close()
	})
	change(func(i int) error {
		f, err := m.Create("b", WriteUnspecified)
		if err != nil {
			return err
		}
		again, err := m.ReuseForWrite("b", "c", WriteUnspecified)
		return errors.Join(err, f.Close(), again.Close())
	})
	for i := range uint64(100) {
		CrashClone(m, 50, i)
	}
	all.Wait()
}

func TestCrashClone(t *testing.T) {
	m := NewCrashableMem()
	create(t, m, "a", "synced")
	if err := SyncDir(m, "/"); err != nil {
		t.Fatal(err)
	}
	create(t, m, "b", "no directory entry")
	f, err := m.OpenReadWrite("a", WriteUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("SYNCED"), 0); err != nil {
		t.Fatal(err)
	}
	lost := CrashClone(m, 0, 1)
	if got := content(t, lost, "a"); got != "synced" {
		t.Fatalf("after a crash that keeps nothing: %q", got)
	}
	if _, err := lost.Stat("b"); err == nil {
		t.Fatal("a file whose directory entry was not synced survived")
	}
	if got := content(t, CrashClone(m, 100, 1), "a"); got != "SYNCED" {
		t.Fatalf("after a crash that keeps everything: %q", got)
	}
}

// TestHooksSeeEverything runs each operation of the interface and looks for it
// in the trace, and then again with every one of them refused.
func TestHooksSeeEverything(t *testing.T) {
	all := func(*Op) bool { return true }
	c := &Counter{Match: all, Trace: true}
	mem := NewMem()
	fs := WithHooks(mem, c.Hook)
	if err := exercise(fs); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, op := range c.Ops() {
		var n int
		var kind string
		if _, err := fmt.Sscanf(op, "%d %s", &n, &kind); err != nil {
			t.Fatal(err)
		}
		seen[kind] = true
	}
	for _, name := range opNames {
		if !seen[name] {
			t.Errorf("no %s among the operations seen", name)
		}
	}
	boom := errors.New("boom")
	for n := int64(1); n <= c.Count(); n++ {
		fail := &FailAt{N: n, Err: boom, Match: all}
		if err := exercise(WithHooks(NewMem(), fail.Hook)); !errors.Is(err, boom) || !fail.Struck() {
			t.Errorf("operation %d refused, but the caller got %v: %s", n, err, c.Ops()[n-1])
		}
	}
	if Disk().Unwrap() != nil || fs.Unwrap() != FS(mem) {
		t.Error("Unwrap does not lead down")
	}
}

// exercise calls every operation and returns the first error.
func exercise(fs FS) error {
	var first error
	do := func(err error) {
		if first == nil {
			first = err
		}
	}
	open := func(f File, err error) File {
		do(err)
		if err != nil {
			return nopFile{}
		}
		return f
	}
	do(fs.MkdirAll("d", 0o755))
	f := open(fs.Create("d/a", WriteUnspecified))
	_, err := f.Write([]byte("abc"))
	do(err)
	do(f.Preallocate(0, 10))
	do(f.Sync())
	_, err = f.Stat()
	do(err)
	do(f.Close())
	f = open(fs.OpenReadWrite("d/a", WriteUnspecified))
	_, err = f.WriteAt([]byte("x"), 1)
	do(err)
	do(f.SyncData())
	_, err = f.SyncTo(1)
	do(err)
	do(f.Close())
	f = open(fs.Open("d/a"))
	_, err = f.Read(make([]byte, 1))
	do(err)
	_, err = f.ReadAt(make([]byte, 1), 0)
	do(err)
	do(f.Close())
	_, err = fs.Stat("d/a")
	do(err)
	_, err = fs.List("d")
	do(err)
	if _, err = fs.GetDiskUsage("d"); !errors.Is(err, vfs.ErrUnsupported) {
		do(err)
	}
	f = open(fs.OpenDir("d"))
	do(f.Sync())
	do(f.Close())
	do(fs.Link("d/a", "d/b"))
	do(fs.Rename("d/b", "d/c"))
	f = open(fs.ReuseForWrite("d/c", "d/e", WriteUnspecified))
	do(f.Close())
	do(fs.Remove("d/e"))
	lock, err := fs.Lock("d/lock")
	do(err)
	if err == nil {
		do(lock.Close())
	}
	do(fs.RemoveAll("d"))
	return first
}

// nopFile takes the place of a file that could not be opened.
type nopFile struct{ File }

func (nopFile) Close() error                          { return nil }
func (nopFile) Read([]byte) (int, error)              { return 0, nil }
func (nopFile) ReadAt([]byte, int64) (int, error)     { return 0, nil }
func (nopFile) Write([]byte) (int, error)             { return 0, nil }
func (nopFile) WriteAt([]byte, int64) (int, error)    { return 0, nil }
func (nopFile) Preallocate(int64, int64) error        { return nil }
func (nopFile) Stat() (FileInfo, error)               { return nil, nil }
func (nopFile) Sync() error                           { return nil }
func (nopFile) SyncData() error                       { return nil }
func (nopFile) SyncTo(int64) (fullSync bool, e error) { return false, nil }

func TestShortWrite(t *testing.T) {
	mem := NewMem()
	fail := &FailAt{N: 2, Err: syscall.EIO, Short: 2, Match: func(op *Op) bool { return op.Kind == OpWrite }}
	f, err := WithHooks(mem, fail.Hook).Create("f", WriteUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := f.Write([]byte("abc")); n != 3 || err != nil {
		t.Fatal(n, err)
	}
	if n, err := f.Write([]byte("def")); n != 2 || !errors.Is(err, syscall.EIO) {
		t.Fatal(n, err)
	}
	if got := content(t, mem, "f"); got != "abcde" {
		t.Fatalf("read %q", got)
	}
}

func TestPowerLossStopsEverything(t *testing.T) {
	count := &Counter{}
	if err := exercise(WithHooks(NewMem(), count.Hook)); err != nil {
		t.Fatal(err)
	}
	for n := int64(0); n < count.Count(); n++ {
		below := &Counter{}
		p := &PowerLoss{N: n}
		err := exercise(WithHooks(NewMem(), p.Hook, below.Hook))
		if !errors.Is(err, ErrPowerLoss) || !p.Struck() || below.Count() != n {
			t.Fatalf("power loss after %d operations: %v, %d happened", n, err, below.Count())
		}
	}
}

func TestQuota(t *testing.T) {
	mem := NewMem()
	q := NewQuota(5)
	fs := WithHooks(mem, q.Hook)
	f, err := fs.OpenReadWrite("f", WriteUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("abc"), 0); err != nil {
		t.Fatal(err)
	}
	if n, err := f.WriteAt([]byte("ABCDEF"), 0); n != 5 || !IsDiskFull(err) {
		t.Fatalf("wrote %d, %v", n, err)
	}
	if _, err := f.WriteAt([]byte("xyz"), 1); err != nil {
		t.Fatalf("overwriting needs no space: %v", err)
	}
	if _, err := fs.Create("g", WriteUnspecified); !IsDiskFull(err) {
		t.Fatalf("create: %v", err)
	}
	q.Set(1 << 40)
	if _, err := f.WriteAt(bytes.Repeat([]byte("z"), 100), 0); err != nil {
		t.Fatal(err)
	}
}

func TestGate(t *testing.T) {
	g := NewGate(nil)
	fs := WithHooks(NewMem(), g.Hook)
	g.Shut()
	done := make(chan error)
	go func() { done <- fs.MkdirAll("d", 0o755) }()
	g.Await(1)
	if _, err := fs.List("/"); err != nil { // does not pass the gate
		t.Fatal(err)
	}
	select {
	case <-done:
		t.Fatal("passed a shut gate")
	default:
	}
	g.Open()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func TestFlipBit(t *testing.T) {
	m := NewMem()
	create(t, m, "f", "abc")
	if err := FlipBit(m, "f", 1, 0); err != nil {
		t.Fatal(err)
	}
	if got := content(t, m, "f"); got != "acc" {
		t.Fatalf("read %q", got)
	}
	if err := FlipBit(m, "f", 3, 0); err == nil {
		t.Fatal("flipped a bit beyond the end")
	}
}

// TestPebbleRuns shows that the engine runs on a hooked file system.
func TestPebbleRuns(t *testing.T) {
	c := &Counter{}
	db, err := pebble.Open("db", &pebble.Options{FS: WithHooks(NewMem(), c.Hook)})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Set([]byte("k"), []byte("v"), pebble.Sync), db.Flush(), db.Close()); err != nil {
		t.Fatal(err)
	}
	if c.Count() == 0 {
		t.Fatal("the engine's operations passed unseen")
	}
}
