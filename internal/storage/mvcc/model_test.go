package mvcc

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sort"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/storage"
)

// model is the simplest thing that could be right: all versions in a map.
type model struct {
	versions map[string][]modelVersion // oldest first
}

type modelVersion struct {
	ts        hlc.Timestamp
	value     string
	tombstone bool
}

func (m *model) put(key string, v modelVersion) { m.versions[key] = append(m.versions[key], v) }

func (m *model) get(key string, ts hlc.Timestamp) (modelVersion, bool) {
	vs := m.versions[key]
	for i := len(vs) - 1; i >= 0; i-- {
		if vs[i].ts.LessEq(ts) {
			return vs[i], !vs[i].tombstone
		}
	}
	return modelVersion{}, false
}

func (m *model) sortedKeys() []string {
	out := make([]string, 0, len(m.versions))
	for k := range m.versions {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}

func (m *model) scan(span keys.Span, ts hlc.Timestamp, reverse bool) (out []string) {
	for _, k := range m.sortedKeys() {
		if span.Contains([]byte(k)) {
			if v, ok := m.get(k, ts); ok {
				out = append(out, k+"="+v.value)
			}
		}
	}
	if reverse {
		slices.Reverse(out)
	}
	return out
}

func (m *model) changed(span keys.Span, after, upTo hlc.Timestamp) (string, bool) {
	for _, k := range m.sortedKeys() {
		if !span.Contains([]byte(k)) {
			continue
		}
		for _, v := range m.versions[k] {
			if after.Less(v.ts) && v.ts.LessEq(upTo) {
				return k, true
			}
		}
	}
	return "", false
}

// fataler is a testing.T or a rapid.T.
type fataler interface {
	Helper()
	Fatal(args ...any)
}

func testEngine(t fataler) *storage.Engine {
	t.Helper()
	eng, err := storage.Open(storage.Options{FS: vfs.NewMem(), Dir: "store", MemTableBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	return eng
}

// machine runs random steps on an engine and the model side by side.
type machine struct {
	eng       *storage.Engine
	model     model
	now       hlc.Timestamp
	threshold hlc.Timestamp
	reader    Reader
}

func newMachine(t fataler) *machine {
	eng := testEngine(t)
	return &machine{
		eng: eng, model: model{versions: map[string][]modelVersion{}},
		now: hlc.Timestamp{WallTime: 10}, reader: NewReader(eng),
	}
}

func (m *machine) close(t *rapid.T) {
	m.reader.Close()
	if err := m.eng.Close(); err != nil {
		t.Fatal(err)
	}
}

// Keys share prefixes and hold zero and 0xff bytes, where orders go wrong.
var keyGen = rapid.Custom(func(t *rapid.T) string {
	if rapid.Bool().Draw(t, "hot") {
		return "k" // one key collects many versions
	}
	return "k" + string(rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 'a', 0xff}), 0, 2).Draw(t, "key"))
})

func spanGen(t *rapid.T) keys.Span {
	a, b := keyGen.Draw(t, "from"), keyGen.Draw(t, "to")
	switch {
	case a == b:
		return keys.Span{Start: []byte(a)}
	case a > b:
		a, b = b, a
	}
	if rapid.Bool().Draw(t, "whole") {
		return keys.Span{Start: []byte("k"), End: []byte("l")}
	}
	return keys.Span{Start: []byte(a), End: []byte(b)}
}

// readTime draws a time at or after the threshold.
func (m *machine) readTime(t *rapid.T) hlc.Timestamp {
	wall := rapid.Int64Range(m.threshold.WallTime, m.now.WallTime+2).Draw(t, "wall")
	ts := hlc.Timestamp{WallTime: wall, Logical: rapid.Uint32Range(0, 2).Draw(t, "logical")}
	return ts.Max(m.threshold)
}

func (m *machine) tick(t *rapid.T) {
	if rapid.Bool().Draw(t, "logical tick") {
		m.now = m.now.Next()
	} else {
		m.now = hlc.Timestamp{WallTime: m.now.WallTime + rapid.Int64Range(1, 5).Draw(t, "tick")}
	}
}

