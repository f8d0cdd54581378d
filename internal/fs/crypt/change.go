package crypt

import (
	"crypto/rand"
	"errors"
	"fmt"
	iofs "io/fs"
	"strings"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/must"
)

// This file changes the registry. Store.writing is held in all of it.

// newPart returns a part under the active data key, with an initial counter that no other part has.
func (s *Store) newPart(from int64) part {
	p := part{from: from, key: s.keys.active}
	if p.key != Plain {
		p.block = s.keys.keys[p.key].block
		_, err := rand.Read(p.iv[:])
		must.NoError(err, "crypto/rand")
	}
	return p
}

// rotate gives new files a new data key if the present one has been in use for long. Without room on the disk it
// stays in use.
func (s *Store) rotate() error {
	d := s.keys
	if d.active == Plain || s.o.Now().Sub(d.keys[d.active].created) < s.o.Rotation {
		return nil
	}
	err := s.changeKeys(func(d *dataKeys) error { return d.add(s.o.Key, s.o.Now()) })
	if err != nil && fs.IsDiskFull(err) {
		s.o.Logger.Warn("no room for a new data key: that of before stays in use", "dir", s.o.Dir, "err", err)
		return nil
	}
	return err
}

// changeKeys has change work on a copy of the keys, makes that durable and takes it over. Keys that no file uses
// any more are left out.
func (s *Store) changeKeys(change func(*dataKeys) error) error {
	d := *s.keys
	d.keys = map[uint32]*dataKey{}
	used := s.used()
	for num, k := range s.keys.keys {
		if used[num] || num == d.active {
			d.keys[num] = k
		}
	}
	if err := change(&d); err != nil {
		return err
	}
	return s.replaceKeys(&d)
}

// used returns the data keys of the files that there are, or may be after a crash.
func (s *Store) used() map[uint32]bool {
	used := map[uint32]bool{}
	for _, files := range []map[string]*entry{s.files, s.gone} {
		for _, e := range files {
			for _, p := range *e.parts.Load() {
				used[p.key] = true
			}
		}
	}
	return used
}

// note makes a record durable. A registry without room for it, or whose end is uncertain, is written anew
// before.
func (s *Store) note(rec *record) error {
	if s.closed {
		return fmt.Errorf("%s: the store is closed", s.reg.path)
	}
	if !s.reg.fits(rec) {
		if err := s.renew(); err != nil {
			return err
		}
	}
	return s.reg.append(rec)
}

// renew writes the registry anew, as the next generation. The file of keys tells which that is, before and after, so that an older copy of
// the registry is not taken for it: what it says of files would be wrong, and a log decrypted by it looks as if it had ended.
func (s *Store) renew() error {
	if err := s.forgetGone(); err != nil {
		return err
	}
	if err := s.noteGeneration(s.reg.generation+1, true); err != nil {
		return err
	}
	if err := s.reg.replace(s.files); err != nil {
		return err
	}
	return s.noteGeneration(s.reg.generation, false)
}

// replaceKeys makes the keys durable, and then the store's.
func (s *Store) replaceKeys(d *dataKeys) error {
	if err := d.save(s.fs, s.o.Dir); err != nil {
		return err
	}
	s.mu.Lock()
	s.keys = d
	s.mu.Unlock()
	return nil
}

// noteGeneration stores which generation of the registry there is, or is about to be.
func (s *Store) noteGeneration(n uint64, replacing bool) error {
	d := *s.keys
	d.registry, d.replacing = n, replacing
	return s.replaceKeys(&d)
}

