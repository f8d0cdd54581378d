package raftlog

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/lichendb/lichen/internal/fs"
)

// model is what a log should hold.
type model map[GroupID]*modelGroup

type modelGroup struct {
	replica uint64
	hard    HardState
	mark    Mark
	ents    []Entry // from mark.Index+1 on
}

func (g *modelGroup) last() uint64 { return g.mark.Index + uint64(len(g.ents)) }

func (g *modelGroup) term(i uint64) uint64 {
	if i == g.mark.Index {
		return g.mark.Term
	}
	return g.ents[i-g.mark.Index-1].Term
}

func (m model) clone() model {
	c := model{}
	for id, g := range m {
		cg := *g
		cg.ents = slices.Clone(g.ents)
		c[id] = &cg
	}
	return c
}

// operation is one step of a random history.
type operation struct {
	ws       []Write
	truncate *Mark
	destroy  bool
	group    GroupID
	replica  uint64
}

func (o operation) String() string {
	switch {
	case o.truncate != nil:
		return fmt.Sprintf("truncate %d at %v", o.group, *o.truncate)
	case o.destroy:
		return fmt.Sprintf("destroy %d/%d", o.group, o.replica)
	}
	s := ""
	for _, w := range o.ws {
		s += fmt.Sprintf("write %d/%d reset=%v hard=%v", w.Group, w.Replica, w.Reset, w.HardState)
		if n := len(w.Entries); n > 0 {
			s += fmt.Sprintf(" entries %d+%d term %d size %d", w.Entries[0].Index, n, w.Entries[0].Term, len(w.Entries[0].Data))
		}
		s += "; "
	}
	return s
}

func (o operation) do(l *Log) error {
	switch {
	case o.truncate != nil:
		return l.Truncate(o.group, o.truncate.Index, o.truncate.Term)
	case o.destroy:
		return l.Destroy(o.group, o.replica)
	}
	return l.Append(o.ws)
}

func (m model) apply(o operation) {
	switch {
	case o.truncate != nil:
		g := m[o.group]
		g.ents = slices.Clone(g.ents[o.truncate.Index-g.mark.Index:])
		g.mark = *o.truncate
		return
	case o.destroy:
		delete(m, o.group)
		return
	}
	for _, w := range o.ws {
		g := m[w.Group]
		if g == nil {
			g = &modelGroup{replica: w.Replica}
			m[w.Group] = g
		}
		if w.Reset != nil {
			g.mark, g.ents = *w.Reset, nil
		}
		if len(w.Entries) > 0 {
			g.ents = append(slices.Clone(g.ents[:w.Entries[0].Index-g.mark.Index-1]), w.Entries...)
		}
		if w.HardState != nil {
			g.hard = *w.HardState
		}
	}
}

// history draws operations that fit a model.
type history struct {
	rng      *rand.Rand
	groups   int
	replicas uint64
	maxSize  int
}

func newHistory(seed uint64) *history {
	return &history{rng: rand.New(rand.NewPCG(seed, 1)), groups: 4, replicas: 1, maxSize: 900}
}

func (h *history) next(m model) operation {
	id := GroupID(h.rng.IntN(h.groups) + 1)
	g := m[id]
	switch p := h.rng.IntN(100); {
	case g != nil && p < 12 && len(g.ents) > 0:
		// Seldom for the last group, so that it pins segments.
		if id == GroupID(h.groups) && p > 1 {
			break
		}
		i := g.mark.Index + 1 + uint64(h.rng.IntN(len(g.ents)))
		return operation{group: id, truncate: &Mark{i, g.term(i)}}
	case g != nil && p < 14:
		return operation{group: id, replica: g.replica, destroy: true}
	}
	o := operation{ws: []Write{h.write(id, g)}}
	if other := GroupID(h.rng.IntN(h.groups) + 1); other != id && h.rng.IntN(3) == 0 {
		o.ws = append(o.ws, h.write(other, m[other]))
	}
	return o
}

func (h *history) write(id GroupID, g *modelGroup) Write {
	h.replicas++
	w := Write{Group: id, Replica: h.replicas}
	tmp := modelGroup{replica: h.replicas}
	if g != nil {
		tmp = *g
		w.Replica = g.replica
	}
	if h.rng.IntN(25) == 0 {
		w.Reset = &Mark{tmp.last() + uint64(h.rng.IntN(20)), tmp.term(tmp.last()) + 1}
		tmp.mark, tmp.ents = *w.Reset, nil
	}
	if w.Reset == nil || h.rng.IntN(2) == 0 {
		first, term := tmp.last()+1, tmp.term(tmp.last())
		if len(tmp.ents) > 0 && h.rng.IntN(6) == 0 {
			first -= uint64(h.rng.IntN(len(tmp.ents)) + 1)
			term += 1 + uint64(h.rng.IntN(2))
		}
		size := h.rng.IntN(h.maxSize)
		if h.rng.IntN(40) == 0 {
			size *= 30
		}
		w.Entries = entries(id, first, uint64(h.rng.IntN(4)+1), max(term, 1), size)
	}
	if h.rng.IntN(3) == 0 {
		w.HardState = &HardState{Term: tmp.hard.Term + 1, Vote: h.rng.Uint64N(4), Commit: tmp.hard.Commit + h.rng.Uint64N(5)}
	}
	return w
}

