package raftlog

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/lichendb/lichen/internal/fs"
)

// segment is one file of the log. Its name holds the slot, which never changes. The id
// in its header identifies the present use of the file.
type segment struct {
	slot uint32
	path string
	file fs.File
	size int64
	id   segID // zero: spare

	off     int64 // end of the frames
	synced  int64 // what is known to be durable
	dead    bool  // nothing live, waiting to be declared free
	readers int   // while positive, the file must not be reused
	claimed bool  // the next write goes behind the last one (claim)

	liveEntries, liveBytes int64
}

const (
	segmentSuffix = ".rlog"
	tempSuffix    = ".tmp"
	lockName      = "LOCK"
	zeroChunk     = 1 << 20
	// zeroSync is the number of bytes that are zeroed between two syncs: a larger sync
	// would delay those of the log.
	zeroSync = 8 << 20
)

func segmentName(slot uint32) string { return fmt.Sprintf("%08d%s", slot, segmentSuffix) }

// parseSegmentName returns the slot in a segment's file name.
func parseSegmentName(name string) (uint32, bool) {
	num, ok := strings.CutSuffix(name, segmentSuffix)
	if !ok || len(num) < 8 {
		return 0, false
	}
	n, err := strconv.ParseUint(num, 10, 32)
	return uint32(n), err == nil && n > 0
}

// room is the number of bytes that fit behind the frames. A reserve is left for control
// frames, which have no entries: they free segments, so that they must have room when
// the disk is full.
func (s *segment) room(control bool) int64 {
	free := s.size - s.off
	if !control {
		free -= controlReserve(s.size)
	}
	return free
}

func controlReserve(size int64) int64 { return min(64<<10, size/16) &^ (frameAlign - 1) }

// createSegment makes a new spare segment of zeros, and syncs it. The file gets its final
// name only when it is complete, so that a segment file is never short.
func createSegment(o *Options, slot uint32, size int64) (*segment, error) {
	path := o.FS.PathJoin(o.Dir, segmentName(slot))
	temp := path + tempSuffix
	if err := zeroFile(o, temp, size); err != nil {
		_ = o.FS.Remove(temp)
		return nil, err
	}
	if err := o.FS.Rename(temp, path); err != nil {
		_ = o.FS.Remove(temp)
		return nil, err
	}
	if err := fs.SyncDir(o.FS, o.Dir); err != nil {
		_ = o.FS.Remove(path)
		return nil, &syncError{o.Dir, err}
	}
	file, err := o.FS.OpenReadWrite(path, fs.WriteUnspecified)
	if err != nil {
		_ = o.FS.Remove(path)
		return nil, err
	}
	return &segment{slot: slot, path: path, file: file, size: size}, nil
}

// zeroFile writes a file of zeros and syncs it.
func zeroFile(o *Options, path string, size int64) (err error) {
	f, err := o.FS.Create(path, fs.WriteUnspecified)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
	}()
	left := size
	if o.NoZeroFill {
		left = min(left, headerBlock)
	}
	zeros := make([]byte, min(zeroChunk, left))
	for sinceSync := int64(0); left > 0; {
		n := min(int64(len(zeros)), left)
		clear(zeros) // Write may scribble on its argument
		k, err := f.Write(zeros[:n])
		if err := full(k, err, zeros[:n]); err != nil {
			return err
		}
		left -= n
		if sinceSync += n; sinceSync >= zeroSync {
			if err := f.SyncData(); err != nil {
				return &syncError{path, err}
			}
			sinceSync = 0
		}
	}
	if err := f.Sync(); err != nil {
		return &syncError{path, err}
	}
	return nil
}

// full returns the error of a write, and one for a short write without an error.
func full(n int, err error, b []byte) error {
	if err == nil && n < len(b) {
		return fmt.Errorf("wrote %d of %d bytes", n, len(b))
	}
	return err
}

// claim prepares the file for writes from off on, behind which nothing is of use: it was opened, is reused, or
// a write has failed. An encrypted file must not be written twice with the same key stream.
func (s *segment) claim(off int64) error {
	if s.claimed {
		return nil
	}
	if err := fs.Rewrite(s.file, off); err != nil {
		return fmt.Errorf("write %s anew from %d: %w", s.path, off, err)
	}
	s.claimed = true
	return nil
}

func (s *segment) writeAt(b []byte, off int64) error {
	if err := s.claim(off); err != nil {
		return err
	}
	n, err := s.file.WriteAt(b, off)
	if err = full(n, err, b); err != nil {
		s.claimed = false
		return fmt.Errorf("write %s at %d: %w", s.path, off, err)
	}
	return nil
}

func (s *segment) sync() error {
	if err := s.file.SyncData(); err != nil {
		return &syncError{s.path, err}
	}
	return nil
}

// syncError is a failed sync. The data may or may not be durable, so that the log ends,
// whatever the cause.
type syncError struct {
	path string
	err  error
}

func (e *syncError) Error() string { return fmt.Sprintf("sync %s: %v", e.path, e.err) }
func (e *syncError) Unwrap() error { return e.err }
