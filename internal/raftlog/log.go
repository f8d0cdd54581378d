package raftlog

import (
	"cmp"
	crand "crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/must"
	"github.com/lichendb/lichen/internal/sleep"
)

// Log is the log of all raft groups of a store.
type Log struct {
	o          Options
	lock       io.Closer
	queueLimit int64
	requests   sync.Pool

	// createMu is held while a segment is created, so that a writer in need
	// waits for the one the janitor is making instead of making another. It is
	// taken before mu.
	createMu sleep.Mutex

	mu      sync.Mutex
	changed sync.Cond // on mu: the queue has room, or the writer, a reader or the janitor has ended
	index

	active *segment
	// sealed: the next frame must open a new segment, because a failed attempt may
	// have left the valid header of a new segment on disk (invariant 6).
	sealed   bool
	spares   []*segment
	dead     []*segment // nothing live; not yet declared free on disk
	draining []*segment // declared free, but still being read
	removals []*segment
	nextSeq  uint64
	nextSlot uint32
	// marks are the groups truncated since the last frame.
	marks map[GroupID]struct{}

	applied     uint64   // number of the last frame that was applied or has failed
	next        *frame   // collects the requests of the next sync
	idle        []*frame // for reuse
	leading     bool     // the queue has a leader
	commitDelay commitDelay
	undo        []queuedState

	janitor janitorState
	readers int // reads of segments under way
	closing bool
	dirty   bool // something was written since Open
	failed  error
	stats   Stats
}

func (o *Options) fill() error {
	if o.FS == nil || o.Dir == "" {
		return errors.New("raftlog: FS and Dir are required")
	}
	if o.SegmentBytes == 0 {
		o.SegmentBytes = DefaultSegmentBytes
	}
	const minSegment, maxSegment = 2 * headerBlock, 1 << 30
	if o.SegmentBytes < minSegment || o.SegmentBytes > maxSegment || o.SegmentBytes%headerBlock != 0 {
		return fmt.Errorf("raftlog: segment size %d is not a multiple of %d in [%d, %d]",
			o.SegmentBytes, headerBlock, minSegment, maxSegment)
	}
	if o.Recycle == 0 {
		o.Recycle = DefaultRecycle
	}
	if o.CacheBytes == 0 {
		o.CacheBytes = DefaultCacheBytes
	}
	if o.Rand == nil {
		o.Rand = cryptoRandom
	}
	return nil
}

func cryptoRandom() uint64 {
	var b [8]byte
	_, err := crand.Read(b[:])
	must.NoError(err, "raftlog: crypto/rand")
	return binary.LittleEndian.Uint64(b[:])
}

// Open opens the log in o.Dir, or creates it, and recovers its state. It refuses a log
// that is in use, of another format version, or damaged before a point that was
// certainly durable. It drops an incomplete tail, which is what a crash leaves.
func Open(o Options) (*Log, error) {
	if err := o.fill(); err != nil {
		return nil, err
	}
	if err := makeDir(o.FS, o.Dir); err != nil {
		return nil, fmt.Errorf("raftlog: %w", err)
	}
	lock, err := o.FS.Lock(o.FS.PathJoin(o.Dir, lockName))
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrInUse, o.Dir, err)
	}
	l := &Log{
		o:          o,
		lock:       lock,
		queueLimit: min(MaxQueueBytes, max(o.SegmentBytes/4, 64<<10)),
		index: index{
			groups: map[GroupID]*group{},
			segs:   map[uint32]*segment{},
			cache:  cache{limit: o.CacheBytes},
		},
		createMu: sleep.NewMutex(),
		marks:    map[GroupID]struct{}{},
		next:     newFrame(1),
		nextSeq:  1,
		nextSlot: 1,
	}
	l.changed.L = &l.mu
	if err := l.recover(); err != nil {
		l.closeFiles()
		return nil, err
	}
	return l, nil
}

func makeDir(f fs.FS, dir string) error {
	if err := f.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := fs.SyncDir(f, f.PathDir(dir)); err != nil {
		return err
	}
	return nil
}

// Close waits for the writes under way, marks the end of the log and releases
// its files. Writes started after it fail with ErrClosed.
func (l *Log) Close() error {
	l.mu.Lock()
	if l.closing {
		l.mu.Unlock()
		return ErrClosed
	}
	l.closing = true
	l.changed.Broadcast()
	for l.leading || l.janitor.running || l.readers > 0 {
		l.changed.Wait()
	}
	err := l.failed
	if err == nil && l.active != nil && (l.dirty || len(l.marks) > 0) {
		l.leading = true
		if err = l.seal(); errors.Is(err, ErrDiskFull) {
			err = nil
		}
		l.leading = false
	}
	l.closeFiles()
	l.mu.Unlock()
	return err
}

// seal writes a last frame. It carries the pending truncations. Its synced offset
// proves that everything before it was durable, so that the next start detects any
// damage there. Without room for the frame, the log is complete as well, but damage of
// its last frame would pass for an incomplete tail.
func (l *Log) seal() error {
	f := l.takeFrame()
	if l.sealed || l.active.room(true) < frameSize(len(f.buf)-frameHeader) {
		return nil
	}
	l.mu.Unlock()
	err := l.commit(f)
	l.mu.Lock()
	l.finish(f, err)
	return err
}

func (l *Log) closeFiles() {
	for _, s := range l.segs {
		_ = s.file.Close()
	}
	for _, list := range [][]*segment{l.spares, l.draining, l.removals} {
		for _, s := range list {
			_ = s.file.Close()
		}
	}
	l.segs, l.spares, l.draining, l.removals = nil, nil, nil, nil
	_ = l.lock.Close()
}

