package store

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lichendb/lichen/internal/concurrency"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/must"
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/raftgroup"
	"github.com/lichendb/lichen/internal/raftlog"
	"github.com/lichendb/lichen/internal/replica"
	"github.com/lichendb/lichen/internal/sleep"
	"github.com/lichendb/lichen/internal/storage"
	"github.com/lichendb/lichen/internal/workers"
)

// maxWorkers bounds the goroutines that process raft groups. It is high because most of them wait for the
// log, and one sync serves all that wait. When a node dies, thousands of groups elect leaders, and the fewer
// syncs they need the sooner they are done.
const maxWorkers = 512

// Options configure a store. FS, Dir and Clock are required.
type Options struct {
	FS    fs.FS
	Dir   string
	Clock *hlc.Clock
	// CacheBytes is the size of the block cache, MemTableBytes that of one memtable.
	CacheBytes    int64
	MemTableBytes int
	// Values accounts for the large values that reads return. It may be nil.
	Values *quota.Values
	// SegmentBytes is the size of a log segment.
	SegmentBytes int64
	// LogCacheBytes bounds the log entries cached in memory. Zero means raftlog.DefaultCacheBytes.
	LogCacheBytes int64
	// LongWriteBytes bounds the long writes in flight. Zero means raftgroup.DefaultLongWrites.
	LongWriteBytes int64
	// GCTTL is how long old versions stay readable. Zero means DefaultGCTTL.
	GCTTL time.Duration
	// TTL returns how long old versions of the keys in [start, end) stay readable. nil means GCTTL.
	TTL func(start, end []byte) time.Duration
	// ClosedLag is the lag of closed timestamps. Zero means kvpb.ClosedLag.
	ClosedLag time.Duration
	// Protected returns the oldest protected timestamp in [start, end), zero if there is none, and the
	// timestamp as of which the protections were read. It is nil without protections.
	Protected func(start, end []byte) (asOf, oldest hlc.Timestamp)
	// OldestRead returns the oldest timestamp at which an active transaction reads, zero if there is none.
	OldestRead func() hlc.Timestamp
	Logger     *slog.Logger
	// Bootstrap makes an empty store a cluster of one node. Otherwise an empty store waits for a
	// call of Bootstrap or Join.
	Bootstrap bool
	// Snapshots bounds the snapshots sent and received.
	Snapshots SnapshotLimits
	// NoTableStats is passed to storage.Options.
	NoTableStats bool
	// OnFatal is called when the store can't continue. The process must end.
	OnFatal func(error)

	shared *shared // with the node's other stores, nil if there are none
}

func (o *Options) closedLag() time.Duration {
	if o.ClosedLag > 0 {
		return o.ClosedLag
	}
	return kvpb.ClosedLag
}

// checksAtOnce bounds the concurrent checksums of replicas.
const checksAtOnce = 1

// DefaultGCTTL is gc.ttlseconds where no zone sets it.
const DefaultGCTTL = 600 * time.Second

// Store is an open store.
type Store struct {
	opts  Options
	eng   *storage.Engine
	log   *raftlog.Log
	waits *concurrency.WaitGraph
	fresh bool
	// loaded says that the index has all replicas of the disk. Messages that arrive earlier are dropped.
	loaded atomic.Bool

	identity atomic.Pointer[Identity]
	net      Network
	txns     atomic.Pointer[replica.TxnDeps]

	mu        sync.Mutex // guards changes of index and removing
	removing  map[kvpb.RangeID]struct{}
	creating  sleep.Mutex
	creations atomic.Int32 // messages for which a replica is being created
	index     index
	snapshots snapshots
	disk      disk
	clock     clockFile
	clockFrom int64 // the clock's bound at the start
	placed    atomic.Pointer[[]place]
	removed   removedReplicas

	workers   *workers.Pool // processes raft groups
	ticking   ticking
	elections *elections
	support   supportChanges
	closing   *closing
	began     int64 // by the clock
	// checkSlots bounds the concurrent checksums of replicas.
	checkSlots chan struct{}
	// resolveSlots bounds the concurrent long intent resolutions.
	resolveSlots chan struct{}
	longWrites   *raftgroup.LongWrites
	stop         chan struct{}
	flushed      chan struct{}
	done         sync.WaitGroup
}

