package storage

import (
	"fmt"
	"strings"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// noSpaceBackoff is how long the creation of a table waits while the disk is
// full: Pebble retries a failed flush at once and without end.
const noSpaceBackoff = 250 * time.Millisecond

// engineFS is the file system as Pebble sees it, with two changes.
//
// Pebble v2.1.7 creates a new manifest and the marker that names it before one
// sync of the directory, and removes the old marker before it too (its issue
// 5825): after a crash there may be a marker without its manifest or no marker
// at all. Here the directory is synced before a marker is created or removed,
// so that what a marker names is durable before the marker, and a new marker
// before the old one goes.
//
// And while the disk is full, new tables are held back for a moment.
type engineFS struct {
	vfs.FS
	e *Engine
}

func newEngineFS(fs vfs.FS, e *Engine) *engineFS { return &engineFS{FS: fs, e: e} }

// Create is part of vfs.FS.
func (f *engineFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	switch base := f.PathBase(name); {
	case isMarker(base):
		if err := syncDir(f.FS, f.PathDir(name)); err != nil {
			return nil, err
		}
	case f.e.health.noSpace.Load() && isTable(base):
		select {
		case <-f.e.quit:
		case <-time.After(noSpaceBackoff):
		}
	}
	return f.FS.Create(name, category)
}

// Remove is part of vfs.FS.
func (f *engineFS) Remove(name string) error {
	if isMarker(f.PathBase(name)) {
		if err := syncDir(f.FS, f.PathDir(name)); err != nil {
			return err
		}
	}
	return f.FS.Remove(name)
}

// Unwrap is part of vfs.FS.
func (f *engineFS) Unwrap() vfs.FS { return f.FS }

func isMarker(base string) bool { return strings.HasPrefix(base, "marker.") }

func isTable(base string) bool {
	return strings.HasSuffix(base, ".sst") || strings.HasSuffix(base, ".blob")
}

func syncDir(fs vfs.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return fmt.Errorf("storage: open directory %s: %w", dir, err)
	}
	err = d.Sync()
	if cerr := d.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("storage: sync directory %s: %w", dir, err)
	}
	return nil
}
