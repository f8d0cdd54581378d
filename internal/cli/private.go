package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// othersMask has the permissions of the group and of others.
const othersMask = 0o077

// keepPrivate makes the directories of stores accessible to the owner of the process only: existing files
// and files that the process creates later. A directory need not exist yet.
func keepPrivate(dirs []string) error {
	syscall.Umask(othersMask)
	for _, dir := range dirs {
		if err := closeStore(dir); err != nil {
			return err
		}
	}
	return nil
}

// closeStore removes the permissions of others from a directory and all its files, if it exists.
func closeStore(dir string) error {
	if err := filepath.WalkDir(dir, closeToOthers); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the store must be open to its owner only: %w (its owner may run: chmod -R go-rwx %s)", err, dir)
	}
	return nil
}

// closeToOthers removes the permissions of others from a file or directory.
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
