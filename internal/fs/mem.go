package fs

import (
	"io"
	"math/rand/v2"
	"sync"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// MemFS is a file system in memory.
type MemFS struct {
	*vfs.MemFS

	// cloning is held by CrashClone, and shared by the operations that take a read lock of the vfs.MemFS
	// twice: a clone that asked for the lock in between would wait for the operation, and the operation
	// for the clone.
	cloning sync.RWMutex
}

var _ FS = (*MemFS)(nil)

// NewMem returns an empty file system in memory whose syncs cost nothing.
func NewMem() *MemFS { return &MemFS{MemFS: vfs.NewMem()} }

// NewCrashableMem returns an empty file system in memory that remembers what has been synced, for use
// with CrashClone.
func NewCrashableMem() *MemFS { return &MemFS{MemFS: vfs.NewCrashableMem()} }

// CrashClone returns a copy of m as a power loss now could leave it: everything that was synced, and
// each block of data or directory entry that was not synced with a probability of keepPercent in a
// hundred. The result depends on seed only. An unsynced rename may leave both names. It may be called
// while others use m.
func CrashClone(m *MemFS, keepPercent int, seed uint64) *MemFS {
	m.cloning.Lock()
	defer m.cloning.Unlock()
	return &MemFS{MemFS: m.MemFS.CrashClone(vfs.CrashCloneCfg{
		UnsyncedDataPercent: keepPercent,
		RNG:                 rand.New(rand.NewPCG(seed, 0x6c696368656e)),
	})}
}

// Link implements FS.
func (m *MemFS) Link(oldname, newname string) error {
	m.cloning.RLock()
	defer m.cloning.RUnlock()
	return m.MemFS.Link(oldname, newname)
}

// Lock implements FS.
func (m *MemFS) Lock(name string) (io.Closer, error) {
	m.cloning.RLock()
	defer m.cloning.RUnlock()
	return m.MemFS.Lock(name)
}

// ReuseForWrite implements FS.
func (m *MemFS) ReuseForWrite(oldname, newname string, c WriteCategory) (File, error) {
	m.cloning.RLock()
	defer m.cloning.RUnlock()
	return m.MemFS.ReuseForWrite(oldname, newname, c)
}
