package storage

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2/vfs"
)

const (
	// BallastFile names the file, in the store's directory, whose only purpose is its
	// size: it is removed when a store starts on a full disk, which needs room for
	// the files that a start writes.
	BallastFile = "BALLAST"
	// ballastBytes is its size.
	ballastBytes = DefaultReserveBytes
	// ballastRoom is how many times its size must be free for it to be made.
	ballastRoom = 10
)

// dropBallast makes room for a start on a full disk.
func dropBallast(fs vfs.FS, dir string) (dropped bool, err error) {
	u, err := fs.GetDiskUsage(dir)
	if err != nil || u.AvailBytes >= ballastBytes {
		return false, nil // a file system that can't tell has no ballast either
	}
	path := fs.PathJoin(dir, BallastFile)
	if _, err := fs.Stat(path); err != nil {
		return false, nil // gone already
	}
	if err := fs.Remove(path); err != nil {
		return false, fmt.Errorf("storage: remove %s: %w", path, err)
	}
	return true, syncDir(fs, dir)
}

// takeBallast sets space aside while there is plenty. That it could not is no reason
// not to go on.
func (e *Engine) takeBallast() error {
	fs, path := e.opts.FS, e.opts.FS.PathJoin(e.opts.Dir, BallastFile)
	u, err := fs.GetDiskUsage(e.opts.Dir)
	if err != nil || u.AvailBytes < ballastRoom*ballastBytes {
		return nil
	}
	if _, err := fs.Stat(path); err == nil {
		return nil
	}
	f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	err = f.Preallocate(0, ballastBytes)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}
