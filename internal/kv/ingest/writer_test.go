package ingest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/lichendb/lichen/internal/clustertest"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/quota"
)

// prefixes are those of the two indexes of the tests.
func prefixes() [][]byte { return [][]byte{keys.TablePrefix(1, 1), keys.TablePrefix(1, 2)} }

// beside returns a Writer whose entries are ingested if they are many.
func beside(ctx context.Context, db *kv.DB, pool *quota.Pool) *Writer {
	return New(ctx, Options{Prefixes: prefixes(), Memory: pool, Many: func() (*Target, error) { return &Target{DB: db}, nil }})
}

func testKey(index, i int) []byte { return fmt.Appendf(prefixes()[index], "%07d", i) }

// scan returns how many keys there are in an index, and the last.
func scan(t *testing.T, db *kv.DB, prefix []byte) (n int, last []byte) {
	t.Helper()
	txn := db.Begin(kv.TxnOptions{ReadOnly: true})
	txn.BeginStatement()
	defer txn.Rollback(t.Context())
	var page kv.ScanResult
	for start := prefix; start != nil; start = bytes.Clone(page.Resume) {
		page.Reset()
		if err := txn.Scan(t.Context(), start, keys.PrefixEnd(prefix), kv.ScanOptions{}, &page); err != nil {
			t.Fatal(err)
		}
		for i := range page.Len() {
			last = bytes.Clone(page.Key(i))
			if want := fmt.Sprintf("value of %s", last[len(prefix):]); string(page.Value(i)) != want {
				t.Fatalf("%q has %q", last, page.Value(i))
			}
			n++
		}
	}
	return n, last
}

// Entries in order and out of order, of two indexes, are all there, whether or not there is
// memory to collect them.
func TestWriter(t *testing.T) {
	for _, memory := range []int64{0, 256 << 10} {
		t.Run(fmt.Sprint(memory), func(t *testing.T) {
			n := clustertest.Open(t, fs.NewMem())
			defer n.Store.Close()
			const rows = 40000
			var pool *quota.Pool
			if memory > 0 {
				pool = quota.NewPool("test", memory)
			}
			w := beside(t.Context(), n.DB, pool)
			defer w.Close()
			for i, j := range rand.New(rand.NewPCG(1, 2)).Perm(rows) {
				err := errors.Join(w.Add(0, testKey(0, i), fmt.Appendf(nil, "value of %07d", i), true, 0),
					w.Add(1, testKey(1, j), fmt.Appendf(nil, "value of %07d", j), false, 0))
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Finish(); err != nil {
				t.Fatal(err)
			}
			for i, p := range prefixes() {
				if got, last := scan(t, n.DB, p); got != rows || !bytes.Equal(last, testKey(i, rows-1)) {
					t.Errorf("index %d has %d keys up to %q", i, got, last)
				}
			}
			w.Close()
			if pool != nil && pool.Used() != 0 {
				t.Errorf("%d bytes are still charged", pool.Used())
			}
		})
	}
}

// Keys that differ in any byte, or only in their lengths, are sorted; equal ones by their rows.
func TestSort(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, length := range []int{1, 2, 7, 8, 9, 20} {
		r := run{ordered: true}
		var want [][]byte
		for i := range 5000 {
			key := append([]byte("p"), bytes.Repeat([]byte{5}, rng.IntN(length+1))...)
			if len(key) > 1 {
				key[1+rng.IntN(len(key)-1)] = byte(rng.IntN(256))
			}
			want = append(want, key)
			r.add(key, nil, false, int64(i))
		}
		slices.SortFunc(want, bytes.Compare)
		r.sort()
		for i := range r.entries {
			if got := r.key(&r.entries[i]); !bytes.Equal(got, want[i]) {
				t.Fatalf("length %d: key %d is %x, want %x", length, i, got, want[i])
			}
			if i > 0 && bytes.Equal(want[i-1], want[i]) && r.entries[i-1].row >= r.entries[i].row {
				t.Fatalf("length %d: row %d of key %x comes after row %d", length, r.entries[i].row, want[i], r.entries[i-1].row)
			}
		}
	}
}

func BenchmarkSort(b *testing.B) {
	rng := rand.New(rand.NewPCG(5, 6))
	filled := run{}
	for i := range 300000 {
		key := binary.BigEndian.AppendUint32(nil, rng.Uint32N(100000))
		filled.add(binary.BigEndian.AppendUint32(key, uint32(i)), nil, false, int64(i))
	}
	for b.Loop() {
		r := filled
		r.entries = slices.Clone(filled.entries)
		r.sort()
	}
}

// A unique key that comes twice is found in one run and in two, in the statement's transaction and beside
// it, and is no error where it is not unique.
func TestDuplicates(t *testing.T) {
	for _, c := range []struct {
		name           string
		between        int // keys from the first to the second
		unique, wanted bool
	}{
		{"neighbours", 0, true, true},
		{"one run", 100, true, true},
		{"two runs", 30000, true, true},
		{"not unique", 30000, false, false},
	} {
		for _, many := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/beside %v", c.name, many), func(t *testing.T) {
				n := clustertest.Open(t, fs.NewMem())
				defer n.Store.Close()
				txn := n.DB.Begin(kv.TxnOptions{})
				txn.BeginStatement()
				defer txn.Rollback(t.Context())
				w := New(t.Context(), Options{Prefixes: prefixes(), Txn: txn, Many: func() (*Target, error) {
					if many {
						return &Target{DB: n.DB}, nil
					}
					return nil, nil
				}})
				defer w.Close()
				err := addTwice(w, c.between, c.unique)
				if w.Beside() != (many && c.between > FewEntries) {
					t.Errorf("written beside the transaction: %v", w.Beside())
				}
				var d *DuplicateError
				if errors.As(err, &d) != c.wanted || err != nil && !c.wanted {
					t.Fatalf("got %v", err)
				}
				if d != nil && (d.Index != 0 || !bytes.Equal(d.Key, testKey(0, 1)) || !bytes.Equal(d.Value, []byte("value"))) {
					t.Errorf("the duplicate is %d %q", d.Index, d.Key)
				}
			})
		}
	}
}

