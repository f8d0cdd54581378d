package fs

import (
	"errors"
	"math/rand/v2"
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

// MemFS is a file system in memory.
type MemFS = vfs.MemFS

// WriteUnspecified is the category of files nobody accounts for.
const WriteUnspecified = vfs.WriteCategoryUnspecified

// Disk returns the file system of the operating system.
func Disk() FS { return vfs.Default }

// NewMem returns an empty file system in memory whose syncs cost nothing.
func NewMem() *MemFS { return vfs.NewMem() }

// NewCrashableMem returns an empty file system in memory that remembers what
// has been synced, for use with CrashClone.
func NewCrashableMem() *MemFS { return vfs.NewCrashableMem() }

// CrashClone returns a copy of m as a power loss now could leave it: all that
// was synced, and each block of data or directory entry that was not synced
// with a probability of keepPercent in a hundred. The draw depends on seed
// only. Note that an unsynced rename may leave both names.
func CrashClone(m *MemFS, keepPercent int, seed uint64) *MemFS {
	return m.CrashClone(vfs.CrashCloneCfg{
		UnsyncedDataPercent: keepPercent,
		RNG:                 rand.New(rand.NewPCG(seed, 0x6c696368656e)),
	})
}

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
