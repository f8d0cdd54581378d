package stmtstats

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/obs"
)

// Limits of a Registry.
const (
	// MaxText bounds the text of a fingerprint, in bytes.
	MaxText = 2000
	// MaxEntries is how many entries a node keeps. Each takes about two kilobytes and its text.
	MaxEntries = 2000
	// room is the part of them that gives way at once: an eighth.
	room = MaxEntries / 8
)

// Key is what an Entry is of.
type Key struct{ Text, Database, User string }

// Entry has the counts of a fingerprint.
type Entry struct {
	key    Key
	number uint64 // of the text
	first  int64  // Unix nanoseconds
	gone   atomic.Bool

	latency obs.Histogram

	// What each execution touches lies together, so that nodes with many processors move few cache lines between them.
	nanos, maxNanos atomic.Int64
	minNanos        atomic.Int64  // 0 before the first
	squares         atomic.Uint64 // the sum of the squares of the milliseconds: the bits of a float64
	rows, read      atomic.Int64
	lastUse         atomic.Int64
	planDue         atomic.Int64 // when the plan is looked at next, in Unix nanoseconds
	traces          traces

	retries, errors, written, waited atomic.Int64

	planMu sync.Mutex
	plans  []*Plan // the one seen last is the last
}

// Outcome is what one execution adds.
type Outcome struct {
	Took    time.Duration
	Rows    int64         // returned or changed
	Read    int64         // rows, or entries of indexes, that were read for it
	Written int64         // rows that were changed
	Retries int64         // attempts beyond the first
	Waited  time.Duration // for other transactions
	Failed  bool
	Ended   time.Time
}

// Is reports whether the entry is of a database and a user.
func (e *Entry) Is(database, user string) bool {
	return e.key.Database == database && e.key.User == user
}

// Text returns the fingerprint.
func (e *Entry) Text() string { return e.key.Text }

// Gone reports whether the entry has given way to others: what is recorded from now on is lost.
func (e *Entry) Gone() bool { return e.gone.Load() }

// Record adds an execution.
func (e *Entry) Record(o *Outcome) {
	e.latency.Record(o.Took)
	e.nanos.Add(int64(o.Took))
	for was := e.maxNanos.Load(); int64(o.Took) > was && !e.maxNanos.CompareAndSwap(was, int64(o.Took)); {
		was = e.maxNanos.Load()
	}
	for was := e.minNanos.Load(); (was == 0 || int64(o.Took) < was) && !e.minNanos.CompareAndSwap(was, max(int64(o.Took), 1)); {
		was = e.minNanos.Load()
	}
	e.addSquare(o.Took)
	if o.Rows != 0 {
		e.rows.Add(o.Rows)
	}
	if o.Read != 0 {
		e.read.Add(o.Read)
	}
	if o.Written != 0 {
		e.written.Add(o.Written)
	}
	if o.Retries != 0 {
		e.retries.Add(o.Retries)
	}
	if o.Waited != 0 {
		e.waited.Add(int64(o.Waited))
	}
	if o.Failed {
		e.errors.Add(1)
	}
	e.lastUse.Store(o.Ended.UnixNano())
}

// addSquare adds the square of what an execution has taken.
func (e *Entry) addSquare(took time.Duration) {
	ms := took.Seconds() * 1e3
	for {
		was := e.squares.Load()
		if e.squares.CompareAndSwap(was, math.Float64bits(math.Float64frombits(was)+ms*ms)) {
			return
		}
	}
}

// Registry has the entries of a node. The zero value is empty.
type Registry struct {
	mu      sync.RWMutex
	entries map[Key]*Entry
	// rounds is how often entries gave way since all were forgotten, forgot is when that was, in Unix nanoseconds; 0: never.
	rounds, forgot int64
	// gone are the sums of the entries that have given way.
	gone                         obs.Counts
	goneErrors, goneRetries, cut int64
	goneNanos                    int64
}

// Entry returns the entry of a fingerprint, which is made if there is none.
func (r *Registry) Entry(fingerprint, database, user string) *Entry {
	k := Key{fingerprint, database, user}
	r.mu.RLock()
	e := r.entries[k]
	r.mu.RUnlock()
	if e != nil {
		return e
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if e = r.entries[k]; e != nil {
		return e
	}
	if r.entries == nil {
		r.entries = map[Key]*Entry{}
	}
	if len(r.entries) >= MaxEntries {
		r.makeRoom()
	}
	e = &Entry{key: k, first: time.Now().UnixNano(), number: hash(k.Text)}
	e.lastUse.Store(e.first)
	r.entries[k] = e
	return e
}

// makeRoom has the entries that were not used for longest give way.
func (r *Registry) makeRoom() {
	list := make([]*Entry, 0, len(r.entries))
	for _, e := range r.entries {
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b *Entry) int { return cmp.Compare(a.lastUse.Load(), b.lastUse.Load()) })
	r.rounds++
	for _, e := range list[:room] {
		r.remove(e)
		r.cut++
	}
}

