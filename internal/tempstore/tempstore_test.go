package tempstore

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
)

const dir = "store/temp"

func open(t *testing.T, o Options) *Store {
	t.Helper()
	if o.Dir = dir; o.BlockBytes == 0 {
		o.BlockBytes = 64
	}
	s, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// record returns record i of a stream: most are short, some longer than a block.
func record(i int) []byte {
	rng := rand.New(rand.NewPCG(uint64(i), 1))
	n := rng.IntN(40)
	if rng.IntN(20) == 0 {
		n = rng.IntN(400)
	}
	return bytes.Repeat([]byte{byte(i)}, n)
}

func files(t *testing.T, f fs.FS) []string {
	t.Helper()
	names, err := f.List(dir)
	if err != nil {
		return nil
	}
	return names
}

// TestStreams writes several streams in turns, frees some, and reads the others while they grow, from
// the beginning and from any record.
func TestStreams(t *testing.T) {
	s := open(t, Options{FS: fs.NewMem()})
	var sp Space
	sp.Bind(s)
	defer sp.Close()
	streams := make([]*Stream, 5)
	readers := make([]Reader, len(streams))
	for k := range streams {
		streams[k] = sp.NewStream()
		readers[k] = streams[k].Read()
	}
	rng := rand.New(rand.NewPCG(7, 7))
	for range 5000 {
		k := rng.IntN(len(streams))
		st := streams[k]
		switch rng.IntN(10) {
		case 0:
			if err := st.Flush(); err != nil {
				t.Fatal(err)
			}
		case 1, 2, 3:
			want := int(readers[k].Record())
			p, err := readers[k].Next()
			if err != nil || int64(want) < st.Len() != (p != nil) || p != nil && !bytes.Equal(p, record(want)) {
				t.Fatalf("record %d of %d: %q, %v", want, st.Len(), p, err)
			}
		case 4:
			if rng.IntN(50) == 0 {
				st.Free()
				readers[k] = st.Read()
			}
		default:
			if err := st.Append(record(int(st.Len()))); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, st := range streams {
		for i := range st.Len() {
			r, err := st.ReadFrom(i)
			if err != nil {
				t.Fatal(err)
			}
			if p, err := r.Next(); err != nil || !bytes.Equal(p, record(int(i))) {
				t.Fatalf("record %d: %q, %v", i, p, err)
			}
		}
	}
	if s.Files() != 1 {
		t.Errorf("%d files", s.Files())
	}
	if sp.Close(); s.Files() != 0 || s.Bytes() != 0 || len(files(t, s.o.FS)) > 0 {
		t.Errorf("%d files, %d bytes, %v are left", s.Files(), s.Bytes(), files(t, s.o.FS))
	}
}

// fill appends records until one fails.
func fill(sp *Space, n int) error {
	st := sp.NewStream()
	for i := range n {
		if err := st.Append(record(i)); err != nil {
			return err
		}
	}
	if err := st.Flush(); err != nil {
		return err
	}
	r := st.Read()
	for i := range n {
		if p, err := r.Next(); err != nil || !bytes.Equal(p, record(i)) {
			return fmt.Errorf("record %d: %q, %w", i, p, err)
		}
	}
	return nil
}

// TestLimit: all spaces together take what they may, and there are as many files as may be (1).
func TestLimit(t *testing.T) {
	s := open(t, Options{FS: fs.NewMem(), MaxBytes: 1000})
	var a, b Space
	a.Bind(s)
	b.Bind(s)
	if err := fill(&a, 20); err != nil {
		t.Fatal(err)
	}
	var full *FullError
	if err := fill(&b, 100); !errors.As(err, &full) || full.Limit != 1000 || s.Bytes() > 1000 {
		t.Fatalf("%v, %d bytes", err, s.Bytes())
	}
	a.Close()
	b.Close()
	if err := fill(&b, 20); err != nil {
		t.Fatal(err)
	}
	b.Close()
	spaces := make([]Space, maxFiles+1)
	for i := range spaces {
		spaces[i].Bind(s)
		s.o.MaxBytes += 1000
		if err := fill(&spaces[i], 3); (err != nil) != (i == maxFiles) || err != nil && !errors.Is(err, ErrTooManyFiles) {
			t.Fatalf("file %d: %v", i, err)
		}
	}
	for i := range spaces {
		spaces[i].Close()
	}
	if names := files(t, s.o.FS); len(names) > 0 || s.Files() > 0 || s.Bytes() > 0 {
		t.Errorf("%v, %d files, %d bytes are left", names, s.Files(), s.Bytes())
	}
}

// TestFaults fails each operation in turn: the error comes out, and no file is left (2).
func TestFaults(t *testing.T) {
	for _, cause := range []error{syscall.ENOSPC, syscall.EIO} {
		for n := int64(1); ; n++ {
			fault := &fs.FailAt{N: n, Err: cause, Match: func(op *fs.Op) bool {
				return op.Kind != fs.OpRemove && op.Kind != fs.OpRemoveAll && op.Kind != fs.OpStat && op.Kind != fs.OpDiskUsage && op.Kind != fs.OpClose
			}}
			mem := fs.NewMem()
			s := open(t, Options{FS: fs.WithHooks(mem, fault.Hook)})
			var sp Space
			sp.Bind(s)
			err := fill(&sp, 60)
			sp.Close()
			if names := files(t, mem); len(names) > 0 || s.Files() > 0 || s.Bytes() > 0 {
				t.Fatalf("operation %d: %v, %d files, %d bytes are left", n, names, s.Files(), s.Bytes())
			}
			if !fault.Struck() {
				if err != nil {
					t.Fatal(err)
				}
				break
			}
			var full *FullError
			if err == nil || !errors.Is(err, cause) || cause == syscall.EIO && errors.As(err, &full) {
				t.Fatalf("operation %d: %v", n, err)
			}
		}
	}
}

// TestNearlyFull: temporary files leave room to the log and the engine.
func TestNearlyFull(t *testing.T) {
	mem := fs.NewMem()
	mem.TestingSetDiskUsage(fs.DiskUsage{AvailBytes: keepFree - 1, TotalBytes: 1 << 40})
	s := open(t, Options{FS: mem})
	var sp Space
	sp.Bind(s)
	defer sp.Close()
	var full *FullError
	if err := fill(&sp, 10); !errors.As(err, &full) || full.Limit != 0 {
		t.Fatal(err)
	}
}

// TestOpenRemovesFiles: what a crash has left is gone at the next start (2).
func TestOpenRemovesFiles(t *testing.T) {
	mem := fs.NewMem()
	s := open(t, Options{FS: mem})
	var sp Space
	sp.Bind(s)
	if err := fill(&sp, 10); err != nil {
		t.Fatal(err)
	}
	if names := files(t, mem); !slices.Equal(names, []string{"00000001"}) {
		t.Fatal(names)
	}
	open(t, Options{FS: mem})
	if names := files(t, mem); len(names) > 0 {
		t.Fatalf("%v are left", names)
	}
}

// TestDamage flips bits of a file: its reader fails (3).
func TestDamage(t *testing.T) {
	mem := fs.NewMem()
	s := open(t, Options{FS: mem})
	var sp Space
	sp.Bind(s)
	defer sp.Close()
	st := sp.NewStream()
	for i := range 50 {
		if err := st.Append(record(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := fs.FlipBit(mem, dir+"/00000001", 100, 3); err != nil {
		t.Fatal(err)
	}
	r := st.Read()
	for {
		p, err := r.Next()
		if err != nil {
			return
		}
		if p == nil {
			t.Fatal("nobody saw the damage")
		}
	}
}
