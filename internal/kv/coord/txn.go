package coord

import (
	"cmp"
	"context"
	"time"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kv/coord/readset"
	"github.com/lichendb/lichen/internal/kv/coord/writebuffer"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/must"
	"github.com/lichendb/lichen/internal/quota"
)

// Options configure a transaction.
type Options struct {
	Isolation kvpb.Isolation
	// ReadOnly transactions refuse writes and record no reads.
	ReadOnly bool
	// AsOf, if set, is the timestamp of all reads; the transaction is read-only.
	AsOf hlc.Timestamp
	// LocksOnly transactions take locks and read nothing: however long they last, no old version is
	// retained for them.
	LocksOnly bool
}

type state uint8

const (
	idle state = iota // no snapshot yet
	active
	spilled
	finished
)

// Txn is a transaction at its gateway. One goroutine uses it at a time. After Commit or Rollback,
// Reset makes it a new transaction.
type Txn struct {
	env  *Env
	opts Options
	meta kvpb.TxnMeta

	state state
	seq   int32 // number of the current statement, from 1
	// newest is the highest number so far: of a statement within the current one, if there was one. Writes have
	// it, so that they are numbered in the order in which they happen.
	newest int32
	// LockTimeout bounds each wait for a lock; 0 means without limit.
	LockTimeout time.Duration
	// Deadline, if set, is the highest timestamp at which the transaction may
	// commit. Reset clears it.
	Deadline hlc.Timestamp
	// Renew, if set, returns the current Deadline. The commit calls it before each attempt. Reset
	// clears it.
	Renew func() hlc.Timestamp

	buf         writebuffer.Buffer
	spillCtx    context.Context // see SetSpillContext
	reads       readset.Set
	locks       []lockedKey
	ambiguous   [][]byte      // see lockFailed
	unknown     bool          // see OutcomeUnknown
	mustRestart bool          // a lock was lost, so it does not help to run a statement again
	prefetched  prefetched    // see LockAhead
	lockKeys    [][]byte      // scratch of commit and release
	lockTables  []uint64      // scratch of commit
	hasRead     bool          // something was read at the present read timestamp
	certain     hlc.Timestamp // limit of uncertainty for the statement when it is run again
	observed    []kvpb.Observation
	clocks      []kvpb.Observation // clock readings of ObserveClocks
	renewals    uint8              // of the statement's snapshot
	moved       bool               // the snapshot is not a reading of the gateway's clock
	minTS       hlc.Timestamp      // newest version seen under a lock, or time of a check
	commitTS    hlc.Timestamp
	spill       spillState
	ahead       []*ReadAhead // not finished yet
	delegated   []*Delegated // likewise
	traffic     int64        // see Traffic
	read        int64        // see ReadEntries
	stmtBase    int          // writes before the current statement
	charged     int64
	check       check
	reserved    []kvpb.Span // see Reserve

	// Links of the registry of active transactions; guarded by its mutex.
	prev, next *Txn
	registered bool
	locksOnly  bool

	// wroteWithin says that statements within the current one have written something.
	wroteWithin bool
	// spare are responses whose memory no statement uses: see Nest.
	spare     responses
	getReq    kvpb.GetRequest
	getResp   kvpb.GetResponse
	scanReq   kvpb.ScanRequest
	page      kvpb.ScanResponse
	own       []ownWrite
	lockReq   kvpb.LockRequest
	lockResp  kvpb.LockResponse
	commitReq kvpb.CommitRequest
	writes    []kvpb.Write
}

// ScanOptions limit one page of a scan. A page may be smaller, even empty with Resume set. It may
// be larger because of the transaction's own writes.
type ScanOptions struct {
	MaxRows  int // 0: no limit
	MaxBytes int // 0: maxPageBytes
	Reverse  bool
	// ChangedSince, if set, asks for the keys, without values, that others have changed or deleted after it, and
	// perhaps for some that have not changed. The page has none of the transaction's own writes. It is for Scan
	// only, and not with Reverse.
	ChangedSince hlc.Timestamp
}

// maxPageBytes bounds a page of a scan that sets no limit.
const maxPageBytes = 1 << 20

// pageBytes is MaxBytes, or its default.
func (o ScanOptions) pageBytes() int { return cmp.Or(o.MaxBytes, maxPageBytes) }

// New returns a transaction that has not begun.
func New(env *Env) *Txn {
	t := &Txn{env: env}
	t.getReq.Txn, t.scanReq.Txn, t.lockReq.Txn, t.commitReq.Txn = &t.meta, &t.meta, &t.meta, &t.meta
	return t
}

