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

// PlaceEvery is how often a store looks whether its files are still where it has them. The files
// that are open go on to take what is written, and no start would find it.
const PlaceEvery = 2 * time.Second

// placed are the files and directories of a store that stay what they are while it is open. Of
// the raft log's segments the one in use is looked at (raftlog.CheckPlace).
var placed = []string{"", clockFileName, storage.VersionFile, "LOCK", "state", "state/LOCK", "raftlog", "raftlog/LOCK"}

// place is a file of a store and what was found there when the store was opened.
type place struct {
	path string
	was  fs.FileInfo
}

// notePlaces returns those of the store's files that are there.
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

// MisplacedError says that files of a store were removed, moved or replaced while it is open.
type MisplacedError struct{ Err error }

// Error implements error.
func (e *MisplacedError) Error() string {
	return fmt.Sprintf("%v: what the node acknowledges from now on would be lost. If it was moved, put it back and start the node again; otherwise %s",
		e.Err, replica.LostAdvice)
}

// Unwrap returns what was found.
func (e *MisplacedError) Unwrap() error { return e.Err }

// sayMisplaced has a store end for the reason that its files are gone, if what failed did not
// find one. Other failures are returned as they are: the disk may answer nothing any more.
func (s *Store) sayMisplaced(fatal func(error)) func(error) {
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

// watchPlaces ends the store when its files are not in their places any more.
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

// misplaced looks for files that are not in their places, the log's segment in use included.
func (s *Store) misplaced(all []place) error {
	if err := missing(s.opts.FS, all); err != nil {
		return err
	}
	return s.log.CheckPlace()
}

// missing looks for files that are not in their places. Errors of the file system say nothing
// about that.
func missing(f fs.FS, all []place) error {
	for _, p := range all {
		now, err := f.Stat(p.path)
		if errors.Is(err, os.ErrNotExist) || err == nil && !fs.Same(p.was, now) {
			return fmt.Errorf("%s: %w", p.path, raftlog.ErrMisplaced)
		}
	}
	return nil
}
