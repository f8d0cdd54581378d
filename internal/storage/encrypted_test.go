package storage

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/fs/crypt"
	"github.com/lichendb/lichen/internal/fs/crypt/crypttest"
	"github.com/lichendb/lichen/internal/hlc"
)

// sealed has the tests of crashes open stores that are encrypted, if it is set, and checks key streams.
var sealed *crypttest.Streams

func sealedFS(f fs.FS) fs.FS {
	if sealed == nil {
		return f
	}
	return encryptedFS(f, sealed, crypttest.Key(1), nil)
}

// encryptedFS is f with the store in "store" encrypted while it is open.
func encryptedFS(f fs.FS, streams *crypttest.Streams, key, old *crypt.StoreKey) fs.FS {
	return crypttest.NewSealed(f, streams, func() crypt.Options {
		id, err := ReadIdent(f, "store")
		return crypt.Options{
			Dir: "store", Key: key, OldKey: old, Established: err == nil && id.Encrypted,
			Plain: func(path string) bool { return strings.HasPrefix(path, VersionFile) },
		}
	})
}

// TestEncryptedCrash runs the tests of crashes with an encrypted engine.
func TestEncryptedCrash(t *testing.T) {
	sealed = crypttest.NewStreams()
	defer func() { sealed = nil }()
	t.Run("Crash", TestCrash)
	t.Run("IngestCrash", TestIngestCrash)
	if blocks, err := sealed.Err(); err != nil || blocks == 0 {
		t.Errorf("%d blocks: %v", blocks, err)
	}
}

// hasText reports which files of a directory have a text.
func hasText(t *testing.T, f fs.FS, dir, text string) (found []string) {
	t.Helper()
	names, err := f.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		path := f.PathJoin(dir, name)
		if st, err := f.Stat(path); err != nil {
			t.Fatal(err)
		} else if st.IsDir() {
			found = append(found, hasText(t, f, path, text)...)
			continue
		}
		file, err := f.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(file)
		if err := errors.Join(err, file.Close()); err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(b, []byte(text)) {
			found = append(found, path)
		}
	}
	return found
}