// Reset makes t a new transaction; the old one must have finished.
func (t *Txn) Reset(o Options) {
	must.True(t.state == idle || t.state == finished, "C1: transaction restarted while active")
	t.opts = o
	t.meta = kvpb.TxnMeta{ID: t.env.nextTxnID(), Isolation: o.Isolation}
	t.state, t.seq, t.newest = idle, 0, 0
	t.minTS, t.commitTS, t.Deadline, t.Renew = hlc.Timestamp{}, hlc.Timestamp{}, hlc.Timestamp{}, nil
	t.buf.Reset()
	t.reads.Reset()
	clear(t.locks)
	t.locks = t.locks[:0]
	t.ambiguous, t.unknown, t.mustRestart, t.moved = nil, false, false, false
	t.prefetched.forget()
	t.spill = spillState{}
	t.check = check{}
	t.certain = hlc.Timestamp{}
	t.observed, t.clocks = t.observed[:0], t.clocks[:0]
}

// ID returns the transaction's id.
func (t *Txn) ID() kvpb.TxnID { return t.meta.ID }

// Isolation returns the isolation level.
func (t *Txn) Isolation() kvpb.Isolation { return t.opts.Isolation }

// SetOptions changes the options of a transaction. It returns false if the transaction has read.
func (t *Txn) SetOptions(o Options) bool {
	if t.state != idle {
		return false
	}
	t.opts, t.meta.Isolation = o, o.Isolation
	return true
}

// Begun reports whether the transaction has had a statement; then its options are fixed.
func (t *Txn) Begun() bool { return t.state != idle }

// ReadTimestamp returns the snapshot of the current statement; zero before the first statement.
func (t *Txn) ReadTimestamp() hlc.Timestamp { return t.meta.ReadTS }

// CommitTimestamp returns the commit timestamp; zero if the transaction wrote nothing.
func (t *Txn) CommitTimestamp() hlc.Timestamp { return t.commitTS }

// OutcomeUnknown reports whether Commit has returned an ambiguous error: the commit may have
// happened, or may happen yet, at any timestamp up to its deadline.
func (t *Txn) OutcomeUnknown() bool { return t.unknown }

// CommitAbove has the transaction commit above ts, which may be a time after its snapshot: it then commits at
// the present time, if what it has read is unchanged.
func (t *Txn) CommitAbove(ts hlc.Timestamp) { t.minTS = t.minTS.Max(ts) }

// Traffic returns how many bytes scans and delegated reads have moved between the gateway and other nodes, in all transactions
// that t was.
func (t *Txn) Traffic() int64 { return t.traffic }

// ReadEntries returns how many entries of others the transaction has read from ranges, in all transactions that t was, those among
// them that other nodes have read for it (Delegate).
func (t *Txn) ReadEntries() int64 { return t.read }

// HasWrites reports whether the transaction has writes that were not undone.
func (t *Txn) HasWrites() bool { return t.buf.Len() > 0 || t.state == spilled }

// BufferBytes returns the memory that buffered writes occupy.
func (t *Txn) BufferBytes() int64 { return t.buf.Bytes() }

// BeginStatement starts a statement. Its plain reads see all writes of earlier statements and, at
// READ COMMITTED, all commits of others up to now.
func (t *Txn) BeginStatement() {
	t.newest++
	t.seq = t.newest
	t.renewals, t.wroteWithin = 0, false
	t.prefetched.forget()
	t.stmtBase = t.spill.base + t.buf.Len()
	switch {
	case t.state == idle:
		t.begin()
	case t.opts.Isolation == kvpb.ReadCommitted && t.opts.AsOf.IsEmpty():
		t.newSnapshot(t.env.Clock.Now())
		if !t.certain.IsEmpty() {
			t.meta.UncertainTS = t.certain
		}
	}
	t.certain = hlc.Timestamp{}
}

// SetSpillContext sets the context that bounds how long Put and Delete wait for a spill in progress.
func (t *Txn) SetSpillContext(ctx context.Context) { t.spillCtx = ctx }

// ClearSpillContext lets Put and Delete wait for a spill in progress as long as it takes.
func (t *Txn) ClearSpillContext() { t.spillCtx = nil }

func (t *Txn) begin() {
	t.state = active
	if ts := t.opts.AsOf; !ts.IsEmpty() {
		t.meta.StartTS = ts
		t.setReadTS(ts)
	} else {
		ts = t.env.Clock.Now()
		t.meta.StartTS = ts
		t.newSnapshot(ts)
		for _, o := range t.clocks {
			t.observe(o)
		}
	}
	t.env.register(t)
}

func (t *Txn) remembersReads() bool {
	if t.opts.ReadOnly && t.env.MaxOffset == 0 {
		return false // its snapshot has no reason to move
	}
	return t.opts.Isolation != kvpb.ReadCommitted && t.opts.AsOf.IsEmpty() && !t.check.active
}