// addTwice adds key 1, others, and key 1 again.
func addTwice(w *Writer, between int, unique bool) (err error) {
	add := func(i int) { err = errors.Join(err, w.Add(0, testKey(0, i), []byte("value"), unique, 0)) }
	for i := range between + 2 {
		add(i)
	}
	add(1)
	return errors.Join(err, w.Finish())
}

// A key that comes again among others is found where runs overlap.
func TestDuplicateOfOverlappingRuns(t *testing.T) {
	n := clustertest.Open(t, fs.NewMem())
	defer n.Store.Close()
	w := beside(t.Context(), n.DB, quota.NewPool("test", 256<<10))
	defer w.Close()
	const rows = 20000
	again := rand.New(rand.NewPCG(1, 2)).Perm(rows)
	again = append(again, again[7])
	var err error
	for _, i := range again {
		if err == nil {
			err = w.Add(0, testKey(0, i), []byte("v"), true, 0)
		}
	}
	if err == nil {
		err = w.Finish()
	}
	var d *DuplicateError
	if !errors.As(err, &d) || !bytes.Equal(d.Key, testKey(0, again[7])) {
		t.Errorf("got %v", err)
	}
}

// A writer whose statement was cancelled writes nothing more, and the error of a block comes back.
func TestFailure(t *testing.T) {
	n := clustertest.Open(t, fs.NewMem())
	add := func(ctx context.Context) *Writer {
		w := beside(ctx, n.DB, nil)
		if err := errors.Join(w.decide(), w.Add(0, testKey(0, 1), []byte("v"), true, 0)); err != nil {
			t.Fatal(err)
		}
		return w
	}
	ctx, cancel := context.WithCancel(t.Context())
	w := add(ctx)
	cancel()
	if err := w.Finish(); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	w.Close()
	if got, _ := scan(t, n.DB, prefixes()[0]); got > 0 {
		t.Errorf("%d keys are there", got)
	}
	w = add(t.Context())
	defer w.Close()
	if err := n.Store.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(); err == nil {
		t.Error("no error of a store that is closed")
	}
}

// Of several duplicates, in two indexes and over several runs, the one is reported that was added first.
func TestFirstDuplicate(t *testing.T) {
	for _, memory := range []int64{256 << 10, 64 << 20} {
		n := clustertest.Open(t, fs.NewMem())
		w := beside(t.Context(), n.DB, quota.NewPool("test", memory))
		const rows = 8000
		rng := rand.New(rand.NewPCG(3, 4))
		numbers, others := rng.Perm(rows), rng.Perm(rows)
		numbers[6000], numbers[7000] = numbers[10], numbers[20] // of the first index
		others[5000], others[6500] = others[4000], others[1]    // of the second
		var err error
		for i := range rows {
			if err == nil {
				err = w.Add(0, testKey(0, numbers[i]), []byte("v"), true, int64(100+i))
			}
			if err == nil {
				err = w.Add(1, testKey(1, others[i]), []byte("v"), true, int64(100+i))
			}
		}
		if err == nil {
			err = w.Verify()
		}
		var d *DuplicateError
		if !errors.As(err, &d) || d.Index != 1 || d.Row != 5100 || !bytes.Equal(d.Key, testKey(1, others[4000])) {
			t.Errorf("memory %d: %+v", memory, err)
		}
		w.Close()
		if err := n.Store.Close(); err != nil {
			t.Error(err)
		}
	}
}

// blocks is an output that notes what it gets.
type blocks struct {
	bytes []int
	alone []bool
}

func (b *blocks) write(block []kv.Write, alone bool) error {
	n := 0
	for i := range block {
		n += len(block[i].Key) + len(block[i].Value)
	}
	b.bytes, b.alone = append(b.bytes, n), append(b.alone, alone)
	return nil
}

func (b *blocks) find(*run, func(int)) error { return nil }
func (b *blocks) finish() error              { return nil }
func (b *blocks) close()                     {}

// Blocks are small, and by themselves, as long as others are to be minded, which is asked before each of them.
func TestGently(t *testing.T) {
	out, asked := &blocks{}, 0
	w := New(t.Context(), Options{Prefixes: prefixes(), Gently: func() bool { asked++; return asked <= 3 }})
	defer w.Close()
	w.out = out
	w.choose()
	const size = 3*gentleBytes + 2*blockBytes
	value := make([]byte, 1000)
	for i := range size / (len(value) + 10) {
		if err := w.Add(0, testKey(0, size-i), value, false, 0); err != nil { // in descending order: sorted and cut at the end
			t.Fatal(err)
		}
	}
	if err := w.Finish(); err != nil {
		t.Fatal(err)
	}
	for i, n := range out.bytes {
		most, gentle := blockBytes, i < 3
		if gentle {
			most = gentleBytes
		}
		if out.alone[i] != gentle || n > most+2000 || n < most/2 && i < len(out.bytes)-1 {
			t.Errorf("block %d has %d bytes, alone: %t", i, n, out.alone[i])
		}
	}
	if len(out.bytes) < 5 || asked != len(out.bytes)+1 {
		t.Errorf("%d blocks, asked %d times", len(out.bytes), asked)
	}
}