// remove takes an entry out, and keeps what it counted in the sums.
func (r *Registry) remove(e *Entry) {
	e.gone.Store(true)
	e.latency.AddTo(&r.gone)
	r.goneErrors += e.errors.Load()
	r.goneRetries += e.retries.Load()
	r.goneNanos += e.nanos.Load()
	delete(r.entries, e.key)
}

// Selection says of which entries something is meant: what is empty or 0 means any.
type Selection struct {
	User     string `json:",omitempty"`
	Database string `json:",omitempty"`
	Number   uint64 `json:",omitempty"` // of the fingerprint
}

// Forget removes entries. Their counts stay in the sums of the node.
func (r *Registry) Forget(of Selection, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for k, e := range r.entries {
		if (of.User == "" || of.User == k.User) && (of.Database == "" || of.Database == k.Database) && (of.Number == 0 || of.Number == e.number) {
			r.remove(e)
		}
	}
	if of == (Selection{}) {
		r.rounds, r.forgot = 0, now.UnixNano()
	}
}

// Kept returns how often entries gave way to others since all were forgotten, and when that was, in Unix nanoseconds; 0: never.
func (r *Registry) Kept() (rounds, forgot int64) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.rounds, r.forgot
}

// Totals are the sums of all statements that have ended on a node.
type Totals struct {
	Latency         obs.Counts
	Nanos           int64
	Errors, Retries int64
	Cut             int64 // entries that have given way
}

// Totals returns the sums.
func (r *Registry) Totals() Totals {
	r.mu.RLock()
	defer r.mu.RUnlock()
	t := Totals{Latency: r.gone, Nanos: r.goneNanos, Errors: r.goneErrors, Retries: r.goneRetries, Cut: r.cut}
	for _, e := range r.entries {
		e.latency.AddTo(&t.Latency)
		t.Nanos += e.nanos.Load()
		t.Errors += e.errors.Load()
		t.Retries += e.retries.Load()
	}
	return t
}

// Row is an entry at a time, as it travels between nodes.
type Row struct {
	Key
	Nanos, MaxNanos       int64
	MinNanos              int64
	Squares               float64 // the sum of the squares of the milliseconds
	Rows, Retries, Errors int64
	Read, Written         int64
	Waited                int64    // nanoseconds, for other transactions
	Plan                  string   // the id of the plan that was seen last, "" if none was
	First, Last           int64    // Unix nanoseconds
	Latency               []uint64 // obs.Counts, sparse
}

// Fingerprint is a number of the text, the same on all nodes.
func (r *Row) Fingerprint() string { return number(r.Text) }

// Number is the fingerprint as a number.
func (r *Row) Number() uint64 { return hash(r.Text) }

// List returns the entries that have taken most time, at most so many.
func (r *Registry) List(most int) []Row {
	list := r.byTime(most)
	out := make([]Row, 0, len(list))
	for _, e := range list {
		var c obs.Counts
		if e.latency.AddTo(&c); c.Total() == 0 {
			continue // its first execution has not ended
		}
		out = append(out, Row{
			Key: e.key, Nanos: e.nanos.Load(), MaxNanos: e.maxNanos.Load(), MinNanos: e.minNanos.Load(),
			Squares: math.Float64frombits(e.squares.Load()), Rows: e.rows.Load(), Retries: e.retries.Load(),
			Errors: e.errors.Load(), Read: e.read.Load(), Written: e.written.Load(), Waited: e.waited.Load(), Plan: e.lastPlan(), First: e.first, Last: e.lastUse.Load(), Latency: c.Sparse(),
		})
	}
	return out
}

// byTime returns the entries that have taken most time, at most so many.
func (r *Registry) byTime(most int) []*Entry {
	r.mu.RLock()
	list := make([]*Entry, 0, len(r.entries))
	for _, e := range r.entries {
		list = append(list, e)
	}
	r.mu.RUnlock()
	slices.SortFunc(list, func(a, b *Entry) int { return cmp.Compare(b.nanos.Load(), a.nanos.Load()) })
	return list[:min(len(list), most)]
}

// StatementPlans are the plans of a fingerprint, as they travel between nodes.
type StatementPlans struct {
	Key
	Calls, Nanos int64 // of all executions
	Plans        []Plan
}

// Fingerprint is that of Row.
func (p *StatementPlans) Fingerprint() string { return number(p.Text) }

// MaxPlanBytes bounds the texts that Plans returns.
const MaxPlanBytes = 4 << 20

// Plans returns the plans of the fingerprints that have taken most time, at most so many.
func (r *Registry) Plans(most int) []StatementPlans {
	var out []StatementPlans
	bytes := 0
	for _, e := range r.byTime(most) {
		x := StatementPlans{Key: e.key, Nanos: e.nanos.Load(), Plans: e.plansOf()}
		if len(x.Plans) == 0 {
			continue
		}
		var c obs.Counts
		e.latency.AddTo(&c)
		x.Calls = int64(c.Total())
		bytes += len(x.Text)
		for i := range x.Plans {
			bytes += len(x.Plans[i].Text)
		}
		if bytes > MaxPlanBytes {
			break
		}
		out = append(out, x)
	}
	return out
}
