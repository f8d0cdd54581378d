package storage

import (
	"path/filepath"

	"github.com/lichendb/lichen/internal/fs"
)

// Holder returns the id of the process that has the store in a directory of the disk
// open, 0 if none has. The error is fs.ErrNotExist where there is no store.
func Holder(dir string) (pid int, err error) { return fs.LockHolder(filepath.Join(dir, lockName)) }
