package stmtstats

import (
	"cmp"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/obs"
)

// Limits of the statistics of transaction blocks.
const (
	// MaxTxns is how many fingerprints of blocks a node keeps. Each takes about two kilobytes.
	MaxTxns = 1000
	// txnRoom is the part of them that gives way at once.
	txnRoom = MaxTxns / 8
	// MaxTxnStatements is how many statements the fingerprint of a block is made of; those that follow are counted only.
	MaxTxnStatements = 20
	// MaxRecent is how many of the last transactions are remembered by their ids, of those that took MinRecent.
	MaxRecent = 4096
	MinRecent = time.Millisecond
)

// Block is a transaction block on its way: which statements it had. The zero value is none.
type Block struct {
	began         time.Time
	hash          uint64
	statements    []*Entry // the first ones
	count         int64
	rows, retries int64
	// Failed says that only the end of the block is left to be run.
	Failed bool
}

// Open reports whether a block has begun.
func (b *Block) Open() bool { return !b.began.IsZero() }

// Begin begins a block.
func (b *Block) Begin(at time.Time) {
	*b = Block{began: at, statements: b.statements[:0]}
}

// Add adds a statement.
func (b *Block) Add(e *Entry, o *Outcome) {
	b.count++
	b.rows += o.Rows
	b.retries += o.Retries
	if len(b.statements) < MaxTxnStatements {
		b.statements = append(b.statements, e)
		const prime = 1099511628211 // of FNV
		b.hash = (b.hash ^ e.number) * prime
	}
}

// txnKey is what a txnEntry is of.
type txnKey struct {
	hash           uint64
	database, user string
}

// txnEntry has the counts of a fingerprint of blocks.
type txnEntry struct {
	key     txnKey
	queries []string
	latency obs.Histogram

	mu                                                            sync.Mutex
	nanos, maxNanos, statements, rows, retries, commits, rollback int64
	first, last                                                   int64 // Unix nanoseconds
}

// Txns has the statistics of a node's transaction blocks, and remembers who the last transactions were. The zero value is empty.
type Txns struct {
	mu      sync.RWMutex
	entries map[txnKey]*txnEntry

	recentMu sync.Mutex
	recent   []Recent
	next     int
}

// End adds a block that has ended, and ends it. It returns how long it took, and its first statements.
func (t *Txns) End(b *Block, database, user string, committed bool, at time.Time) (took time.Duration, queries []string) {
	took = at.Sub(b.began)
	if b.count == 0 {
		b.began = time.Time{}
		return took, nil
	}
	e := t.entry(b, txnKey{b.hash, database, user}, at)
	e.latency.Record(took)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.nanos += int64(took)
	e.maxNanos = max(e.maxNanos, int64(took))
	e.statements += b.count
	e.rows += b.rows
	e.retries += b.retries
	if committed {
		e.commits++
	} else {
		e.rollback++
	}
	e.last = at.UnixNano()
	clear(b.statements) // which may have given way
	b.began = time.Time{}
	return took, e.queries
}

// entry returns the entry of a block, which is made if there is none.
func (t *Txns) entry(b *Block, k txnKey, at time.Time) *txnEntry {
	t.mu.RLock()
	e := t.entries[k]
	t.mu.RUnlock()
	if e != nil {
		return e
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if e = t.entries[k]; e != nil {
		return e
	}
	if t.entries == nil {
		t.entries = map[txnKey]*txnEntry{}
	}
	if len(t.entries) >= MaxTxns {
		t.makeRoom()
	}
	e = &txnEntry{key: k, first: at.UnixNano(), last: at.UnixNano()}
	for _, s := range b.statements {
		e.queries = append(e.queries, s.key.Text)
	}
	t.entries[k] = e
	return e
}

// makeRoom has the entries that were not used for longest give way.
func (t *Txns) makeRoom() {
	list := make([]*txnEntry, 0, len(t.entries))
	used := map[*txnEntry]int64{}
	for _, e := range t.entries {
		e.mu.Lock()
		used[e] = e.last
		e.mu.Unlock()
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b *txnEntry) int { return cmp.Compare(used[a], used[b]) })
	for _, e := range list[:txnRoom] {
		delete(t.entries, e.key)
	}
}

// TxnRow is what the blocks of a fingerprint have cost, as it travels between nodes.
type TxnRow struct {
	Fingerprint               string
	Queries                   []string // of the first statements
	Database, User            string
	Nanos, MaxNanos           int64
	Commits, Rollbacks        int64
	Statements, Rows, Retries int64
	First, Last               int64 // Unix nanoseconds
	Latency                   []uint64
}

// List returns the entries that have taken most time, at most so many.
func (t *Txns) List(most int) []TxnRow {
	t.mu.RLock()
	out := make([]TxnRow, 0, len(t.entries))
	for _, e := range t.entries {
		var c obs.Counts
		e.latency.AddTo(&c)
		e.mu.Lock()
		out = append(out, TxnRow{
			Fingerprint: strconv.FormatUint(e.key.hash, 16), Queries: e.queries, Database: e.key.database, User: e.key.user, Nanos: e.nanos, MaxNanos: e.maxNanos,
			Commits: e.commits, Rollbacks: e.rollback, Statements: e.statements, Rows: e.rows, Retries: e.retries, First: e.first, Last: e.last, Latency: c.Sparse(),
		})
		e.mu.Unlock()
	}
	t.mu.RUnlock()
	slices.SortFunc(out, func(a, b TxnRow) int { return cmp.Compare(b.Nanos, a.Nanos) })
	return out[:min(len(out), most)]
}

// Recent says who a transaction was.
type Recent struct {
	ID             [2]uint64
	Queries        []string // their fingerprints
	Database, User string
}

// Remember notes who a transaction was that has ended, in place of the one that ended first.
func (t *Txns) Remember(r Recent) {
	t.recentMu.Lock()
	defer t.recentMu.Unlock()
	if len(t.recent) < MaxRecent {
		t.recent = append(t.recent, r)
		return
	}
	t.recent[t.next] = r
	t.next = (t.next + 1) % MaxRecent
}

// Known returns who those of some transactions were that are remembered.
func (t *Txns) Known(ids map[[2]uint64]bool) (out []Recent) {
	t.recentMu.Lock()
	defer t.recentMu.Unlock()
	for i := range t.recent {
		if ids[t.recent[i].ID] {
			out = append(out, t.recent[i])
		}
	}
	return out
}