func (m *machine) Write(t *rapid.T) {
	b := m.eng.NewBatch()
	defer b.Close()
	for range rapid.IntRange(1, 6).Draw(t, "writes") {
		m.tick(t)
		key := keyGen.Draw(t, "key")
		v := modelVersion{ts: m.now, tombstone: rapid.IntRange(0, 3).Draw(t, "tombstone") == 0}
		if rapid.Bool().Draw(t, "inline gc") {
			garbage := m.collectInline(t, key)
			for _, g := range garbage {
				check(t, DropVersion(b, []byte(key), g))
			}
		}
		if v.tombstone {
			check(t, DeleteVersion(b, []byte(key), v.ts))
		} else {
			v.value = rapid.SampledFrom([]string{"", "x", "some value", string(make([]byte, 700))}).Draw(t, "value")
			check(t, PutVersion(b, []byte(key), v.ts, []byte(v.value)))
		}
		m.model.put(key, v)
		if rapid.Bool().Draw(t, "commit now") {
			check(t, b.Commit())
			b.Reset()
		}
	}
	if !b.Empty() {
		check(t, b.Commit())
	}
	m.reader.Close() // what it saw may be older than what was just written
}

func (m *machine) collectInline(t *rapid.T, key string) []Garbage {
	it, err := m.eng.AcquirePoint()
	check(t, err)
	defer it.Release()
	limit := inlineLimit{garbage: rapid.IntRange(1, 3).Draw(t, "limit"), visited: rapid.IntRange(1, 5).Draw(t, "look")}
	garbage, err := collectInline(m.eng, it, []byte(key), m.threshold, limit, nil)
	check(t, err)
	if len(garbage) > limit.garbage {
		t.Fatalf("%d versions collected inline, the limit is %d", len(garbage), limit.garbage)
	}
	return garbage
}

func (m *machine) Get(t *rapid.T) {
	key, ts := keyGen.Draw(t, "key"), m.readTime(t)
	want, wantFound := m.model.get(key, ts)
	get := func(read func() (Value, bool, error)) {
		v, found, err := read()
		check(t, err)
		if found != wantFound {
			t.Fatalf("get %q at %v: found=%t, the model says %t", key, ts, found, wantFound)
		}
		if found && (string(v.Data) != want.value || v.TS != want.ts) {
			t.Fatalf("get %q at %v: %q at %v, the model says %q at %v", key, ts, v.Data, v.TS, want.value, want.ts)
		}
	}
	get(func() (Value, bool, error) { return Get(m.eng, []byte(key), ts, nil) })
	get(func() (Value, bool, error) { return m.reader.Get([]byte(key), ts, []byte("before")) })
}

func (m *machine) Latest(t *rapid.T) {
	key := keyGen.Draw(t, "key")
	ts, tombstone, found, err := latest(m.eng, []byte(key))
	check(t, err)
	vs := m.model.versions[key]
	switch {
	case len(vs) == 0:
		if found {
			t.Fatalf("%q has a version at %v, the model has none", key, ts)
		}
	case !found:
		if last := vs[len(vs)-1]; !last.tombstone || m.threshold.Less(last.ts) {
			t.Fatalf("%q lost its newest version at %v", key, last.ts)
		}
	default:
		if last := vs[len(vs)-1]; ts != last.ts || tombstone != last.tombstone {
			t.Fatalf("%q: newest %v %t, the model says %v %t", key, ts, tombstone, last.ts, last.tombstone)
		}
	}
}

