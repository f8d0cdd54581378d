package raftlog

import (
	"errors"
	"fmt"
	"os"

	"github.com/lichendb/lichen/internal/fs"
)

// ErrMisplaced says that a file of the log is no longer in its place: it was removed, moved or
// replaced while in use.
var ErrMisplaced = errors.New("removed or replaced while it is in use")

// CheckPlace returns an ErrMisplaced if the active segment is not in its place. It ignores errors of
// the file system, which say nothing about the file.
func (l *Log) CheckPlace() error {
	s := l.inUse()
	if s == nil {
		return nil
	}
	opened, err := s.file.Stat()
	if err != nil {
		return nil
	}
	found, err := l.o.FS.Stat(s.path)
	switch {
	case l.inUse() != s: // another one took its place meanwhile
		return nil
	case errors.Is(err, os.ErrNotExist), err == nil && !fs.Same(opened, found):
		return fmt.Errorf("the segment %s of the raft log: %w", s.path, ErrMisplaced)
	}
	return nil
}

// inUse returns the segment that is being written, nil if there is none.
func (l *Log) inUse() *segment {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing {
		return nil
	}
	return l.active
}