// handOver returns the value of a response. A large one belongs to the caller from then on.
func handOver(value *[]byte) []byte {
	v := *value
	if len(v) >= quota.LargeValue {
		*value = nil
	}
	return v
}

// Get reads a key in the statement's snapshot. The value is valid until the
// next call, one of quota.LargeValue bytes or more as long as it is referred to.
func (t *Txn) Get(ctx context.Context, key []byte) (value []byte, found bool, err error) {
	if val, del, _, ok := t.buf.Get(key, t.seq); ok {
		return val, !del, nil
	}
	if t.state == spilled {
		if w, _, ok, err := t.getSpilled(ctx, key, t.seq); ok || err != nil {
			return w.Value, !w.Deleted, err
		}
	}
	if err := t.getStored(ctx, key); err != nil {
		return nil, false, err
	}
	if t.getResp.Found {
		t.read++
	}
	return handOver(&t.getResp.Value), t.getResp.Found, nil
}

// refresh moves the snapshot to ts, a new reading of the gateway's clock, if all reads are
// unchanged there.
func (t *Txn) refresh(ctx context.Context, ts hlc.Timestamp) error {
	if t.reads.Len() > 0 {
		if err := t.endSpill(); err != nil { // its versions might count as changes
			return err
		}
		req := kvpb.RefreshRequest{Txn: &t.meta, Spans: t.reads.Spans(), From: t.meta.ReadTS, To: ts}
		within, span := traced(ctx, "refresh", nil, nil)
		err := t.env.Sender.Refresh(within, &req)
		if span.End(err); err != nil {
			return err
		}
	}
	t.setReadTS(ts)
	t.hasRead, t.moved = t.reads.Len() > 0, false
	return nil
}

// ReserveMemory reserves memory for a write of the given size before the caller encodes its value. It returns a
// *quota.ExceededError if there is none.
func (t *Txn) ReserveMemory(bytes int) error { return t.charge(int64(bytes)) }

// Put writes a key. The caller holds a lock on it, or on a key that covers it, as a row's key
// covers its index entries.
func (t *Txn) Put(key, value []byte) error { return t.write(key, value, false) }

// PutOwned is Put without a copy of a long value, which must not change any more.
func (t *Txn) PutOwned(key, value []byte) error {
	if len(value) <= writebuffer.MaxShared {
		return t.write(key, value, false)
	}
	if err := t.mayWrite(len(key) + len(value)); err != nil {
		return err
	}
	t.buf.PutOwned(key, value, false, t.newest)
	return t.maybeSpill(context.Background())
}

// Delete deletes a key, under the same condition as Put.
func (t *Txn) Delete(key []byte) error { return t.write(key, nil, true) }

func (t *Txn) write(key, value []byte, del bool) error {
	if err := t.mayWrite(len(key) + len(value)); err != nil {
		return err
	}
	t.buf.Put(key, value, del, t.newest)
	return t.maybeSpill(context.Background())
}

// mayWrite checks that the transaction may write, and reserves memory for a number of bytes.
func (t *Txn) mayWrite(bytes int) error {
	must.True(t.state == active || t.state == spilled, "C1: write outside a statement")
	must.True(!t.opts.ReadOnly && t.opts.AsOf.IsEmpty(), "C2: write in a read-only transaction")
	return t.charge(int64(bytes) + writebuffer.EntryOverhead + lockOverhead)
}

// Finished reports whether the transaction has committed or rolled back.
func (t *Txn) Finished() bool { return t.state == finished }

func cloneKey(key []byte) []byte { return append([]byte(nil), key...) }

// Options returns the transaction's options.
func (t *Txn) Options() Options { return t.opts }

// Snapshot is the state that a statement reads. Cursors and portals keep it to read on after later
// statements have begun.
type Snapshot struct {
	seq     int32
	base    int // writes before the statement
	readTS  hlc.Timestamp
	hasRead bool
}

// Snapshot returns the current statement's snapshot.
func (t *Txn) Snapshot() Snapshot {
	t.keepHistory()
	return t.present()
}

func (t *Txn) present() Snapshot {
	return Snapshot{seq: t.seq, base: t.stmtBase, readTS: t.meta.ReadTS, hasRead: t.hasRead}
}

// Use makes the following reads use an earlier statement's snapshot. It returns the present one,
// which the caller restores with Use; nothing may be written in between. At SERIALIZABLE the read
// timestamp stays, since all reads hold at it: it moves only after a refresh.
func (t *Txn) Use(s Snapshot) (present Snapshot) {
	present = t.present()
	back := s.seq > t.seq // back to the present: its reads go on
	t.seq, t.stmtBase = s.seq, s.base
	if t.opts.Isolation == kvpb.ReadCommitted {
		t.setReadTS(s.readTS)
		t.hasRead = s.hasRead || !back
	}
	return present
}