// Open opens a store and creates it if it does not exist. It serves after Start.
func Open(o Options) (*Store, error) {
	if o.GCTTL == 0 {
		o.GCTTL = DefaultGCTTL
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Store{
		opts: o, waits: concurrency.NewWaitGraph(), workers: workers.New(maxWorkers, o.OnFatal), creating: sleep.NewMutex(),
		stop: make(chan struct{}), flushed: make(chan struct{}, 1),
		checkSlots: make(chan struct{}, checksAtOnce), resolveSlots: make(chan struct{}, replica.MaxResolvers), elections: newElections(),
		support: supportChanges{poke: make(chan struct{}, 1)},
	}
	s.closing = newClosing(s, o.closedLag())
	var cache *storage.Cache
	var versions int64
	if o.shared != nil {
		s.waits, cache, versions = o.shared.waits, o.shared.cache, o.shared.versions
	}
	s.disk.watch = fs.NewWatch(o.FS)
	s.disk.answers()
	s.SetSlowSync(DefaultSlowSync)
	o.FS, o.OnFatal = s.disk.watch, s.explainMisplaced(o.OnFatal)
	s.opts.FS, s.opts.OnFatal = o.FS, o.OnFatal
	var err error
	s.eng, err = storage.Open(storage.Options{
		FS: o.FS, Dir: o.Dir, CacheBytes: o.CacheBytes, Cache: cache, VersionCacheBytes: versions,
		MemTableBytes: o.MemTableBytes, Values: o.Values, NoTableStats: o.NoTableStats, Logger: o.Logger, OnFatal: o.OnFatal,
	})
	if err != nil {
		return nil, err
	}
	s.longWrites = raftgroup.NewLongWrites(cmp.Or(o.LongWriteBytes, raftgroup.DefaultLongWrites), s.eng.AwaitFlush)
	s.log, err = raftlog.Open(raftlog.Options{
		FS: o.FS, Dir: o.FS.PathJoin(o.Dir, "raftlog"), SegmentBytes: o.SegmentBytes, CacheBytes: o.LogCacheBytes, OnFatal: o.OnFatal, Synced: s.disk.pace.synced,
	})
	if err != nil {
		if errors.Is(err, raftlog.ErrCorrupt) {
			err = fmt.Errorf("%w; %s", err, replica.LostAdvice)
		}
		return nil, errors.Join(fmt.Errorf("store %s: %w", o.Dir, err), s.eng.Close())
	}
	if err := s.open(); err != nil {
		return nil, errors.Join(fmt.Errorf("store %s: %w", o.Dir, err), s.closeFiles())
	}
	return s, nil
}

func (s *Store) open() error {
	s.clock, s.clockFrom = openClockFile(&s.opts)
	if s.opts.shared == nil {
		if err := s.startClock(); err != nil {
			return err
		}
	}
	if err := s.clearSnapshots(); err != nil {
		return err
	}
	if err := s.loadIdentity(); err != nil {
		return err
	}
	if s.opts.Bootstrap && s.Identity() == (Identity{}) {
		return s.Bootstrap(Identity{Cluster: s.Ident().ClusterID.String(), Node: 1, Store: 1})
	}
	return nil
}

// Start loads the replicas and begins background work. The only voter of a range replays its log and leads at
// once.
func (s *Store) Start() error {
	if err := s.loadReplicas(); err != nil {
		return err
	}
	for _, r := range s.Replicas() {
		if err := r.Start(); err != nil {
			return err
		}
	}
	s.eng.OnFlush(s.noteFlush)
	s.began = s.opts.Clock.Now().WallTime
	places := s.notePlaces()
	s.background(func() { s.watchPlaces(places) })
	s.background(s.closing.loop)
	s.background(s.maintain)
	s.background(s.watchDisk)
	s.background(s.collectLoop)
	if s.net.Support != nil {
		s.background(s.tickLoop)
		s.background(s.supportLoop)
	}
	return nil
}

// background runs a loop that halt waits for. A panic in it ends the store, as anywhere below kv.
func (s *Store) background(loop func()) {
	s.done.Go(func() {
		defer must.Report(s.opts.OnFatal)
		loop()
	})
}

// Close stops the replicas, flushes the engine and closes the files.
func (s *Store) Close() error {
	s.halt()
	s.opts.Clock.Stop()
	return s.closeFiles()
}

// halt stops the replicas and the background work.
func (s *Store) halt() {
	close(s.stop)
	s.done.Wait()
	s.snapshots.close()
	for _, r := range s.all() {
		r.Stop()
	}
	s.workers.Close()
}

func (s *Store) closeFiles() error {
	err := s.eng.Close()
	return errors.Join(err, s.log.Close(), s.clock.close())
}

// Dir returns the store's directory.
func (s *Store) Dir() string { return s.opts.Dir }

// Fresh reports whether Open created the store.
func (s *Store) Fresh() bool { return s.fresh }

// Ident returns the store's identity.
func (s *Store) Ident() storage.Ident { return s.eng.Ident() }

// Engine returns the engine, for metrics.
func (s *Store) Engine() *storage.Engine { return s.eng }

// Log returns the raft log, for metrics.
func (s *Store) Log() *raftlog.Log { return s.log }

// Waits returns the waits-for graph.
func (s *Store) Waits() *concurrency.WaitGraph { return s.waits }

// CollectBelow returns the timestamp below which versions of a range may be collected: now minus
// the TTL, or the oldest active read if that is earlier.
func (s *Store) CollectBelow(d *kvpb.RangeDescriptor) hlc.Timestamp {
	ttl := s.ttl(d)
	ts := hlc.Timestamp{WallTime: s.opts.Clock.PhysicalNow() - int64(ttl)}
	if s.opts.Protected != nil {
		// Protections stored after asOf protect nothing older than the TTL at that time
		// (kv.Protect).
		asOf, oldest := s.opts.Protected(d.StartKey, d.EndKey)
		ts = ts.Min(hlc.Timestamp{WallTime: asOf.WallTime - int64(ttl)})
		if !oldest.IsEmpty() {
			ts = ts.Min(oldest)
		}
	}
	if s.opts.OldestRead != nil {
		if oldest := s.opts.OldestRead(); !oldest.IsEmpty() {
			ts = ts.Min(oldest)
		}
	}
	return ts
}

// ttl returns how long old versions of a range stay readable.
func (s *Store) ttl(d *kvpb.RangeDescriptor) time.Duration {
	if s.opts.TTL != nil {
		return s.opts.TTL(d.StartKey, d.EndKey)
	}
	return s.opts.GCTTL
}

func (s *Store) admitWrite() error {
	if err := s.eng.WriteStatus(); err != nil {
		if errors.Is(err, storage.ErrDiskFull) {
			return &kvpb.DiskFullError{Cause: err}
		}
		return err
	}
	return nil
}

func (s *Store) maintain() {
	m := newMaintenance(s)
	tick := time.NewTicker(maintainEvery)
	defer tick.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-s.flushed:
			m.truncateLog()
			m.destroyLogs()
		case <-tick.C:
			m.tick()
		}
	}
}

func (s *Store) noteFlush() {
	select {
	case s.flushed <- struct{}{}:
	default:
	}
}

// ClearSpan deletes all versions of all keys in [start, end): the data of dropped tables, which no
// transaction can read any more.
func (s *Store) ClearSpan(ctx context.Context, start, end []byte) error {
	for _, r := range s.Replicas() {
		lo, hi := start, end
		if d := r.Desc(); bytes.Compare(lo, d.StartKey) < 0 {
			lo = d.StartKey
		}
		if d := r.Desc(); bytes.Compare(d.EndKey, hi) < 0 {
			hi = d.EndKey
		}
		if bytes.Compare(lo, hi) >= 0 {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := r.ClearSpan(lo, hi); err != nil {
			return err
		}
	}
	return nil
}

// closed reports whether the store is being closed.
func (s *Store) closed() bool {
	select {
	case <-s.stop:
		return true
	default:
		return false
	}
}
