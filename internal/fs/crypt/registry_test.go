package crypt_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/fs/crypt"
	"github.com/lichendb/lichen/internal/fs/crypt/crypttest"
)

// scenario is what TestCrashAnywhere interrupts: it makes, replaces, renames, rewrites and removes files. It notes
// what is durable in known: the text a name must lead to, empty for one that may be there or not.
func scenario(f fs.FS, known map[string]string) error {
	step := func(name, text string, err error) error {
		if err == nil {
			known[name] = text
		}
		return err
	}
	maybe := func(names ...string) {
		for _, n := range names {
			known[n] = ""
		}
	}
	for round := range 3 {
		text := func(s string) string { return fmt.Sprintf("%s %d: %s", s, round, strings.Repeat(s, 40)) }
		maybe("store/a", "store/b", "store/c")
		if err := step("store/a", text("first"), put(f, "store/a", text("first"))); err != nil {
			return err
		}
		_ = f.Remove("store/b")
		if err := step("store/b", text("second"), put(f, "store/b", text("second"))); err != nil {
			return err
		}
		maybe("store/b", "store/c")
		if err := f.Remove("store/c"); err != nil && round > 0 {
			return err
		}
		if err := f.Rename("store/b", "store/c"); err != nil {
			return err
		}
		if err := step("store/c", text("second"), fs.SyncDir(f, "store")); err != nil {
			return err
		}
		delete(known, "store/b")
		maybe("store/a")
		file, err := f.OpenReadWrite("store/a", fs.WriteUnspecified)
		if err != nil {
			return err
		}
		err = fs.Rewrite(file, 0)
		if err == nil {
			_, err = file.WriteAt([]byte(text("third")), 0)
		}
		if err == nil {
			err = file.SyncData()
		}
		if err = errors.Join(err, file.Close()); step("store/a", text("third"), err) != nil {
			return err
		}
	}
	return nil
}

// possible are all texts that a file of the scenario may ever begin with.
func possible(got string) bool {
	for _, s := range []string{"first", "second", "third"} {
		for round := range 3 {
			full := fmt.Sprintf("%s %d: %s", s, round, strings.Repeat(s, 40))
			if strings.HasPrefix(got, full) || strings.HasPrefix(full, got) {
				return true
			}
		}
	}
	return false
}

// TestCrashAnywhere cuts the power at each operation, also of Open itself and of the exchange of keys, and lets none,
// some or all of what was not synced survive: what was durable is there, nothing reads as arbitrary bytes, and
// the store goes on.
func TestCrashAnywhere(t *testing.T) {
	run := func(f fs.FS, known map[string]string) error {
		for i, o := range []crypt.Options{{Dir: dir, Key: crypttest.Key(1)}, {Dir: dir, Key: crypttest.Key(2), OldKey: crypttest.Key(1)}} {
			s, err := crypt.Open(f, o)
			if err != nil {
				return err
			}
			c := crypt.New(f, s)
			if err := errors.Join(scenario(c, known), c.Close()); err != nil {
				return err
			}
			known["key"] = fmt.Sprint(i)
		}
		return nil
	}
	newDisk := func() *fs.MemFS {
		mem := fs.NewCrashableMem()
		if err := errors.Join(mem.MkdirAll(dir, 0o700), fs.SyncDir(mem, "/")); err != nil {
			t.Fatal(err)
		}
		return mem
	}
	count := &fs.Counter{}
	if err := run(fs.WithHooks(newDisk(), count.Hook), map[string]string{}); err != nil {
		t.Fatal(err)
	}
	for n := range count.Count() {
		mem, known := newDisk(), map[string]string{}
		if err := run(fs.WithHooks(mem, (&fs.PowerLoss{N: n}).Hook), known); !errors.Is(err, fs.ErrPowerLoss) {
			t.Fatalf("operation %d: %v", n, err)
		}
		for variant, keep := range []int{0, 30, 50, 70, 100} {
			label := fmt.Sprintf("power lost after operation %d, keeping %d%%", n, keep)
			clone := fs.CrashClone(mem, keep, uint64(n)*7+uint64(variant))
			afterCrash(t, label, clone, known)
		}
	}
}

