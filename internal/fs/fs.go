package fs

import (
	"errors"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// FS is a namespace of files.
type FS = vfs.FS

// File is an open file or directory. WriteAt needs OpenReadWrite.
type File = vfs.File

// FileInfo describes a file.
type FileInfo = vfs.FileInfo

// OpenOption tunes an open file.
type OpenOption = vfs.OpenOption

// DiskUsage says how full the disk under a path is.
type DiskUsage = vfs.DiskUsage

// WriteCategory names what a file is for, in the engine's disk statistics.
type WriteCategory = vfs.DiskWriteCategory

// WriteUnspecified is the category of files nobody accounts for.
const WriteUnspecified = vfs.WriteCategoryUnspecified

// Disk returns the file system of the operating system.
func Disk() FS { return vfs.Default }

// IsDiskFull reports whether err says that the disk or the quota is used up.
func IsDiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// SyncDir makes the entries of directory dir durable.
func SyncDir(fs FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if cerr := d.Close(); err == nil {
		err = cerr
	}
	return err
}