// differs returns how l differs from m. With lazy set truncations of m may be
// missing from l, as after a crash.
func (m model) differs(l *Log, lazy bool) error {
	if got := l.Groups(); len(got) != len(m) {
		return fmt.Errorf("groups are %v, want %d of them", got, len(m))
	}
	for id, g := range m {
		s, ok := l.State(id)
		if !ok {
			return fmt.Errorf("group %d is missing", id)
		}
		if s.Replica != g.replica || s.HardState != g.hard || s.Last != g.last() {
			return fmt.Errorf("group %d is %+v, want replica %d, %+v, last %d", id, s, g.replica, g.hard, g.last())
		}
		if s.Truncated != g.mark && (!lazy || s.Truncated.Index >= g.mark.Index) {
			return fmt.Errorf("group %d is truncated at %v, want %v", id, s.Truncated, g.mark)
		}
		if term, err := l.Term(id, g.mark.Index); err != nil || term != g.mark.Term {
			return fmt.Errorf("group %d: term of %d is %d, %v, want %d", id, g.mark.Index, term, err, g.mark.Term)
		}
		got, err := l.Entries(id, g.mark.Index+1, g.last()+1, noIndex)
		if err != nil {
			return fmt.Errorf("group %d: %w", id, err)
		}
		if len(got) != len(g.ents) {
			return fmt.Errorf("group %d: %d entries, want %d", id, len(got), len(g.ents))
		}
		for i, e := range g.ents {
			if got[i].Index != e.Index || got[i].Term != e.Term || got[i].Type != e.Type || !bytes.Equal(got[i].Data, e.Data) {
				return fmt.Errorf("group %d: entry %d of term %d, want term %d", id, e.Index, got[i].Term, e.Term)
			}
		}
	}
	return nil
}

// truncateAs takes over truncations that l has lost in a crash.
func (m model) truncateAs(t testing.TB, l *Log) {
	t.Helper()
	for id, g := range m {
		s, _ := l.State(id)
		if s.Truncated == g.mark {
			continue
		}
		ents, err := l.Entries(id, s.Truncated.Index+1, s.Last+1, noIndex)
		if err != nil {
			t.Fatal(err)
		}
		g.mark, g.ents = s.Truncated, ents
	}
}

// settle waits until the janitor has nothing to do, so that the order of file
// operations depends on the history only.
func settle(l *Log) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.janitor.running {
		l.changed.Wait()
	}
}

// check compares the index with the accounting that hangs on it.
func (l *Log) check(t testing.TB) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	live := map[uint32]int64{}
	var cached int64
	n := 0
	for id, g := range l.groups {
		if !g.exists {
			t.Fatalf("group %d does not exist", id)
		}
		if uint64(len(g.refs)) != g.Last-g.Truncated.Index {
			t.Fatalf("group %d: %d refs for (%d, %d]", id, len(g.refs), g.Truncated.Index, g.Last)
		}
		for _, r := range g.refs {
			live[r.slot] += r.bytes()
		}
		for _, d := range g.data {
			cached += cacheCost(d)
			n++
		}
	}
	for slot, bytes := range live {
		if s := l.segs[slot]; s == nil || s.liveBytes != bytes {
			t.Fatalf("segment in slot %d: %d bytes live, but accounted is %+v", slot, bytes, s)
		}
	}
	for slot, s := range l.segs {
		if live[slot] != s.liveBytes || (s.liveEntries == 0) != (s.dead || s == l.active) && s != l.active {
			t.Fatalf("segment in slot %d: %d bytes live, accounted %d, dead %v", slot, live[slot], s.liveBytes, s.dead)
		}
	}
	if cached != l.cache.bytes || n != l.cache.entries || cached > max(l.cache.limit, 0) {
		t.Fatalf("cache holds %d bytes in %d entries, accounted %d in %d, limit %d",
			cached, n, l.cache.bytes, l.cache.entries, l.cache.limit)
	}
}

