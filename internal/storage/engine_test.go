package storage

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/hlc"
)

func open(t *testing.T, o Options) *Engine {
	t.Helper()
	o.Dir = "store"
	if o.FS == nil {
		o.FS = fs.NewMem()
	}
	if o.CacheBytes == 0 {
		o.CacheBytes = 1 << 20
	}
	e, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

func set(t *testing.T, e *Engine, key, value string) {
	t.Helper()
	b := e.NewBatch()
	defer b.Close()
	if err := errors.Join(b.Set([]byte(key), []byte(value)), b.Commit()); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, r Reader, key string) string {
	t.Helper()
	v, found, err := r.GetUnversioned([]byte(key), nil)
	if err != nil {
		t.Fatal(err)
	}
	if !found {
		return "<none>"
	}
	return string(v)
}

// A read that was on its way when the store closed is told so.
func TestReadAfterClose(t *testing.T) {
	e := open(t, Options{FS: fs.NewCrashableMem(), ClusterID: NewID()})
	set(t, e, "a", "1")
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := e.GetUnversioned([]byte("a"), nil); !errors.Is(err, ErrClosed) {
		t.Errorf("get: %v", err)
	}
	if _, err := e.NewIter(IterOptions{}); !errors.Is(err, ErrClosed) {
		t.Errorf("iterator: %v", err)
	}
	if _, err := e.AcquireScan(); !errors.Is(err, ErrClosed) {
		t.Errorf("pooled iterator: %v", err)
	}
}

// So is one that the store is closed under.
func TestReadDuringClose(t *testing.T) {
	for range 20 {
		e := open(t, Options{ClusterID: NewID()})
		for i := range 20 {
			set(t, e, fmt.Sprint("k", i), "v")
			if i%5 == 0 {
				if err := e.Flush(); err != nil {
					t.Fatal(err)
				}
			}
		}
		var readers sync.WaitGroup
		for range 4 {
			readers.Go(func() {
				var err error
				for err == nil {
					_, _, err = e.GetUnversioned([]byte("k7"), nil)
				}
				if !errors.Is(err, ErrClosed) {
					t.Error(err)
				}
			})
		}
		_ = e.Close() // it may find that they read
		readers.Wait()
	}
}

// The end of a bubble is that of all goroutines of it, and of no others: those of engines
// that failed in other tests may still be there.
func TestCloseKeepsEverythingAndLeaksNothing(t *testing.T) {
	synctest.Test(t, testCloseKeepsEverythingAndLeaksNothing)
}

func testCloseKeepsEverythingAndLeaksNothing(t *testing.T) {
	mem := fs.NewCrashableMem()
	cluster := NewID()
	e := open(t, Options{FS: mem, ClusterID: cluster})
	ident := e.Ident()
	set(t, e, "a", "1")
	it, err := e.AcquireScan()
	if err != nil {
		t.Fatal(err)
	}
	it.Release()
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e = open(t, Options{FS: fs.CrashClone(mem, 0, 1)})
	if got := get(t, e, "a"); got != "1" {
		t.Fatalf("a = %s", got)
	}
	if e.Ident() != ident || ident.ClusterID != cluster || ident.StoreID.IsZero() {
		t.Fatalf("identity %+v became %+v", ident, e.Ident())
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestRefusals(t *testing.T) {
	rewrite := func(t *testing.T, mem *fs.MemFS, edit func(string) string) {
		t.Helper()
		data, err := readFile(mem, "store/"+VersionFile)
		if err != nil {
			t.Fatal(err)
		}
		if err := writeFile(mem, "store/"+VersionFile, []byte(edit(string(data)))); err != nil {
			t.Fatal(err)
		}
	}
	otherVersion := func(s string) string {
		s = strings.Replace(s, fmt.Sprintf("format %d\n", FormatVersion), "format 99\n", 1)
		body, _, _ := strings.Cut(s, "crc32c")
		return body + fmt.Sprintf("crc32c %08x\n", checksum([]byte(body)))
	}
	tests := []struct {
		name   string
		damage func(t *testing.T, mem *fs.MemFS)
		opts   Options
		want   error
		text   string
	}{
		{name: "other version", want: ErrVersion, text: fmt.Sprintf("version 99, this program reads version %d", FormatVersion),
			damage: func(t *testing.T, mem *fs.MemFS) { rewrite(t, mem, otherVersion) }},
		{name: "other cluster", want: ErrWrongCluster, opts: Options{ClusterID: NewID()}},
		{name: "flipped bit", want: ErrCorrupted, text: "checksum",
			damage: func(t *testing.T, mem *fs.MemFS) {
				rewrite(t, mem, func(s string) string { return strings.Replace(s, "store ", "stone ", 1) })
			}},
		{name: "empty version file", want: ErrCorrupted,
			damage: func(t *testing.T, mem *fs.MemFS) { rewrite(t, mem, func(string) string { return "" }) }},
		{name: "version file lost", want: ErrCorrupted, text: "has data but no",
			damage: func(t *testing.T, mem *fs.MemFS) {
				if err := mem.Remove("store/" + VersionFile); err != nil {
					t.Fatal(err)
				}
			}},
		{name: "data lost", want: ErrCorrupted, text: "holds no data",
			damage: func(t *testing.T, mem *fs.MemFS) {
				if err := mem.RemoveAll("store/" + stateDir); err != nil {
					t.Fatal(err)
				}
			}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			mem := fs.NewMem()
			if err := open(t, Options{FS: mem}).Close(); err != nil {
				t.Fatal(err)
			}
			if test.damage != nil {
				test.damage(t, mem)
			}
			o := test.opts
			o.FS, o.Dir = mem, "store"
			_, err := Open(o)
			if !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) {
				t.Fatalf("got %v", err)
			}
		})
	}
}

func TestInUse(t *testing.T) {
	mem := fs.NewMem()
	e := open(t, Options{FS: mem})
	if _, err := Open(Options{FS: mem, Dir: "store"}); !errors.Is(err, ErrInUse) {
		t.Fatalf("second open: %v", err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, Options{FS: mem})
}

// TestDurableReader shows that the durable reader sees flushed batches only, and
// that OnFlush is called when it may read.
func TestDurableReader(t *testing.T) {
	e := open(t, Options{})
	flushed := make(chan string, 10)
	durable := e.NewDurableReader()
	e.OnFlush(func() { flushed <- get(t, durable, "a") })
	set(t, e, "a", "1")
	if got := get(t, durable, "a"); got != "<none>" {
		t.Fatalf("durable before the flush: %s", got)
	}
	if err := e.StartFlush(); err != nil {
		t.Fatal(err)
	}
	if got := <-flushed; got != "1" {
		t.Fatalf("durable in OnFlush: %s", got)
	}
	set(t, e, "a", "2")
	if got, now := get(t, durable, "a"), get(t, e, "a"); got != "1" || now != "2" {
		t.Fatalf("durable %s, now %s", got, now)
	}
	if p := e.Pressure(); p.MemTables < 1 || p.MemTableLimit == 0 {
		t.Fatalf("pressure %+v", p)
	}
}

// diskFaults fails writes of table files with an error while it is set.
type diskFaults struct {
	err  atomic.Pointer[error]
	only errorfs.OpKind
}

func (d *diskFaults) set(err error) { d.err.Store(&err) }
func (d *diskFaults) clear()        { d.err.Store(nil) }

func (d *diskFaults) inject(op errorfs.Op) error {
	err := d.err.Load()
	if err == nil || op.Kind != d.only || !isTable(op.Path[strings.LastIndexByte(op.Path, '/')+1:]) {
		return nil
	}
	return *err
}

func TestDiskFull(t *testing.T) {
	faults := &diskFaults{only: errorfs.OpFileWrite}
	e := open(t, Options{FS: errorfs.Wrap(fs.NewMem(), errorfs.InjectorFunc(faults.inject)),
		OnFatal: func(err error) { t.Errorf("fatal: %v", err) }})
	set(t, e, "a", "1")
	faults.set(&noSpace{})
	if err := e.Flush(); !errors.Is(err, ErrDiskFull) {
		t.Fatalf("flush: %v", err)
	}
	if err := e.WriteStatus(); !errors.Is(err, ErrDiskFull) {
		t.Fatalf("write status: %v", err)
	}
	if got := get(t, e, "a"); got != "1" {
		t.Fatalf("read: %s", got)
	}
	set(t, e, "b", "2") // what is in the log is applied all the same
	faults.clear()
	if err := e.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := e.WriteStatus(); err != nil {
		t.Fatalf("write status after room was made: %v", err)
	}
	if got := get(t, e.NewDurableReader(), "b"); got != "2" {
		t.Fatalf("b = %s", got)
	}
}

// noSpace is ENOSPC as the operating system wraps it.
type noSpace struct{}

func (*noSpace) Error() string { return "write: no space left on device" }
func (*noSpace) Unwrap() error { return syscall.ENOSPC }

func TestReserve(t *testing.T) {
	mem := fs.NewMem()
	mem.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 10 << 20, TotalBytes: 100 << 20})
	e := open(t, Options{FS: mem, ReserveBytes: 20 << 20})
	if err := e.WriteStatus(); !errors.Is(err, ErrDiskFull) {
		t.Fatalf("write status: %v", err)
	}
	mem.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 30 << 20, TotalBytes: 100 << 20})
	if err := e.CheckDisk(); err != nil {
		t.Fatal(err)
	}
	if u := e.DiskUsage(); u.Available != 30<<20 || u.Reserve != 20<<20 {
		t.Fatalf("usage %+v", u)
	}
}

