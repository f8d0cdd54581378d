package crypt

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/lichendb/lichen/internal/fs"
)

// rewriteSuffix is that of a file which takes another's place. While there is one, the store is not for use: the other may be gone.
const rewriteSuffix = ".rewritten"

// ErrRewriting is the error of a store whose files are being written anew, which was interrupted.
var ErrRewriting = errors.New("files of the store were being written anew")

// interrupted returns ErrRewriting if there are files that were to take the place of others.
func (s *Store) interrupted() error {
	for path := range s.files {
		if strings.HasSuffix(path, rewriteSuffix) {
			return fmt.Errorf("%w, which was interrupted at %s: run lichen debug encryption-rewrite %s again", ErrRewriting, path, s.o.Dir)
		}
	}
	return nil
}

// RewriteFiles writes all files of a store anew that are not under the active data key as a whole, so that nothing is left of old keys, or
// of the time before encryption. Nobody else may use the store. told is called for each before it is written. Interrupted, it goes on when it
// is called again; the store must be opened with Options.Rewriting.
func (f *FS) RewriteFiles(s *Store, told func(path string, bytes int64)) error {
	if err := f.finishRewriting(s); err != nil {
		return err
	}
	for _, path := range s.outdated() {
		e := s.lookup(path)
		told(path, e.size.Load())
		if err := f.rewriteFile(s.full(path)); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// outdated returns the files that are not under the active data key as a whole, in order.
func (s *Store) outdated() (out []string) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for path, e := range s.files {
		for _, p := range *e.parts.Load() {
			if p.key != s.keys.active {
				out = append(out, path)
				break
			}
		}
	}
	slices.Sort(out)
	return out
}

// finishRewriting ends what was interrupted: a file whose name is free was complete, any other is made again.
func (f *FS) finishRewriting(s *Store) error {
	s.mu.RLock()
	var left []string
	for path := range s.files {
		if strings.HasSuffix(path, rewriteSuffix) {
			left = append(left, path)
		}
	}
	s.mu.RUnlock()
	for _, path := range left {
		name := strings.TrimSuffix(path, rewriteSuffix)
		if s.lookup(name) != nil {
			if err := f.Remove(s.full(path)); err != nil {
				return err
			}
			continue
		}
		if err := f.takePlace(s.full(path), s.full(name)); err != nil {
			return err
		}
	}
	return nil
}

// rewriteFile replaces a file by a copy under the active data key.
func (f *FS) rewriteFile(name string) error {
	tmp := name + rewriteSuffix
	if err := f.copyFile(name, tmp); err != nil {
		return err
	}
	if err := f.Remove(name); err != nil {
		return err
	}
	return f.takePlace(tmp, name)
}

func (f *FS) takePlace(tmp, name string) error {
	if err := f.Rename(tmp, name); err != nil {
		return err
	}
	return fs.SyncDir(f, f.PathDir(name))
}

// copyFile makes a copy durable.
func (f *FS) copyFile(from, to string) (err error) {
	in, err := f.Open(from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	out, err := f.Create(to, fs.WriteUnspecified)
	if err != nil {
		return err
	}
	_, err = io.Copy(struct{ io.Writer }{out}, struct{ io.Reader }{in})
	if err == nil {
		err = out.Sync()
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return err
	}
	return fs.SyncDir(f, f.PathDir(to))
}
