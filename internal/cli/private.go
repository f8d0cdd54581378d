package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// othersMask are the permissions of a file that concern others than its owner.
const othersMask = 0o077

// keepPrivate lets nobody but the owner of the process into the directories of stores:
// neither into the files that are there, nor into those made from now on. A directory
// that does not exist yet will be made.
func keepPrivate(dirs []string) error {
	syscall.Umask(othersMask)
	for _, dir := range dirs {
		if err := closeStore(dir); err != nil {
			return err
		}
	}
	return nil
}

// closeStore takes the permissions of others from all in a directory, if it exists.
func closeStore(dir string) error {
	if err := filepath.WalkDir(dir, closeToOthers); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the store must be open to its owner only: %w (its owner may run: chmod -R go-rwx %s)", err, dir)
	}
	return nil
}

// closeToOthers takes the permissions of others from a file or directory.
func closeToOthers(path string, e fs.DirEntry, err error) error {
	if err != nil {
		return err
	}
	info, err := e.Info()
	if err != nil || info.Mode().Perm()&othersMask == 0 || e.Type()&fs.ModeSymlink != 0 {
		return err
	}
	return os.Chmod(path, info.Mode().Perm()&^othersMask)
}