// TestSyncFailureIsFatal shows that a failed sync ends the store: it is reported
// once, commits and flushes are refused, and Close returns.
func TestSyncFailureIsFatal(t *testing.T) {
	for _, kind := range []errorfs.OpKind{errorfs.OpFileSync, errorfs.OpFileSyncData} {
		faults := &diskFaults{only: kind}
		var reports atomic.Int32
		fatal := make(chan error, 10)
		e := open(t, Options{FS: errorfs.Wrap(fs.NewMem(), errorfs.InjectorFunc(faults.inject)),
			OnFatal: func(err error) { reports.Add(1); fatal <- err }})
		set(t, e, "a", "1")
		faults.set(syscall.EIO)
		err := e.Flush()
		if err == nil {
			continue // this kind of sync is not used for tables
		}
		if !errors.Is(err, ErrFailed) || !errors.Is(<-fatal, syscall.EIO) {
			t.Fatalf("flush: %v", err)
		}
		b := e.NewBatch()
		if err := errors.Join(b.Set([]byte("b"), nil), b.Commit()); !errors.Is(err, ErrFailed) {
			t.Fatalf("commit: %v", err)
		}
		if err := e.WriteStatus(); !errors.Is(err, ErrFailed) {
			t.Fatalf("write status: %v", err)
		}
		if got := get(t, e, "a"); got != "1" {
			t.Fatalf("a = %s", got)
		}
		if err := e.Close(); !errors.Is(err, ErrFailed) {
			t.Fatalf("close: %v", err)
		}
		if n := reports.Load(); n != 1 {
			t.Fatalf("%d reports", n)
		}
		return
	}
	t.Fatal("no sync of a table was seen")
}

