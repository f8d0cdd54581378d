package raftlog

import (
	"errors"
	"fmt"
	"os"

	"github.com/lichendb/lichen/internal/fs"
)

// ErrMisplaced says that a file of a log is not where the log has it: it was removed, moved or
// replaced while it is in use.
var ErrMisplaced = errors.New("removed or replaced while it is in use")

// CheckPlace returns an ErrMisplaced if the segment in use is not in its place. Errors of the
// file system are none: they say nothing about the file.
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