// Newest reads the newest versions of many keys in order, each of which may be sought or stepped to.
func (m *machine) Newest(t *rapid.T) {
	names := rapid.SliceOfNDistinct(keyGen, 1, 12, rapid.ID[string]).Draw(t, "keys")
	sort.Strings(names)
	m.reader.Close()
	n, err := m.reader.Newest([]byte(names[0]), []byte(names[len(names)-1]))
	check(t, err)
	n.moves = rapid.IntRange(0, mostMoves).Draw(t, "moves")
	for _, key := range names {
		ts, found, err := n.Find([]byte(key))
		check(t, err)
		wantTS, wantTombstone, wantFound, err := latest(m.eng, []byte(key))
		check(t, err)
		if found != wantFound || found && ts != wantTS {
			t.Fatalf("newest of %q: %v %t, by itself %v %t", key, ts, found, wantTS, wantFound)
		}
		if !found {
			continue
		}
		deleted, err := n.Deleted()
		check(t, err)
		payload, err := n.Append([]byte("before"))
		check(t, err)
		if want, _ := m.model.get(key, hlc.MaxTimestamp); deleted != wantTombstone || string(payload) != "before"+want.value {
			t.Fatalf("newest of %q: %q %t, the model says %q %t", key, payload, deleted, want.value, wantTombstone)
		}
	}
	m.reader.Close()
}

func (m *machine) Scan(t *rapid.T) {
	span, ts := spanGen(t), m.readTime(t)
	opts := ScanOptions{Reverse: rapid.Bool().Draw(t, "reverse")}
	if rapid.Bool().Draw(t, "limited") {
		opts.MaxKeys = rapid.IntRange(0, 3).Draw(t, "max keys")
		opts.MaxBytes = rapid.IntRange(0, 20).Draw(t, "max bytes")
	}
	want := m.model.scan(span, ts, opts.Reverse)
	var got []string
	var res ScanResult
	for left := span; ; left = res.Resume {
		res.Reset()
		if rapid.Bool().Draw(t, "with the reader") {
			check(t, m.reader.Scan(context.Background(), left, ts, opts, &res))
		} else {
			check(t, scanOnce(context.Background(), m.eng, left, ts, opts, &res))
		}
		for i := range res.Len() {
			got = append(got, string(res.Key(i))+"="+string(res.Value(i)))
		}
		if !res.More() {
			break
		}
		if res.Len() == 0 {
			t.Fatalf("a scan that ended early returned no row")
		}
	}
	if !slices.Equal(got, want) {
		t.Fatalf("scan %v at %v reverse=%t:\n got %q\nwant %q", span, ts, opts.Reverse, got, want)
	}
}

func (m *machine) Changed(t *rapid.T) {
	span, after := spanGen(t), m.readTime(t)
	upTo := m.readTime(t)
	wantKey, want := m.model.changed(span, after, upTo)
	got, key, err := changedSince(context.Background(), m.eng, span, after, upTo,
		rapid.IntRange(1, 5).Draw(t, "keys before the filter"))
	check(t, err)
	if got != want || string(key) != wantKey {
		t.Fatalf("changed %v in (%v, %v]: %t %q, the model says %t %q", span, after, upTo, got, key, want, wantKey)
	}
}

func (m *machine) RaiseThreshold(t *rapid.T) {
	wall := rapid.Int64Range(m.threshold.WallTime, m.now.WallTime).Draw(t, "threshold")
	m.threshold = m.threshold.Max(hlc.Timestamp{WallTime: wall})
}

func (m *machine) CollectGarbage(t *rapid.T) {
	limits := GCLimits{
		MaxKeys:     rapid.IntRange(0, 3).Draw(t, "max keys"),
		MaxVersions: rapid.IntRange(0, 3).Draw(t, "max versions"),
	}
	span := keys.Span{Start: []byte("k"), End: []byte("l")}
	for {
		refs, resume, _, err := ScanGarbage(context.Background(), m.eng, span, m.threshold, limits)
		check(t, err)
		b := m.eng.NewBatch()
		for _, r := range refs {
			check(t, DropVersion(b, r.Key, r.Garbage))
		}
		check(t, b.Commit())
		b.Close()
		if resume == nil {
			break
		}
		span.Start = resume
	}
	m.reader.Close()
	m.onlyNeededLeft(t)
}