// fail ends the log with err. The failed operation may or may not have reached the
// disk, which only recovery can find out. mu is held.
func (l *Log) fail(err error) error {
	if l.failed != nil {
		return l.failed
	}
	l.failed = fmt.Errorf("raftlog: failed for good: %w", err)
	l.changed.Broadcast()
	if l.o.OnFatal != nil {
		l.mu.Unlock()
		l.o.OnFatal(l.failed)
		l.mu.Lock()
	}
	return l.failed
}

// Groups returns the groups with a state in the log, in order.
func (l *Log) Groups() []GroupID {
	l.mu.Lock()
	defer l.mu.Unlock()
	ids := make([]GroupID, 0, len(l.groups))
	for id, g := range l.groups {
		if g.exists {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// get returns the group if it has a durable state, else nil. mu is held.
func (l *Log) get(id GroupID) *group {
	if g := l.groups[id]; g != nil && g.exists {
		return g
	}
	return nil
}

// State returns the durable state of group g, and false if it has none.
func (l *Log) State(g GroupID) (State, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if grp := l.get(g); grp != nil {
		return grp.State, true
	}
	return State{}, false
}

// HardState returns the durable hard state of group g, and false if the group has no
// state in the log.
func (l *Log) HardState(g GroupID) (HardState, bool) {
	s, ok := l.State(g)
	return s.HardState, ok
}

// FirstIndex returns the index of the first entry of g in the log, or of the next one
// if the log has none.
func (l *Log) FirstIndex(g GroupID) uint64 {
	s, _ := l.State(g)
	return s.Truncated.Index + 1
}

// LastIndex returns the index of the last durable entry of g.
func (l *Log) LastIndex(g GroupID) uint64 {
	s, _ := l.State(g)
	return s.Last
}

// BacklogBytes returns the bytes of all entries that are not truncated. A start must
// replay them, and they keep segments from being reused.
func (l *Log) BacklogBytes() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.live
}

// Stats returns counters and sizes.
func (l *Log) Stats() Stats {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.stats
	s.Groups, s.Segments, s.Spares = len(l.groups), len(l.segs), len(l.spares)
	for _, g := range l.segs {
		s.DiskBytes += g.size
	}
	for _, list := range [][]*segment{l.spares, l.draining, l.removals} {
		for _, g := range list {
			s.DiskBytes += g.size
		}
	}
	s.LiveBytes, s.CacheBytes, s.QueueBytes = l.live, l.cache.bytes, int64(len(l.next.buf)-frameHeader)
	return s
}

// Truncate drops the entries of g up to index, whose entry has the given term. The caller
// guarantees that their effects are durable. The truncation takes effect in memory at
// once, and on disk with the next write.
func (l *Log) Truncate(g GroupID, index, term uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	grp := l.get(g)
	switch {
	case l.failed != nil:
		return l.failed
	case l.closing:
		return ErrClosed
	case grp == nil:
		return fmt.Errorf("%w: %d", ErrUnknownGroup, g)
	case index <= grp.Truncated.Index:
		return nil
	case index > grp.Last:
		return fmt.Errorf("%w: group %d: truncation at %d beyond the last entry %d", ErrInvalid, g, index, grp.Last)
	case index >= grp.queued.lowest(l.applied):
		return fmt.Errorf("%w: group %d: truncation at %d, but entry %d is being replaced",
			ErrInvalid, g, index, grp.queued.lowest(l.applied))
	}
	if have, _ := grp.term(index); have != term {
		return fmt.Errorf("%w: group %d: truncation at %d of term %d, but the entry's is %d", ErrInvalid, g, index, term, have)
	}
	l.truncate(grp, Mark{Index: index, Term: term})
	grp.queued.mark = max(grp.queued.mark, index)
	l.marks[g] = struct{}{}
	l.kick()
	return nil
}

// Tail returns the mark before the last entries of g, as many as fit into bytes. It
// returns false if g has no state in the log.
func (l *Log) Tail(g GroupID, bytes int64) (Mark, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	grp := l.get(g)
	if grp == nil {
		return Mark{}, false
	}
	i := grp.Last
	for ; i > grp.Truncated.Index; i-- {
		if bytes -= grp.refs[i-grp.first()].bytes(); bytes < 0 {
			return Mark{Index: i, Term: grp.refs[i-grp.first()].term}, true
		}
	}
	return grp.Truncated, true
}

// Reset empties the log of g at (index, term), for a snapshot: the next entry is
// index+1. It returns when the change is durable.
func (l *Log) Reset(g GroupID, replica, index, term uint64) error {
	return l.Append([]Write{{Group: g, Replica: replica, Reset: &Mark{Index: index, Term: term}}})
}

// Destroy removes the state of a replica of g. It returns when the change is durable. A
// group without a state is no error. The caller guarantees that the replica's tombstone
// is durable.
func (l *Log) Destroy(g GroupID, replica uint64) error {
	return l.run(func(r *request) { r.destroy, r.group, r.replica = true, g, replica })
}

// checkpoint collects the durable state of all groups and the segments that
// hold it, for the head of a new segment. mu is held.
func (l *Log) checkpoint() *checkpoint {
	c := &checkpoint{}
	for _, s := range l.segs {
		c.segments = append(c.segments, liveSegment{s.id, uint64(s.off)})
	}
	slices.SortFunc(c.segments, func(a, b liveSegment) int { return cmp.Compare(a.id, b.id) })
	for id, g := range l.groups {
		if g.exists {
			c.groups = append(c.groups, groupCheckpoint{id, g.State})
		}
	}
	slices.SortFunc(c.groups, func(a, b groupCheckpoint) int { return cmp.Compare(a.group, b.group) })
	return c
}
