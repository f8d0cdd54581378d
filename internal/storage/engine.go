package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/must"
	"github.com/lichendb/lichen/internal/quota"
)

// stateDir is the subdirectory of the store that holds Pebble's files.
const stateDir = "state"

// lockName is the file of the store that the process locks which has it open.
const lockName = "LOCK"

// Engine is the state of one store: a sorted map of keys to values, most of
// them versioned, in one Pebble without a write-ahead log.
type Engine struct {
	opts  Options
	fs    *engineFS
	lock  io.Closer
	ident Ident
	db    *pebble.DB

	commits  commitCount
	versions *versionCache // nil if there is none
	points   iterPool
	scans    iterPool
	// largeReads bounds the blocks of large values that pooled iterators hold.
	largeReads largeReads

	health health
	events chan struct{} // capacity 1: a flush or compaction ended
	quit   chan struct{}
	wg     sync.WaitGroup
	closed atomic.Bool
	// reading counts the reads of keys under way, unread has one when the last has ended, the
	// store being closed.
	reading atomic.Int64
	unread  chan struct{}

	onFlush struct {
		sync.Mutex
		fns []func()
	}
	flushes       atomic.Uint64
	tables        atomic.Uint64 // made by NewVersionTable
	tablesDirMade atomic.Bool   // their directory is there
	flushed       flushNews
}

// Open opens the store in opts.Dir and creates it if the directory is empty. A
// store in use, a store of another version and a damaged one are refused.
func Open(opts Options) (*Engine, error) {
	opts.fill()
	e := &Engine{opts: opts, events: make(chan struct{}, 1), quit: make(chan struct{}), unread: make(chan struct{}, 1), largeReads: newLargeReads()}
	e.health.failed = make(chan struct{})
	e.fs = newEngineFS(opts.FS, e)
	e.points.e, e.scans.e = e, e
	if err := opts.FS.MkdirAll(opts.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("storage: create %s: %w", opts.Dir, err)
	}
	if err := syncDir(opts.FS, opts.FS.PathDir(opts.Dir)); err != nil {
		return nil, err
	}
	lock, err := lockStore(opts.FS, opts.Dir)
	if err != nil {
		return nil, err
	}
	e.lock = lock
	if err := e.open(); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return e, nil
}

func (e *Engine) open() error {
	dropped, err := dropBallast(e.opts.FS, e.opts.Dir)
	if err != nil {
		return err
	}
	if dropped {
		e.opts.Logger.Warn("the disk is full: the ballast was removed to make room for the start", "dir", e.opts.Dir)
	}
	ident, err := loadOrCreateIdent(e.opts.FS, e.opts.Dir, e.opts.ClusterID)
	if err != nil {
		return err
	}
	e.ident = ident
	if err := e.dropTables(); err != nil {
		return fmt.Errorf("storage: remove tables of before: %w", err)
	}
	dir := e.opts.FS.PathJoin(e.opts.Dir, stateDir)
	po := e.pebbleOptions()
	po.ErrorIfNotExists = ident.Created
	db, err := pebble.Open(dir, po)
	switch {
	case errors.Is(err, pebble.ErrDBDoesNotExist):
		return fmt.Errorf("%w: the store %s is in use since its creation, but %s holds no data",
			ErrCorrupted, e.opts.Dir, dir)
	case err != nil:
		return fmt.Errorf("storage: open %s: %w", dir, err)
	}
	e.db = db
	if !ident.Created {
		// From now on missing data is damage, not a store to be created.
		e.ident.Created = true
		if err := e.ident.save(e.opts.FS, e.opts.Dir); err != nil {
			return errors.Join(err, db.Close())
		}
	}
	e.CheckDisk()
	if err := e.takeBallast(); err != nil {
		e.opts.Logger.Warn("no space could be set aside", "dir", e.opts.Dir, "err", err)
	}
	e.versions = newVersionCache(e, e.opts.VersionCacheBytes)
	e.wg.Add(1)
	go e.watch()
	return nil
}

func lockStore(fs vfs.FS, dir string) (io.Closer, error) {
	lock, err := fs.Lock(fs.PathJoin(dir, lockName))
	if err != nil {
		return nil, fmt.Errorf("%w by another process: %s (stop that one, or give this one another directory): %w", ErrInUse, dir, err)
	}
	return lock, nil
}