// onlyNeededLeft compares all versions in the engine with those that a read at
// or after the threshold can tell from their absence.
func (m *machine) onlyNeededLeft(t *rapid.T) {
	var want, got []string
	for _, k := range m.model.sortedKeys() {
		vs := m.model.versions[k]
		for i := len(vs) - 1; i >= 0; i-- {
			below := vs[i].ts.LessEq(m.threshold)
			if !below || !vs[i].tombstone {
				want = append(want, fmt.Sprintf("%q@%v", k, vs[i].ts))
			}
			if below {
				break
			}
		}
	}
	it, err := m.eng.NewIter(storage.IterOptions{})
	check(t, err)
	for ok := it.First(); ok; ok = it.Next() {
		key, ts, err := DecodeVersion(it.Key())
		check(t, err)
		got = append(got, fmt.Sprintf("%q@%v", key, ts))
	}
	check(t, it.Close())
	if !slices.Equal(got, want) {
		t.Fatalf("after a full collection at %v:\n got %v\nwant %v", m.threshold, got, want)
	}
}

func (m *machine) Flush(t *rapid.T) {
	check(t, m.eng.Flush())
	if rapid.Bool().Draw(t, "compact") {
		m.reader.Close()
		check(t, m.eng.CompactAll(context.Background()))
	}
}

// Check is run after every step.
func (m *machine) Check(*rapid.T) {}

func check(t *rapid.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestModel(t *testing.T) {
	for i := range 5 { // each with as many runs as -rapid.checks says
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				m := newMachine(t)
				defer m.close(t)
				t.Repeat(rapid.StateMachineActions(m))
			})
		})
	}
}

// TestManyVersions exercises the seeks that replace long walks over versions.
func TestManyVersions(t *testing.T) {
	eng := testEngine(t)
	defer eng.Close()
	const versions = 3 * maxStepsBeforeSeek
	b := eng.NewBatch()
	for k := range 5 {
		for v := 1; v <= versions; v++ {
			key, value := fmt.Appendf(nil, "k%d", k), fmt.Appendf(nil, "%d.%d", k, v)
			if err := PutVersion(b, key, hlc.Timestamp{WallTime: int64(v)}, value); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := b.Commit(); err != nil {
		t.Fatal(err)
	}
	b.Close()
	for v := 0; v <= versions+1; v++ {
		for _, reverse := range []bool{false, true} {
			var res ScanResult
			err := scanOnce(context.Background(), eng, keys.Span{Start: []byte("k"), End: []byte("l")},
				hlc.Timestamp{WallTime: int64(v)}, ScanOptions{Reverse: reverse}, &res)
			if err != nil {
				t.Fatal(err)
			}
			if v == 0 {
				if res.Len() != 0 {
					t.Fatalf("%d rows before the first version", res.Len())
				}
				continue
			}
			if res.Len() != 5 {
				t.Fatalf("at %d reverse=%t: %d rows", v, reverse, res.Len())
			}
			for i := range 5 {
				k := i
				if reverse {
					k = 4 - i
				}
				if want := fmt.Appendf(nil, "%d.%d", k, min(v, versions)); !bytes.Equal(res.Value(i), want) {
					t.Fatalf("at %d reverse=%t: row %d is %q, want %q", v, reverse, i, res.Value(i), want)
				}
			}
		}
	}
}

// latest returns what a reader made for it knows of the newest version of a key.
func latest(eng *storage.Engine, key []byte) (ts hlc.Timestamp, tombstone, found bool, err error) {
	r := NewReader(eng)
	defer r.Close()
	it, err := r.pointIter()
	if err != nil {
		return ts, false, false, err
	}
	return version(r.eng, it, key, hlc.MaxTimestamp)
}

// scanOnce scans with a reader made for it.
func scanOnce(ctx context.Context, eng *storage.Engine, span keys.Span, ts hlc.Timestamp, opts ScanOptions, res *ScanResult) error {
	r := NewReader(eng)
	defer r.Close()
	return r.Scan(ctx, span, ts, opts, res)
}
