package crypt

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/lichendb/lichen/internal/fs"
)

// FS is a file system that encrypts the files of some stores, and leaves all others alone.
type FS struct {
	below  fs.FS
	stores []*Store
}

var (
	_ fs.FS        = (*FS)(nil)
	_ fs.Encrypter = (*FS)(nil)
)

// New returns a file system over that on which the stores were opened.
func New(below fs.FS, stores ...*Store) *FS { return &FS{below, stores} }

// Stores returns the stores.
func (f *FS) Stores() []*Store { return f.stores }

// Store returns the store of a directory; nil if it is not encrypted.
func (f *FS) Store(dir string) *Store {
	for _, s := range f.stores {
		if s.o.Dir == dir {
			return s
		}
	}
	return nil
}

// Encrypts implements fs.Encrypter.
func (f *FS) Encrypts(dir string) bool {
	s, _ := f.find(dir)
	return s != nil || f.Store(dir) != nil
}

// Close closes the stores.
func (f *FS) Close() error {
	var errs []error
	for _, s := range f.stores {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// find returns the store that a file belongs to, with the path in it; nil: the file is left alone.
func (f *FS) find(name string) (*Store, string) {
	for _, s := range f.stores {
		if path, ok := s.within(name); ok {
			if !s.registers(path) {
				return nil, ""
			}
			return s, path
		}
	}
	return nil, ""
}

// Create is part of fs.FS, as are those that follow.
func (f *FS) Create(name string, c fs.WriteCategory) (fs.File, error) {
	s, path := f.find(name)
	if s == nil {
		return f.below.Create(name, c)
	}
	return s.make(path, func() (fs.File, error) { return f.below.Create(name, c) })
}

// make registers a file and makes it.
func (s *Store) make(path string, open func() (fs.File, error)) (fs.File, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	e, err := s.create(path)
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", s.full(path), err)
	}
	file, err := open()
	if err != nil {
		s.retire(path)
		return nil, err
	}
	return s.wrap(file, e, path), nil
}

func (s *Store) wrap(f fs.File, e *entry, path string) fs.File {
	return &file{File: f, s: s, e: e, path: path}
}

// Open opens a file to be read.
func (f *FS) Open(name string, opts ...fs.OpenOption) (fs.File, error) {
	s, path := f.find(name)
	if s == nil {
		return f.below.Open(name, opts...)
	}
	file, err := f.below.Open(name, opts...)
	if err != nil {
		return nil, err
	}
	e := s.lookup(path)
	if e == nil {
		if st, err := file.Stat(); err == nil && st.IsDir() {
			return file, nil
		}
		return nil, errors.Join(s.unregistered(path), file.Close())
	}
	return s.wrap(file, e, path), nil
}

func (s *Store) unregistered(path string) error {
	return fmt.Errorf("%w: %s. If it was put there by hand, remove it; else the registry has been damaged or exchanged: %s", ErrUnregistered, s.full(path), restoreAdvice)
}

// OpenReadWrite opens a file to be read and written.
func (f *FS) OpenReadWrite(name string, c fs.WriteCategory, opts ...fs.OpenOption) (fs.File, error) {
	s, path := f.find(name)
	if s == nil {
		return f.below.OpenReadWrite(name, c, opts...)
	}
	open := func() (fs.File, error) { return f.below.OpenReadWrite(name, c, opts...) }
	if _, err := f.below.Stat(name); notExist(err) {
		return s.make(path, open)
	} else if err != nil {
		return nil, err
	}
	e := s.lookup(path)
	if e == nil {
		return nil, s.unregistered(path)
	}
	file, err := open()
	if err != nil {
		return nil, err
	}
	return s.wrap(file, e, path), nil
}

// OpenDir opens a directory to be synced.
func (f *FS) OpenDir(name string) (fs.File, error) { return f.below.OpenDir(name) }

// ReuseForWrite makes a new file in place of an old one, whose bytes are not used again.
func (f *FS) ReuseForWrite(oldname, newname string, c fs.WriteCategory) (fs.File, error) {
	old, _ := f.find(oldname)
	s, _ := f.find(newname)
	if old == nil && s == nil {
		return f.below.ReuseForWrite(oldname, newname, c)
	}
	if err := f.Remove(oldname); err != nil {
		return nil, err
	}
	return f.Create(newname, c)
}

// Link gives a file another name.
func (f *FS) Link(oldname, newname string) error {
	return f.renamed(oldname, newname, f.below.Link, false)
}

// Rename gives a file a new name, which no other has.
func (f *FS) Rename(oldname, newname string) error {
	return f.renamed(oldname, newname, f.below.Rename, true)
}

func (f *FS) renamed(oldname, newname string, below func(oldname, newname string) error, moves bool) error {
	s, oldPath := f.find(oldname)
	to, newPath := f.find(newname)
	if s != to {
		return fmt.Errorf("%w: %s to %s", errCrossing, oldname, newname)
	}
	if s == nil {
		return below(oldname, newname)
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	e, err := s.alias(oldPath, newPath)
	if err != nil {
		return err
	}
	if err := below(oldname, newname); err != nil {
		s.retire(newPath)
		return err
	}
	if moves {
		s.retire(oldPath)
		e.path = newPath
	}
	return nil
}

// Remove removes a file.
func (f *FS) Remove(name string) error { return f.removed(name, f.below.Remove) }

// RemoveAll removes a directory and what is in it.
func (f *FS) RemoveAll(name string) error { return f.removed(name, f.below.RemoveAll) }

func (f *FS) removed(name string, below func(string) error) error {
	s, path := f.find(name)
	if s == nil {
		return below(name)
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := below(name); err != nil {
		return err
	}
	s.retire(path)
	return nil
}

// MkdirAll makes a directory.
func (f *FS) MkdirAll(dir string, perm os.FileMode) error { return f.below.MkdirAll(dir, perm) }

// Lock locks a file, which has no content.
func (f *FS) Lock(name string) (io.Closer, error) { return f.below.Lock(name) }

// List lists a directory.
func (f *FS) List(dir string) ([]string, error) { return f.below.List(dir) }

// Stat describes a file. Encryption changes no size.
func (f *FS) Stat(name string) (fs.FileInfo, error) { return f.below.Stat(name) }

// PathBase is that of the file system below, as are those that follow.
func (f *FS) PathBase(path string) string { return f.below.PathBase(path) }

// PathJoin joins elements.
func (f *FS) PathJoin(elem ...string) string { return f.below.PathJoin(elem...) }

// PathDir returns the directory of a path.
func (f *FS) PathDir(path string) string { return f.below.PathDir(path) }

// GetDiskUsage returns how full the disk is.
func (f *FS) GetDiskUsage(path string) (fs.DiskUsage, error) { return f.below.GetDiskUsage(path) }

// Unwrap returns the file system below.
func (f *FS) Unwrap() fs.FS { return f.below }
