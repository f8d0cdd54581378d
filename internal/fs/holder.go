package fs

import (
	"errors"
	"os"
	"syscall"
)

// LockHolder returns the id of the process that holds the lock of a file of the disk
// (FS.Lock), 0 if none does. The error is fs.ErrNotExist where there is no such file.
func LockHolder(name string) (pid int, err error) {
	f, err := os.Open(name)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	lock := syscall.Flock_t{Type: syscall.F_WRLCK}
	if err := syscall.FcntlFlock(f.Fd(), syscall.F_GETLK, &lock); err != nil {
		return 0, err
	}
	if lock.Type == syscall.F_UNLCK {
		return 0, nil
	}
	return int(lock.Pid), nil
}