// TestModel runs random histories with clean restarts and compares with the
// model after every step.
func TestModel(t *testing.T) {
	for seed := range 15 / uint64(stride()) {
		h := newHistory(seed)
		if seed%3 == 0 {
			h.maxSize = 5000
		}
		f, m := newTestFS(t), model{}
		l := mustOpen(t, f)
		for step := range 250 {
			o := h.next(m)
			if err := o.do(l); err != nil {
				t.Fatalf("seed %d step %d: %v: %v", seed, step, o, err)
			}
			m.apply(o)
			if err := m.differs(l, false); err != nil {
				t.Fatalf("seed %d step %d: %v: %v", seed, step, o, err)
			}
			if h.rng.IntN(40) == 0 {
				l.check(t)
				if err := l.Close(); err != nil {
					t.Fatal(err)
				}
				l = mustOpen(t, f)
				if err := m.differs(l, false); err != nil {
					t.Fatalf("seed %d step %d: after reopening: %v", seed, step, err)
				}
			}
		}
		l.check(t)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// crashRun runs a history on f until an operation fails, and returns what the
// log may hold then.
func crashRun(f fs.FS, h *history, m model, steps int) (acked, pending model, failed bool) {
	acked = m.clone()
	l, err := Open(testOptions(f))
	if err != nil {
		return acked, acked, true
	}
	defer func() { _ = l.Close() }()
	for range steps {
		o := h.next(acked)
		pending = acked.clone()
		pending.apply(o)
		if err := o.do(l); err != nil {
			return acked, pending, true
		}
		acked = pending
		settle(l)
	}
	return acked, acked, false
}

var crashSeeds = flag.Int("crashseeds", 1, "histories in which TestCrashEverywhere cuts the power")

// TestCrashEverywhere cuts the power at every file operation of a history, lets
// none, some or all of what was not synced survive, and checks that all that
// was acknowledged is there and that the log goes on.
func TestCrashEverywhere(t *testing.T) {
	const steps = 70
	for seed := range uint64(*crashSeeds) {
		count := &fs.Counter{}
		if _, _, failed := crashRun(fs.WithHooks(newTestFS(t), count.Hook), newHistory(seed), model{}, steps); failed {
			t.Fatal("failed without a fault")
		}
		for n := int64(0); n <= count.Count(); n += stride() {
			mem := newTestFS(t)
			loss := &fs.PowerLoss{N: n}
			acked, pending, _ := crashRun(fs.WithHooks(mem, loss.Hook), newHistory(seed), model{}, steps)
			for variant, keep := range []int{0, 50, 50, 100} {
				clone := fs.CrashClone(mem, keep, uint64(n)*7+uint64(variant))
				label := fmt.Sprintf("seed %d, crash after operation %d, keep %d%%", seed, n, keep)
				recoverAndGoOn(t, label, clone, acked, pending, uint64(n), keep)
			}
			// The process was killed, but what it wrote is still cached.
			label := fmt.Sprintf("seed %d, killed after operation %d", seed, n)
			recoverAndGoOn(t, label, mem, acked, pending, uint64(n), 0)
		}
	}
}

// recoverAndGoOn opens a crashed log, compares it, and crashes it once more.
func recoverAndGoOn(t *testing.T, label string, clone *fs.MemFS, acked, pending model, seed uint64, keep int) {
	t.Helper()
	for round := range 2 {
		m := verifyRecovered(t, fmt.Sprint(label, ", round ", round), clone, acked, pending)
		loss := &fs.PowerLoss{N: int64(3 + seed%29)}
		h := newHistory(seed + 1000)
		h.replicas += 1 << 20
		acked, pending, _ = crashRun(fs.WithHooks(clone, loss.Hook), h, m, 12)
		clone = fs.CrashClone(clone, keep, seed+uint64(round))
	}
	verifyRecovered(t, label+", at last", clone, acked, pending)
}

func verifyRecovered(t *testing.T, label string, f fs.FS, acked, pending model) model {
	t.Helper()
	names, err := f.List(testDir)
	if err != nil && len(acked) > 0 {
		t.Fatalf("%s: %v", label, err)
	}
	for _, name := range names {
		if _, ok := parseSegmentName(name); !ok {
			continue
		}
		if st, err := f.Stat(f.PathJoin(testDir, name)); err != nil || st.Size() < 16<<10 {
			t.Fatalf("%s: %s is not a whole segment\n%s", label, name, dump(f))
		}
	}
	l, err := Open(testOptions(f))
	if err != nil {
		t.Fatalf("%s: %v\n%s", label, err, dump(f))
	}
	m := acked
	if err := acked.differs(l, true); err != nil {
		m = pending
		if perr := pending.differs(l, true); perr != nil {
			t.Fatalf("%s: %v (nor with the last write: %v)\n%s", label, err, perr, dump(f))
		}
	}
	m = m.clone()
	m.truncateAs(t, l)
	l.check(t)
	if err := l.Close(); err != nil {
		t.Fatalf("%s: close: %v", label, err)
	}
	return m
}
