package store

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/raftlog"
	"github.com/lichendb/lichen/internal/replica"
	"github.com/lichendb/lichen/internal/storage"
)

// PlaceEvery is the interval at which a store checks that its files are still in place. Removed files that
// are open still accept writes, which no start would find.
const PlaceEvery = 2 * time.Second

// placed are the files and directories that stay the same while a store is open. Of the raft log, only the
// segment in use is checked (raftlog.CheckPlace).
var placed = []string{"", ClockFile, storage.VersionFile, "LOCK", "state", "state/LOCK", "raftlog", "raftlog/LOCK"}

// place is a file of a store, as it was when the store was opened.
type place struct {
	path string
	was  fs.FileInfo
}

// notePlaces returns the store's existing files.
func (s *Store) notePlaces() (out []place) {
	defer func() { s.placed.Store(&out) }()
	for _, name := range placed {
		path := s.opts.Dir
		if name != "" {
			path = s.opts.FS.PathJoin(path, name)
		}
		if was, err := s.opts.FS.Stat(path); err == nil {
			out = append(out, place{path, was})
		}
	}
	return out
}

// MisplacedError reports that files of an open store were removed, moved or replaced.
type MisplacedError struct{ Err error }

// Error implements error.
func (e *MisplacedError) Error() string {
	return fmt.Sprintf("%v: what the node acknowledges from now on would be lost. If it was moved, put it back and start the node again; otherwise %s",
		e.Err, replica.LostAdvice)
}

// Unwrap returns the cause.
func (e *MisplacedError) Unwrap() error { return e.Err }

// explainMisplaced wraps a store's OnFatal: if a file was not found because the store's files are gone, the
// error says so. It passes other errors on without a check, since the disk may no longer answer.
func (s *Store) explainMisplaced(fatal func(error)) func(error) {
	if fatal == nil {
		return nil
	}
	return func(err error) {
		if all := s.placed.Load(); all != nil && errors.Is(err, os.ErrNotExist) {
			if gone := missing(s.opts.FS, *all); gone != nil {
				err = &MisplacedError{gone}
			}
		}
		fatal(err)
	}
}

// watchPlaces ends the store when its files are no longer in place.
func (s *Store) watchPlaces(all []place) {
	t := time.NewTicker(PlaceEvery)
	defer t.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-t.C:
		}
		err := s.misplaced(all)
		if err == nil {
			continue
		}
		s.opts.Logger.Error("files of the store are gone", "dir", s.opts.Dir, "err", err)
		if s.opts.OnFatal != nil {
			s.opts.OnFatal(&MisplacedError{err})
		}
		return
	}
}

// misplaced checks that all files are in place, including the log's segment in use.
func (s *Store) misplaced(all []place) error {
	if err := missing(s.opts.FS, all); err != nil {
		return err
	}
	return s.log.CheckPlace()
}

// missing checks that all files are in place. It ignores errors of the file system.
func missing(f fs.FS, all []place) error {
	for _, p := range all {
		now, err := f.Stat(p.path)
		if errors.Is(err, os.ErrNotExist) || err == nil && !fs.Same(p.was, now) {
			return fmt.Errorf("%s: %w", p.path, raftlog.ErrMisplaced)
		}
	}
	return nil
}