// forgetGone makes it certain that the files which are gone do not come back.
func (s *Store) forgetGone() error {
	synced := map[string]bool{}
	for path := range s.gone {
		if err := s.syncParent(path, synced); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone = map[string]*entry{}
	return nil
}

// syncParent syncs the directory in which a file was, or that in which this directory was.
func (s *Store) syncParent(path string, synced map[string]bool) error {
	for path != "" {
		path = path[:max(strings.LastIndexByte(path, '/'), 0)]
		if synced[path] {
			return nil
		}
		dir := s.full(path)
		if _, err := s.fs.Stat(dir); notExist(err) {
			continue
		}
		synced[path] = true
		return fs.SyncDir(s.fs, dir)
	}
	return nil
}

// vacate makes sure that no file has a name, not even after a crash, so that it can be given to another one.
func (s *Store) vacate(path string) error {
	s.mu.RLock()
	known := s.files[path] != nil || s.gone[path] != nil
	s.mu.RUnlock()
	if !known {
		return nil
	}
	if err := s.fs.Remove(s.full(path)); err != nil && !notExist(err) {
		return err
	}
	s.retire(path)
	if err := s.syncParent(path, map[string]bool{}); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.gone, path)
	return nil
}

// retire notes that there is no file of this name any more, nor any below it if it is a directory. A crash may
// bring them back.
func (s *Store) retire(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	move := func(path string, e *entry) {
		e.links--
		s.gone[path] = e
		delete(s.files, path)
	}
	if e := s.files[path]; e != nil {
		move(path, e)
		return
	}
	for p, e := range s.files {
		if strings.HasPrefix(p, path+"/") {
			move(p, e)
		}
	}
}

func (s *Store) put(path string, e *entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[path] = e
	delete(s.gone, path)
}

// create registers a new file, before there is one.
func (s *Store) create(path string) (*entry, error) {
	if len(path) > maxPath {
		return nil, fmt.Errorf("the name of a file is longer than %d bytes: %s", maxPath, path)
	}
	if err := s.vacate(path); err != nil {
		return nil, err
	}
	if err := s.rotate(); err != nil {
		return nil, err
	}
	parts := []part{s.newPart(0)}
	if err := s.note(&record{kind: recordFile, path: path, parts: parts}); err != nil {
		return nil, err
	}
	e := newEntry(path, parts, 0)
	s.put(path, e)
	return e, nil
}

// alias gives a file another name, before that is there.
func (s *Store) alias(oldPath, newPath string) (*entry, error) {
	e := s.lookup(oldPath)
	if e == nil {
		if _, err := s.fs.Stat(s.full(oldPath)); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("%w: %s", ErrUnregistered, s.full(oldPath))
	}
	if _, err := s.fs.Stat(s.full(newPath)); err == nil {
		return nil, fmt.Errorf("%w: %s can't have the name %s, which another file has: after a crash it would not be known which one has it", iofs.ErrExist, s.full(oldPath), newPath)
	} else if !notExist(err) {
		return nil, err
	}
	if err := s.vacate(newPath); err != nil {
		return nil, err
	}
	if err := s.note(&record{kind: recordFile, path: newPath, parts: *e.parts.Load()}); err != nil {
		return nil, err
	}
	s.put(newPath, e)
	e.links++
	return e, nil
}

// rewrite begins a new part of a file.
func (s *Store) rewrite(e *entry, from int64) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.lookup(e.path) != e || e.links != 1 {
		return fmt.Errorf("%s is written anew, but it has been removed or has several names", s.full(e.path))
	}
	if err := s.rotate(); err != nil {
		return err
	}
	e.mu.Lock()
	plain := e.last().key == Plain && e.last().from <= from
	e.mu.Unlock()
	next := s.newPart(from)
	if plain && next.key == Plain {
		return nil // it may be written as one likes
	}
	parts := cut(*e.parts.Load(), next)
	if len(parts) > maxParts {
		return fs.ErrRewrites
	}
	if err := s.note(&record{kind: recordPart, path: e.path, parts: []part{next}}); err != nil {
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.parts.Store(&parts)
	e.end, e.stream = from, nil
	return nil
}

var errCrossing = errors.New("files don't move between stores that are encrypted, and what is not")