func afterCrash(t *testing.T, label string, disk *fs.MemFS, known map[string]string) {
	t.Helper()
	s, err := crypt.Open(disk, crypt.Options{Dir: dir, Key: crypttest.Key(2), OldKey: crypttest.Key(1), Established: known["key"] != ""})
	if err != nil {
		t.Fatalf("%s: %v", label, err)
	}
	c := crypt.New(disk, s)
	for name, want := range known {
		if name == "key" {
			continue
		}
		got, err := read(c, name)
		switch {
		case err != nil && want == "" && !errors.Is(err, crypt.ErrUnregistered):
		case err != nil:
			t.Fatalf("%s: %s: %v", label, name, err)
		case want != "" && !strings.HasPrefix(got, want):
			t.Fatalf("%s: %s is %q, want %q", label, name, got, want)
		case want == "" && got != "" && !zeros(got) && !possible(got) && name != "store/a": // a is written in place
			t.Fatalf("%s: %s is %q", label, name, got)
		}
	}
	if err := scenario(c, map[string]string{}); err != nil {
		t.Fatalf("%s: going on: %v", label, err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

// zeros reports whether a crash has taken some of a file's bytes before they were encrypted, or after: such a file was
// never synced, and whoever reads it checks what he finds.
func zeros(got string) bool { return !strings.Contains(got, " ") }

// TestUnregistered: a file that was put beside the registry's back is not read, and one from before the encryption is.
func TestUnregistered(t *testing.T) {
	mem := fs.NewMem()
	if err := mem.MkdirAll("store/d", 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, mem, "store/d/before", "plain")
	c := mount(t, mem, options())
	write(t, mem, "store/d/behind", "plain")
	wantText(t, c, "store/d/before", "plain")
	if _, err := read(c, "store/d/behind"); !errors.Is(err, crypt.ErrUnregistered) || !strings.Contains(err.Error(), "remove it") {
		t.Errorf("read: %v", err)
	}
	if _, err := c.OpenReadWrite("store/d/behind", fs.WriteUnspecified); !errors.Is(err, crypt.ErrUnregistered) {
		t.Errorf("written: %v", err)
	}
	if err := c.Rename("store/d/behind", "store/d/x"); !errors.Is(err, crypt.ErrUnregistered) {
		t.Errorf("renamed: %v", err)
	}
	st, err := crypt.ReadStatus(mem, dir, func(string) bool { return false })
	if err != nil || len(st.Unregistered) != 1 || st.Unregistered[0] != "d/behind" {
		t.Errorf("%+v %v", st, err)
	}
}

// TestInUse: two processes don't write to one registry.
func TestInUse(t *testing.T) {
	mem := fs.NewMem()
	mount(t, mem, options())
	if _, err := crypt.Open(mem, options()); !errors.Is(err, crypt.ErrInUse) {
		t.Errorf("opened twice: %v", err)
	}
}

func change(t *testing.T, f fs.FS, name string, fn func([]byte) []byte) {
	t.Helper()
	b, err := read(f, name)
	if err != nil {
		t.Fatal(err)
	}
	write(t, f, name, string(fn([]byte(b))))
}

// TestRefusals: a registry or keys that are damaged, cut off, missing, of another store or of another version are
// refused, and so is the wrong key; the errors say what to do.
func TestRefusals(t *testing.T) {
	keys, files := dir+"/"+crypt.KeysFile, dir+"/"+crypt.RegistryFile
	other := fs.NewMem()
	if err := mount(t, other, options()).Close(); err != nil {
		t.Fatal(err)
	}
	taken := func(name string) func([]byte) []byte {
		return func([]byte) []byte {
			s, err := read(other, name)
			if err != nil {
				t.Fatal(err)
			}
			return []byte(s)
		}
	}
	gone := func(t *testing.T, f fs.FS, name string) {
		if err := f.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		name string
		harm func(t *testing.T, f fs.FS)
		o    crypt.Options
		want error
		text string
	}{
		{name: "wrong key", o: crypt.Options{Key: crypttest.Key(3)}, want: crypt.ErrWrongKey, text: "as old-key to exchange it"},
		{name: "wrong old key", o: crypt.Options{Key: crypttest.Key(3), OldKey: crypttest.Key(4)}, want: crypt.ErrWrongKey},
		{name: "no key", o: crypt.Options{}, want: crypt.ErrWrongKey},
		{name: "id of another key", harm: func(t *testing.T, f fs.FS) {
			change(t, f, keys, func(b []byte) []byte { return sum(bytes.Replace(b, []byte("key 1 "), []byte("key 1 1"), 1)) })
		}, want: crypt.ErrWrongKey, text: "another key"},
		{name: "no keys", harm: func(t *testing.T, f fs.FS) { gone(t, f, keys) }, want: crypt.ErrNoRegistry, text: "no ENCRYPTION_KEYS"},
		{name: "no registry", harm: func(t *testing.T, f fs.FS) { gone(t, f, files) }, want: crypt.ErrNoRegistry, text: "no ENCRYPTION_FILES"},
		{name: "neither", harm: func(t *testing.T, f fs.FS) { gone(t, f, files); gone(t, f, keys) }, want: crypt.ErrNoRegistry, text: "other nodes have its replicas"},
		{name: "keys of another store", harm: func(t *testing.T, f fs.FS) { change(t, f, keys, taken(keys)) }, want: crypt.ErrDamaged, text: "same store"},
		{name: "registry of another store", harm: func(t *testing.T, f fs.FS) { change(t, f, files, taken(files)) }, want: crypt.ErrDamaged, text: "same store"},
		{name: "version of keys", harm: func(t *testing.T, f fs.FS) {
			change(t, f, keys, func(b []byte) []byte { return bytes.Replace(b, []byte("format 2"), []byte("format 9"), 1) })
		}, want: crypt.ErrVersion, text: "version 9"},
		{name: "version of registry", harm: func(t *testing.T, f fs.FS) {
			change(t, f, files, func(b []byte) []byte { b[8] = 9; return b })
		}, want: crypt.ErrVersion, text: "version 9"},
		{name: "keys cut off", harm: func(t *testing.T, f fs.FS) {
			change(t, f, keys, func(b []byte) []byte { return b[:len(b)-5] })
		}, want: crypt.ErrDamaged},
		{name: "registry cut to nothing", harm: func(t *testing.T, f fs.FS) {
			change(t, f, files, func(b []byte) []byte { return b[:10] })
		}, want: crypt.ErrDamaged},
		{name: "damaged record", harm: func(t *testing.T, f fs.FS) {
			change(t, f, files, func(b []byte) []byte { b[50] ^= 1; return b })
		}, want: crypt.ErrDamaged, text: "is intact"},
	} {
		t.Run(test.name, func(t *testing.T) {
			mem := fs.NewMem()
			c := mount(t, mem, options())
			write(t, c, "store/a", "first")
			write(t, c, "store/b", "second")
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
			o := test.o
			if test.harm != nil {
				test.harm(t, mem)
				o = options()
			}
			o.Dir, o.Established = dir, true
			_, err := crypt.Open(mem, o)
			if !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) {
				t.Errorf("%v", err)
			}
		})
	}
}

// sum puts the right checksum under a file of keys.
func sum(b []byte) []byte {
	i := bytes.Index(b, []byte("crc32c "))
	return crypttest.Checksum(b[:i])
}

// TestTruncatedRegistry: a registry whose last records are cut off is opened, since a crash can do that, but the files
// that they named are not read.
func TestTruncatedRegistry(t *testing.T) {
	mem := fs.NewMem()
	c := mount(t, mem, options())
	write(t, c, "store/a", "first")
	write(t, c, "store/b", "second")
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	change(t, mem, dir+"/"+crypt.RegistryFile, func(b []byte) []byte {
		return b[:bytes.LastIndex(b, []byte("\x01\x01b\x01"))] // in the record of b: kind, length, path, number of parts
	})
	c = mount(t, mem, options())
	wantText(t, c, "store/a", "first")
	if _, err := read(c, "store/b"); !errors.Is(err, crypt.ErrUnregistered) {
		t.Errorf("b: %v", err)
	}
	write(t, c, "store/c", "third") // the registry is written anew
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	c = mount(t, mem, options())
	wantText(t, c, "store/c", "third")
}

// TestRotation: data keys change by time, and go when no file has them; the store key changes at a start; files
// stay readable under all of them, and the keys of the store are nowhere as they are.
func TestRotation(t *testing.T) {
	mem, now := fs.NewMem(), time.Unix(1_000_000, 0)
	o := options()
	o.Rotation, o.Now = time.Hour, func() time.Time { return now }
	c := mount(t, mem, o)
	for i := range 5 {
		write(t, c, fmt.Sprintf("store/%d", i), fmt.Sprint("text ", i))
		now = now.Add(40 * time.Minute)
	}
	status := func() string {
		t.Helper()
		st, err := crypt.ReadStatus(mem, dir, func(string) bool { return false })
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, k := range st.Keys {
			if k.Number != crypt.Plain || k.Active {
				out = append(out, fmt.Sprintf("%d:%d/%v", k.Number, k.Files, k.Active))
			}
		}
		return strings.Join(out, " ")
	}
	if got := status(); got != "3:1/true 2:2/false 1:2/false" {
		t.Errorf("after 5 files in 200 minutes: %s", got)
	}
	for i := range 3 {
		if err := c.Remove(fmt.Sprintf("store/%d", i)); err != nil {
			t.Fatal(err)
		}
	}
	if f := c.Stores()[0].Metrics(); f.Keys != 3 || f.Encrypted != 12 || f.Active != 6 || f.KeyAge != 40*time.Minute {
		t.Errorf("%+v", f)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	o.Key, o.OldKey = crypttest.Key(2), crypttest.Key(1)
	c = mount(t, mem, o)
	wantText(t, c, "store/3", "text 3")
	write(t, c, "store/5", "text 5")
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	o.OldKey = nil
	c = mount(t, mem, o)
	for i := 3; i < 6; i++ {
		wantText(t, c, fmt.Sprintf("store/%d", i), fmt.Sprint("text ", i))
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	o.Key, o.OldKey = nil, crypttest.Key(2)
	c = mount(t, mem, o)
	write(t, c, "store/6", "text 6")
	wantText(t, mem, "store/6", "text 6")
	wantText(t, c, "store/3", "text 3")
	if err := crypt.Leave(mem, crypt.Options{Dir: dir, Plain: func(string) bool { return false }}, func() error { return nil }); !errors.Is(err, crypt.ErrKeyNeeded) {
		t.Errorf("encrypted files are left: %v", err)
	}
	for i := 3; i < 6; i++ {
		if err := c.Remove(fmt.Sprintf("store/%d", i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if err := crypt.Leave(mem, crypt.Options{Dir: dir, Plain: func(string) bool { return false }}, func() error { return nil }); err != nil || crypt.Present(mem, dir) {
		t.Errorf("nothing is encrypted any more: %v", err)
	}
}

// TestFullDisk: without room for a new data key the old one stays in use, and the reserve of the registry lets files
// be rewritten.
func TestFullDisk(t *testing.T) {
	mem, now := fs.NewMem(), time.Unix(1_000_000, 0)
	full := false
	o := options()
	o.Now = func() time.Time { return now }
	c := mount(t, fs.WithHooks(mem, func(op *fs.Op) error {
		if full && (op.Kind == fs.OpCreate || op.Kind == fs.OpWrite && op.Grow > 0) {
			return syscall.ENOSPC
		}
		return nil
	}), o)
	write(t, c, "store/a", "first")
	full = true
	now = now.Add(1000 * time.Hour)
	file, err := c.OpenReadWrite("store/a", fs.WriteUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		if err := fs.Rewrite(file, 0); err != nil {
			t.Fatal(i, err)
		}
		if _, err := file.WriteAt([]byte("other"), 0); err != nil {
			t.Fatal(err)
		}
	}
	wantText(t, c, "store/a", "other")
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestKeyFiles reads key files of the three lengths and no others.
func TestKeyFiles(t *testing.T) {
	mem := fs.NewMem()
	for _, bits := range []int{128, 192, 256} {
		b, err := crypt.GenerateKey(bits)
		if err != nil {
			t.Fatal(err)
		}
		write(t, mem, "key", string(b))
		k, err := crypt.LoadKey(mem, "key")
		if err != nil || k.Bits() != bits {
			t.Fatalf("%d bits: %v", bits, err)
		}
		c := mount(t, fs.NewMem(), crypt.Options{Dir: dir, Key: k})
		write(t, c, "store/a", "text")
		wantText(t, c, "store/a", "text")
	}
	for _, n := range []int{0, 31, 32, 47, 49, 63, 65, 1000} {
		write(t, mem, "key", strings.Repeat("x", n))
		if _, err := crypt.LoadKey(mem, "key"); err == nil {
			t.Errorf("a key file of %d bytes was read", n)
		}
	}
	if _, err := crypt.LoadKey(mem, "none"); err == nil || !strings.Contains(err.Error(), "lichen gen encryption-key") {
		t.Errorf("no file: %v", err)
	}
	if _, err := crypt.GenerateKey(64); err == nil {
		t.Error("a key of 64 bits was made")
	}
}

// TestOlderRegistry: a copy of the registry that is older than the rest is refused: one from before the last start, one from the time
// of use, and one that goes with newer keys (6).
func TestOlderRegistry(t *testing.T) {
	keys, files := dir+"/"+crypt.KeysFile, dir+"/"+crypt.RegistryFile
	mem := fs.NewMem()
	copyOf := func(name string) string {
		t.Helper()
		s, err := read(mem, name)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	c := mount(t, mem, options())
	write(t, c, "store/a", "first")
	early := copyOf(files)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	stopped, stoppedKeys := copyOf(files), copyOf(keys)
	c = mount(t, mem, options())
	write(t, c, "store/b", "second")
	running := copyOf(files)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	last := copyOf(files)
	o := options()
	o.Dir, o.Established = dir, true
	for name, old := range map[string]string{"of the first use": early, "of the first stop": stopped, "of the last use": running} {
		write(t, mem, files, old)
		if _, err := crypt.Open(mem, o); !errors.Is(err, crypt.ErrOlder) || !strings.Contains(err.Error(), "whole directory") {
			t.Errorf("%s: %v", name, err)
		}
	}
	write(t, mem, files, last)
	newest := copyOf(keys)
	write(t, mem, keys, stoppedKeys)
	if _, err := crypt.Open(mem, o); !errors.Is(err, crypt.ErrOlder) {
		t.Errorf("older keys: %v", err)
	}
	write(t, mem, keys, newest)
	c = mount(t, mem, options())
	if s, err := read(c, "store/b"); err != nil || s != "second" {
		t.Errorf("%q, %v", s, err)
	}
}