// TestDamagedTable flips a byte in a table: the read fails and names it, and
// other keys can still be read.
func TestDamagedTable(t *testing.T) {
	mem := fs.NewMem()
	e := open(t, Options{FS: mem})
	set(t, e, "a", strings.Repeat("x", 100))
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	names, err := mem.List("store/" + stateDir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, ".sst") {
			data, err := mem.UnsafeGetFileDataBuffer("store/" + stateDir + "/" + name)
			if err != nil {
				t.Fatal(err)
			}
			data[20] ^= 1
		}
	}
	e = open(t, Options{FS: mem, OnFatal: func(err error) { t.Errorf("fatal: %v", err) }})
	set(t, e, "b", "2")
	if _, _, err := e.GetUnversioned([]byte("a"), nil); !errors.Is(err, ErrCorrupted) {
		t.Fatalf("read of a damaged block: %v", err)
	}
}

// raise makes seen n, unless it is that or more.
func raise(seen *atomic.Int64, n int64) {
	for {
		if old := seen.Load(); old >= n || seen.CompareAndSwap(old, n) {
			return
		}
	}
}

// TestPoolIsFresh has readers acquire pooled iterators while a writer counts up:
// a reader sees at least what was committed, or seen by anyone, before.
func TestPoolIsFresh(t *testing.T) {
	e := open(t, Options{})
	key := []byte("n")
	const last = 2000
	var seen atomic.Int64
	var wg sync.WaitGroup
	for range 3 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for n := int64(0); n < last; {
				floor := seen.Load()
				at, _ := seekNewest(t, e, key)
				if n = at.WallTime; n < floor {
					t.Errorf("read %d after %d was seen", n, floor)
					return
				}
				raise(&seen, n)
			}
		}()
	}
	for n := int64(1); n <= last; n++ {
		b := e.NewBatch()
		if err := errors.Join(b.SetVersion(key, hlc.Timestamp{WallTime: n}, 1, nil), b.Commit()); err != nil {
			t.Fatal(err)
		}
		b.Close()
		raise(&seen, n)
		if n%500 == 0 {
			if err := e.StartFlush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	wg.Wait()
}

func TestEngineKeys(t *testing.T) {
	times := []hlc.Timestamp{{}, {WallTime: 1}, {WallTime: 1, Logical: 1}, {WallTime: 1 << 60}, hlc.MaxTimestamp}
	for _, key := range []string{"", "a", "a\x00", "\x00\x00\x0d", "\xff"} {
		for _, ts := range times {
			ek := AppendEngineKey(nil, []byte(key), ts)
			if len(ek) != engineKeyLen(len(key), ts) {
				t.Fatalf("length of %x", ek)
			}
			k, got, err := DecodeEngineKey(ek)
			if err != nil || string(k) != key || got != ts {
				t.Fatalf("%q %v became %q %v %v", key, ts, k, got, err)
			}
		}
	}
}

func FuzzDecodeEngineKey(f *testing.F) {
	f.Add(AppendEngineKey(nil, []byte("key"), hlc.Timestamp{WallTime: 5, Logical: 7}))
	f.Add([]byte{0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		key, ts, err := DecodeEngineKey(b)
		if err == nil && !ts.IsEmpty() && ts.Logical != 0 {
			if got := AppendEngineKey(nil, key, ts); string(got) != string(b) {
				t.Fatalf("%x decodes to %x %v, which encodes to %x", b, key, ts, got)
			}
		}
	})
}

func FuzzParseIdent(f *testing.F) {
	f.Add(Ident{ClusterID: NewID(), StoreID: NewID(), Created: true}.format())
	f.Fuzz(func(t *testing.T, b []byte) {
		if id, err := parseIdent(b); err == nil {
			if again, err := parseIdent(id.format()); err != nil || again != id {
				t.Fatalf("%+v became %+v: %v", id, again, err)
			}
		}
	})
}

// TestOnDisk runs an engine on the real file system, where locks and syncs are what
// they will be.
func TestOnDisk(t *testing.T) {
	o := Options{Dir: t.TempDir() + "/a/store", CacheBytes: 1 << 20}
	e, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(o); !errors.Is(err, ErrInUse) {
		t.Fatalf("second open: %v", err)
	}
	set(t, e, "a", "1")
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if e, err = Open(o); err != nil {
		t.Fatal(err)
	}
	if got := get(t, e, "a"); got != "1" {
		t.Fatalf("a = %s", got)
	}
	if u := e.DiskUsage(); u.Total == 0 || u.UsedByEngine == 0 {
		t.Fatalf("usage %+v", u)
	}
	if size, err := e.ApproximateSize([]byte("a"), []byte("b")); err != nil || size == 0 {
		t.Fatalf("size %d, %v", size, err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
}

// An iterator that is kept idle holds the blocks that it read last: one that has read a large value is not kept.
func TestPoolKeepsNoLargeValue(t *testing.T) {
	e := open(t, Options{})
	for key, size := range map[string]int{"large": maxIdleValue + 1, "small": 1000} {
		b := e.NewBatch()
		if err := errors.Join(b.SetVersion([]byte(key), hlc.Timestamp{WallTime: 1}, 1, make([]byte, size)), b.Commit()); err != nil {
			t.Fatal(err)
		}
		b.Close()
	}
	if err := e.Flush(); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]bool{"large": false, "small": true} {
		e.points.sweep()
		kept := false
		for range 100 { // the engine closes the idle ones after a flush, at any moment
			if _, err := readNewest(e, key); err != nil {
				t.Fatal(err)
			}
			for i := range e.points.slots {
				kept = kept || e.points.slots[i].Load() != nil
			}
		}
		if kept != want {
			t.Errorf("%s: an iterator is kept: %t", key, kept)
		}
	}
}

// readNewest reads a key with an iterator of the pool, which it gives back.
func readNewest(e *Engine, key string) (size int, err error) {
	it, err := e.AcquirePoint()
	if err != nil {
		return 0, err
	}
	defer it.Release()
	if !it.SeekVersion([]byte(key), hlc.MaxTimestamp) {
		return 0, fmt.Errorf("%s is not there: %w", key, it.Error())
	}
	v, err := it.ValueAndErr()
	return len(v), err
}