// Ident returns the store's identity.
func (e *Engine) Ident() Ident { return e.ident }

// Values accounts for the large values that reads return; nil: nobody does.
func (e *Engine) Values() *quota.Values { return e.opts.Values }

// Close flushes and closes the engine. No write may be under way or follow, and no iterator be
// open; reads that begin later fail with ErrClosed.
func (e *Engine) Close() error {
	if e.closed.Swap(true) {
		return nil
	}
	close(e.quit)
	e.wg.Wait()
	e.points.sweep()
	e.scans.sweep()
	e.versions.close()
	var err error
	if !e.health.noSpace.Load() { // else there is no room to flush to; the log has the rest
		err = e.Flush()
	}
	if err := e.Err(); err != nil {
		// The goroutine that met the error may hold locks of Pebble, so nobody waits
		// for it; but its background work, which would try again and again, is to end.
		go func() {
			e.awaitReads()
			_ = e.db.Close()
		}()
		return errors.Join(err, e.lock.Close())
	}
	e.awaitReads()
	return errors.Join(err, e.db.Close(), e.lock.Close())
}

// Flush makes everything committed before the call durable. On a full disk it
// gives up with ErrDiskFull while Pebble keeps trying.
func (e *Engine) Flush() error {
	if err := e.Err(); err != nil {
		return err
	}
	done, err := e.db.AsyncFlush()
	if err != nil {
		return fmt.Errorf("storage: flush: %w", err)
	}
	for {
		select {
		case <-done:
			return nil
		case <-e.health.failed:
			return e.Err()
		case <-time.After(2 * noSpaceBackoff):
			if e.health.noSpace.Load() {
				return fmt.Errorf("storage: flush: %w", ErrDiskFull)
			}
		}
	}
}

// StartFlush begins a flush and does not wait for it; OnFlush tells its end.
func (e *Engine) StartFlush() error {
	if err := e.Err(); err != nil {
		return err
	}
	if _, err := e.db.AsyncFlush(); err != nil {
		return fmt.Errorf("storage: flush: %w", err)
	}
	return nil
}

// OnFlush registers fn to be called after flushes, on a goroutine of the engine
// that holds no lock: fn may read the engine. Flushes that end close together
// are notified once.
func (e *Engine) OnFlush(fn func()) {
	e.onFlush.Lock()
	defer e.onFlush.Unlock()
	e.onFlush.fns = append(e.onFlush.fns, fn)
}

// watch does what the event listener must not, because it is called with locks
// of Pebble held.
func (e *Engine) watch() {
	defer e.wg.Done()
	defer must.Report(e.opts.OnFatal)
	var notified uint64
	for {
		select {
		case <-e.quit:
			return
		case <-e.events:
		}
		// Iterators opened before keep replaced memtables and files alive.
		e.commits.begin()
		e.commits.end()
		e.points.sweep()
		e.scans.sweep()
		e.CheckDisk()
		if n := e.flushes.Load(); n != notified {
			notified = n
			e.onFlush.Lock()
			fns := e.onFlush.fns
			e.onFlush.Unlock()
			for _, fn := range fns {
				fn()
			}
		}
	}
}

// CompactRange rewrites the part of the engine from start up to but not
// including end. So it drops deleted keys.
func (e *Engine) CompactRange(ctx context.Context, start, end []byte) error {
	s := AppendEngineKey(nil, start, hlc.Timestamp{})
	n := AppendEngineKey(nil, end, hlc.Timestamp{})
	if err := e.db.Compact(ctx, s, n, false); err != nil {
		return fmt.Errorf("storage: compact: %w", err)
	}
	return nil
}

// CompactAll rewrites the whole engine.
func (e *Engine) CompactAll(ctx context.Context) error {
	return e.CompactRange(ctx, []byte{0x00}, []byte{0xff, 0xff})
}

// ApproximateSize estimates the bytes on disk of the keys from start up to but
// not including end.
func (e *Engine) ApproximateSize(start, end []byte) (uint64, error) {
	s := AppendEngineKey(nil, start, hlc.Timestamp{})
	n := AppendEngineKey(nil, end, hlc.Timestamp{})
	size, err := e.db.EstimateDiskUsage(s, n)
	if err != nil {
		return 0, e.readError(err)
	}
	return size, nil
}