// TestEncryptAndBack writes a store that is not encrypted, then encrypts it, then ends that: what is there stays
// readable, files written anew have the plaintext or not, and a start that forgets the key is refused.
func TestEncryptAndBack(t *testing.T) {
	const secret = "platypus-platypus"
	mem, streams, key := fs.NewMem(), crypttest.NewStreams(), crypttest.Key(7)
	round := func(f fs.FS, n int) {
		t.Helper()
		e, err := Open(Options{FS: f, Dir: "store", CacheBytes: 1 << 20, MemTableBytes: 64 << 10})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
		}()
		for i := range n {
			if got := get(t, e, secret+string(rune('a'+i))); got != secret {
				t.Fatalf("round %d: %q", n, got)
			}
		}
		for i := range n + 1 { // over all keys, so that the compaction writes all of them anew
			set(t, e, secret+string(rune('a'+i)), secret)
		}
		if err := e.Flush(); err != nil {
			t.Fatal(err)
		}
		if err := e.CompactAll(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	round(mem, 0)
	if len(hasText(t, mem, "store", secret)) == 0 {
		t.Error("the plaintext is not there: the test finds nothing")
	}
	round(encryptedFS(mem, streams, key, nil), 1)
	round(encryptedFS(mem, streams, key, nil), 2) // the engine keeps the manifest of before for one start
	if found := hasText(t, mem, "store", secret); len(found) > 0 {
		t.Errorf("encrypted and compacted, %v have the plaintext", found)
	}
	if _, err := Open(Options{FS: mem, Dir: "store"}); !errors.Is(err, ErrEncrypted) || !strings.Contains(err.Error(), "--encryption=") {
		t.Errorf("opened without the key: %v", err)
	}
	if _, err := Open(Options{FS: encryptedFS(mem, streams, crypttest.Key(8), nil), Dir: "store"}); !errors.Is(err, crypt.ErrWrongKey) {
		t.Errorf("opened with another key: %v", err)
	}
	round(encryptedFS(mem, streams, crypttest.Key(8), key), 3)
	round(encryptedFS(mem, streams, crypttest.Key(8), nil), 4)
	round(encryptedFS(mem, streams, nil, crypttest.Key(8)), 5)
	if len(hasText(t, mem, "store", secret)) == 0 {
		t.Error("no longer encrypted and compacted, no file has the plaintext")
	}
	if blocks, err := streams.Err(); err != nil || blocks == 0 {
		t.Errorf("%d blocks: %v", blocks, err)
	}
}

// TestEncryptedDeletes: files that compactions remove leave nothing behind that the registry does not know.
func TestEncryptedDeletes(t *testing.T) {
	mem := fs.NewMem()
	f := encryptedFS(mem, crypttest.NewStreams(), crypttest.Key(1), nil)
	e, err := Open(Options{FS: f, Dir: "store", CacheBytes: 1 << 20, MemTableBytes: 64 << 10})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 50 {
		b := e.NewBatch()
		if err := b.SetVersion([]byte("k"), hlc.Timestamp{WallTime: int64(i + 1)}, 1, bytes.Repeat([]byte{byte(i)}, 2000)); err != nil {
			t.Fatal(err)
		}
		if err := b.Commit(); err != nil {
			t.Fatal(err)
		}
		b.Close()
		if err := e.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := e.CompactAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	st, err := crypt.ReadStatus(mem, "store", func(path string) bool { return strings.HasPrefix(path, VersionFile) })
	if err != nil || len(st.Unregistered) > 0 || len(st.Keys) == 0 || st.Keys[0].Number != 1 || st.Keys[0].Bytes == 0 {
		t.Errorf("%+v %v", st, err)
	}
}

// TestEncryptedDamage: whatever file of an encrypted store has a bit turned over or is cut short, the store does not open, or reads
// all values as they were, or says which it can't; no value is another one.
func TestEncryptedDamage(t *testing.T) {
	mem, want := fs.NewCrashableMem(), map[string]string{}
	seal := func(f fs.FS) fs.FS { return encryptedFS(f, crypttest.NewStreams(), crypttest.Key(1), nil) }
	e := open(t, Options{FS: seal(mem)})
	for i := range 400 {
		k := fmt.Sprintf("k%03d", i)
		want[k] = strings.Repeat(k, 5+i*3) // the long ones lie apart from their keys
		set(t, e, k, want[k])
		if i == 200 {
			if err := e.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	noticed, harmless, older, apart := 0, 0, 0, 0
	for _, path := range allFiles(t, mem, "store") {
		st, err := mem.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(path, ".blob") {
			apart++
		}
		size := st.Size()
		harms := []func(f *fs.MemFS) error{
			func(f *fs.MemFS) error { return cut(f, path, size/2) }, func(f *fs.MemFS) error { return cut(f, path, size-1) },
		}
		for at := int64(0); at < size; at += max(size/16, 1) {
			harms = append(harms, func(f *fs.MemFS) error { return fs.FlipBit(f, path, at, uint(at)) })
		}
		for i, harm := range harms {
			f := fs.CrashClone(mem, 100, 1)
			if err := harm(f); err != nil {
				t.Fatal(path, err)
			}
			other, absent, err := readBack(seal(f), want)
			switch {
			case err != nil:
				noticed++
			case other+absent == 0:
				harmless++
			case other == 0 && strings.Contains(path, "MANIFEST"): // an older state, which replica.New sees by the log
				older++
			default:
				t.Errorf("%s, damage %d: another value was read", path, i)
			}
		}
	}
	if noticed < 50 || apart == 0 {
		t.Errorf("%d damages were noticed, %d files hold values apart from keys", noticed, apart)
	}
	t.Logf("%d damages were noticed, %d did no harm, %d led to an older state", noticed, harmless, older)
}

// cut makes a file shorter.
func cut(f *fs.MemFS, path string, size int64) error {
	b, err := f.UnsafeGetFileDataBuffer(path)
	if err != nil {
		return err
	}
	b = bytes.Clone(b[:size])
	file, err := f.Create(path, fs.WriteUnspecified)
	if err != nil {
		return err
	}
	_, err = file.Write(b)
	return errors.Join(err, file.Sync(), file.Close())
}

// readBack opens a store and reads values, of which some may be others, or absent; an error is that of the opening or of a read.
func readBack(f fs.FS, want map[string]string) (other, absent int, err error) {
	e, err := Open(Options{FS: f, Dir: "store", CacheBytes: 1 << 20, OnFatal: func(error) {}})
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = e.Close() }()
	for k, v := range want {
		got, found, err := e.GetUnversioned([]byte(k), nil)
		if err != nil {
			return 0, 0, err
		}
		switch {
		case !found:
			absent++
		case string(got) != v:
			other++
		}
	}
	return other, absent, nil
}

// allFiles returns the paths of the files below a directory that are not empty.
func allFiles(t *testing.T, f fs.FS, dir string) (paths []string) {
	t.Helper()
	names, err := f.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		path := f.PathJoin(dir, name)
		st, err := f.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if st.IsDir() {
			paths = append(paths, allFiles(t, f, path)...)
		} else if st.Size() > 0 {
			paths = append(paths, path)
		}
	}
	return paths
}
