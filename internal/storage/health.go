package storage

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Errors of the engine, to be tested with errors.Is.
var (
	// ErrInUse means that another process, or this one, has the store open.
	ErrInUse = errors.New("storage: the store is in use")
	// ErrVersion means that the store was written by an incompatible version.
	ErrVersion = errors.New("storage: the store has another format version")
	// ErrEncrypted means that the store is encrypted, and was opened without its keys.
	ErrEncrypted = errors.New("storage: the store is encrypted")
	// ErrWrongCluster means that the store belongs to another cluster.
	ErrWrongCluster = errors.New("storage: the store belongs to another cluster")
	// ErrClosed means that the engine was closed before.
	ErrClosed = errors.New("storage: the store is closed")
	// ErrCorrupted means that stored bytes are not those that were written.
	ErrCorrupted = errors.New("storage: the store is damaged")
	// ErrDiskFull means that there is no room for more data. Reads go on.
	ErrDiskFull = errors.New("storage: the disk is full")
	// ErrFailed means that the store met an error it cannot go on from.
	ErrFailed = errors.New("storage: the store has failed")
)

type health struct {
	once   sync.Once
	fatal  atomic.Pointer[error]
	failed chan struct{} // closed once fatal is set
	// noSpace is set when a write fails because the disk is full. The next flush or
	// compaction that succeeds clears it; Pebble keeps trying.
	noSpace atomic.Bool
	// lowSpace is set while less than the reserve is free.
	lowSpace atomic.Bool
}

// Err returns the error the store failed with, or nil.
func (e *Engine) Err() error {
	if p := e.health.fatal.Load(); p != nil {
		return *p
	}
	return nil
}

// WriteStatus says whether the store can take more data: nil, or an error that
// is ErrDiskFull or ErrFailed. It is cheap; ask before proposing a write. What
// is in the log already is applied all the same.
func (e *Engine) WriteStatus() error {
	if err := e.Err(); err != nil {
		return err
	}
	if e.health.noSpace.Load() || e.health.lowSpace.Load() {
		return ErrDiskFull
	}
	return nil
}

// CheckDisk compares the free space with the reserve and returns WriteStatus.
// The engine calls it after flushes and compactions; the store calls it now and
// then, as other writers fill the disk too.
func (e *Engine) CheckDisk() error {
	usage, err := e.opts.FS.GetDiskUsage(e.opts.Dir)
	if err == nil {
		low := usage.AvailBytes < uint64(e.opts.ReserveBytes)
		if e.health.lowSpace.Swap(low) != low {
			e.opts.Logger.Warn("free disk space crossed the reserve", "dir", e.opts.Dir,
				"available", usage.AvailBytes, "reserve", e.opts.ReserveBytes)
		}
	} // else the file system cannot tell (memory): only failed writes show it
	return e.WriteStatus()
}

// fail records the first fatal error and tells the owner of the store.
func (e *Engine) fail(err error) {
	e.health.once.Do(func() {
		err = fmt.Errorf("%w: %w", ErrFailed, err)
		e.health.fatal.Store(&err)
		close(e.health.failed)
		e.opts.Logger.Error("store failed", "dir", e.opts.Dir, "err", err)
		if e.opts.OnFatal == nil {
			panic(err)
		}
		e.opts.OnFatal(err)
	})
}

// background handles an error of a flush or a compaction. Pebble keeps the inputs
// and tries again, which is right only if the disk is full. After any other error,
// above all a failed sync, the contents of the disk are unknown: the engine fails.
func (e *Engine) background(err error) {
	switch {
	case err == nil, errors.Is(err, pebble.ErrCancelledCompaction), errors.Is(err, pebble.ErrClosed):
	case vfs.IsNoSpaceError(err):
		if !e.health.noSpace.Swap(true) {
			e.opts.Logger.Error("disk full: writes are refused until a flush succeeds",
				"dir", e.opts.Dir, "err", err)
		}
	default:
		e.fail(err)
	}
}

func (e *Engine) signal() {
	select {
	case e.events <- struct{}{}:
	default:
	}
}

// eventListener only notes and signals: Pebble calls it with its locks held.
func (e *Engine) eventListener() *pebble.EventListener {
	return &pebble.EventListener{
		BackgroundError: e.background,
		DataCorruption: func(info pebble.DataCorruptionInfo) {
			// The reader gets the error too; a compaction ends in background.
			e.opts.Logger.Error("damaged file", "path", info.Path, "err", info.Details)
		},
		FlushEnd: func(info pebble.FlushInfo) {
			// A flush of nothing carries an error of its own, which is none. After
			// a real one, OnFlush is called for nothing, which does no harm.
			if info.Err == nil {
				e.health.noSpace.Store(false)
			}
			e.flushes.Add(1)
			e.flushed.ended()
			e.signal()
		},
		CompactionEnd: func(info pebble.CompactionInfo) {
			if info.Err == nil && len(info.Output.Tables) > 0 {
				e.health.noSpace.Store(false)
			}
			e.signal()
		},
		LowDiskSpace: func(info pebble.LowDiskSpaceInfo) {
			e.opts.Logger.Warn("low disk space", "available", info.AvailBytes, "total", info.TotalBytes)
		},
		WriteStallBegin: func(info pebble.WriteStallBeginInfo) {
			e.opts.Logger.Warn("commits wait for the engine", "reason", info.Reason)
		},
	}
}

// pebbleLogger carries Pebble's log to ours.
type pebbleLogger struct{ e *Engine }

var _ pebble.Logger = pebbleLogger{}

// Infof is part of pebble.Logger.
func (l pebbleLogger) Infof(format string, args ...any) { l.log(slog.LevelDebug, format, args) }

// Errorf is part of pebble.Logger.
func (l pebbleLogger) Errorf(format string, args ...any) { l.log(slog.LevelError, format, args) }

// Fatalf is part of pebble.Logger; Pebble does not expect it to return.
func (l pebbleLogger) Fatalf(format string, args ...any) {
	l.e.fail(fmt.Errorf(format, args...))
	<-l.e.quit
	select {} // Pebble's locks are held: there is nothing to go on with
}

func (l pebbleLogger) log(level slog.Level, format string, args []any) {
	ctx := context.Background()
	if log := l.e.opts.Logger; log.Enabled(ctx, level) {
		log.Log(ctx, level, strings.TrimSpace(fmt.Sprintf(format, args...)))
	}
}
