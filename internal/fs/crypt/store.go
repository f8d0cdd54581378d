package crypt

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/must"
	"github.com/lichendb/lichen/internal/sleep"
)

// Errors of a store that is not opened. Each comes with a text that says what to do.
var (
	ErrDamaged      = errors.New("damaged")
	ErrVersion      = errors.New("written by another version")
	ErrWrongKey     = errors.New("the store key is not that of the store")
	ErrKeyNeeded    = errors.New("the store is encrypted")
	ErrNoRegistry   = errors.New("the encryption registry is missing")
	ErrUnregistered = errors.New("the file is not in the encryption registry")
	ErrOlder        = errors.New("the encryption registry is not the newest")
	ErrInUse        = errors.New("the encryption registry is in use")
	// ErrOverwrite is the error of a write to a place that may have been written under the same key stream.
	ErrOverwrite = errors.New("an encrypted file is written twice in the same place")
)

// lockFile names the file that keeps two processes from writing to one registry.
const lockFile = "ENCRYPTION_LOCK"

// DefaultRotation is how long a data key is given to new files.
const DefaultRotation = 7 * 24 * time.Hour

// restoreAdvice is what to do about a store whose registry, or data keys, are lost.
const restoreAdvice = "put the file back from a copy of the whole directory, or remove the directory and start the node anew: other nodes have its replicas"

// Options say how a store is encrypted.
type Options struct {
	Dir string
	// Key is the store key, nil: files are no longer encrypted. OldKey is the one of before.
	Key, OldKey *StoreKey
	// Rotation is how long a data key is given to new files; 0: DefaultRotation.
	Rotation time.Duration
	// Established says that the store has a registry, or did: it must be there.
	Established bool
	// Rewriting opens a store whose files are being written anew: see FS.RewriteFiles.
	Rewriting bool
	// Plain reports whether a path within the store, with slashes, is never encrypted: who has such files sees to them.
	Plain func(path string) bool
	// Now is the time; nil: that of the machine.
	Now    func() time.Time
	Logger *slog.Logger
}

// Store is the encryption of the files in a directory.
type Store struct {
	o    Options
	fs   fs.FS // below
	lock io.Closer

	// writing is held while the registry or the keys change, and guards reg and closed.
	writing sleep.Mutex
	reg     *registry
	closed  bool

	mu    sync.RWMutex
	keys  *dataKeys
	files map[string]*entry
	// gone has the files that were removed, or have another name, which a crash may bring back.
	gone map[string]*entry
}

// Open opens the encryption of a store, with the registry and the data keys that are there, or makes them.
func Open(f fs.FS, o Options) (s *Store, err error) {
	if o.Rotation == 0 {
		o.Rotation = DefaultRotation
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Plain == nil {
		o.Plain = func(string) bool { return false }
	}
	s = &Store{o: o, fs: f, writing: sleep.NewMutex(), files: map[string]*entry{}, gone: map[string]*entry{}}
	if err := f.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, err
	}
	if s.lock, err = f.Lock(f.PathJoin(o.Dir, lockFile)); err != nil {
		return nil, fmt.Errorf("%w by another process: %s (stop that one, or give this one another directory): %w", ErrInUse, o.Dir, err)
	}
	if err := s.open(); err != nil {
		return nil, errors.Join(err, s.lock.Close())
	}
	return s, nil
}

func (s *Store) open() error {
	keys, files, err := s.load()
	if err != nil {
		return err
	}
	if keys == nil {
		return s.establish()
	}
	s.keys = keys
	changed, err := s.unlock()
	if err != nil {
		return err
	}
	if err := s.enter(files); err != nil {
		return err
	}
	if !s.o.Rewriting {
		if err := s.interrupted(); err != nil {
			return err
		}
	}
	if changed {
		if err := keys.save(s.fs, s.o.Dir); err != nil {
			return err
		}
	}
	// A new generation, so that the one of before is not taken for the newest.
	if err := s.renew(); err == nil || !fs.IsDiskFull(err) {
		return err
	}
	if err := s.reg.resume(); err != nil {
		return fmt.Errorf("encryption of %s: %w", s.o.Dir, err)
	}
	return nil
}

// load reads the keys and the registry; no keys if the store was never encrypted.
func (s *Store) load() (*dataKeys, map[string][]part, error) {
	keys, err := loadKeys(s.fs, s.o.Dir)
	if err != nil {
		return nil, nil, fmt.Errorf("%w; %s", err, restoreAdvice)
	}
	reg, files, err := loadRegistry(s.fs, s.o.Dir)
	if err != nil {
		return nil, nil, fmt.Errorf("%w; %s", err, restoreAdvice)
	}
	s.reg = reg
	switch missing := fmt.Errorf("%w: %s has been encrypted, but has no", ErrNoRegistry, s.o.Dir); {
	case keys == nil && (files != nil || s.o.Established):
		return nil, nil, fmt.Errorf("%w %s; %s", missing, KeysFile, restoreAdvice)
	case files == nil && s.o.Established:
		return nil, nil, fmt.Errorf("%w %s; %s", missing, RegistryFile, restoreAdvice)
	case files == nil:
		return nil, nil, nil // also if a crash has interrupted establish
	case keys.id != reg.id:
		return nil, nil, fmt.Errorf("%w: %s and %s in %s are not of the same store; %s", ErrDamaged, KeysFile, RegistryFile, s.o.Dir, restoreAdvice)
	case !keys.knows(reg.generation):
		return nil, nil, fmt.Errorf("%w: %s in %s is an older copy, or %s is: it has generation %d, and %d is known; %s",
			ErrOlder, RegistryFile, s.o.Dir, KeysFile, reg.generation, keys.registry, restoreAdvice)
	}
	return keys, files, nil
}

// establish makes the keys and the registry of a store that has none. What is in it is not encrypted yet.
func (s *Store) establish() error {
	d := &dataKeys{next: 1, keys: map[uint32]*dataKey{}}
	_, err := rand.Read(d.id[:])
	must.NoError(err, "crypto/rand")
	if s.o.Key != nil {
		d.store = s.o.Key.ID
		if err := d.add(s.o.Key, s.o.Now()); err != nil {
			return err
		}
	}
	s.keys, s.reg.id = d, d.id
	err = walk(s.fs, s.o.Dir, "", func(path string, size int64) error {
		if s.registers(path) {
			e := newEntry(path, []part{{}}, unknown)
			e.size.Store(size)
			s.files[path] = e
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("encryption of %s: %w", s.o.Dir, err)
	}
	return s.renew()
}

// unlock decrypts the data keys, and sees to it that the active one belongs to the store key that was given.
func (s *Store) unlock() (changed bool, err error) {
	d := s.keys
	key, old := s.o.Key, s.o.OldKey
	given := func(k *StoreKey) bool { return k != nil && k.ID == d.store }
	switch {
	case len(d.keys) == 0 && key == nil:
		return false, nil
	case len(d.keys) == 0:
		d.store = key.ID
		return true, d.add(key, s.o.Now())
	case given(key):
		if err := d.unlock(key); err != nil {
			return false, fmt.Errorf("%w: %s: %w", ErrWrongKey, s.o.Dir, err)
		}
		if d.active != Plain {
			return false, nil
		}
		return true, d.add(key, s.o.Now())
	case given(old):
		if err := d.unlock(old); err != nil {
			return false, fmt.Errorf("%w: %s: %w", ErrWrongKey, s.o.Dir, err)
		}
	default:
		return false, fmt.Errorf("%w: %s is encrypted with store key %s, but --encryption gives %s as key and %s as old-key; "+
			"give the file of key %s as key, or as old-key to exchange it", ErrWrongKey, s.o.Dir, keyName(d.store), called(key), called(old), keyName(d.store))
	}
	if key == nil {
		changed = d.active != Plain
		d.active = Plain
		return changed, nil // the old key goes on protecting the data keys: files are encrypted with them
	}
	d.relock(key)
	return true, d.add(key, s.o.Now())
}

func called(k *StoreKey) string {
	if k == nil {
		return plainName
	}
	return k.Name()
}

// enter takes over what the registry tells.
func (s *Store) enter(files map[string][]part) error {
	for path, parts := range files {
		for i := range parts {
			if parts[i].key == Plain {
				continue
			}
			k := s.keys.keys[parts[i].key]
			if k == nil {
				return fmt.Errorf("%w: %s is encrypted with data key %d, which %s does not have; %s", ErrDamaged, path, parts[i].key, KeysFile, restoreAdvice)
			}
			parts[i].block = k.block
		}
		e := newEntry(path, parts, unknown)
		st, err := s.fs.Stat(s.full(path))
		switch {
		case notExist(err):
			s.gone[path] = e
		case err != nil:
			return fmt.Errorf("encryption of %s: %w", s.o.Dir, err)
		default:
			e.size.Store(st.Size())
			s.files[path] = e
		}
	}
	return nil
}

// registers reports whether a file is one that the registry must know.
func (s *Store) registers(path string) bool { return !own(path) && !s.o.Plain(path) }

// own reports whether a path is one of the encryption's own files.
func own(path string) bool {
	switch path {
	case KeysFile, KeysFile + tempSuffix, RegistryFile, RegistryFile + tempSuffix, lockFile:
		return true
	}
	return false
}

// within returns a name as a path within the store.
func (s *Store) within(name string) (string, bool) {
	rest, ok := strings.CutPrefix(name, s.o.Dir)
	if !ok || len(rest) < 2 || rest[0] != '/' {
		return "", false
	}
	return strings.TrimLeft(rest, "/"), true
}

func (s *Store) full(path string) string { return s.fs.PathJoin(s.o.Dir, path) }

// Close releases the store, to which nobody writes any more.
func (s *Store) Close() error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.closed {
		return nil
	}
	// A new generation: a copy that was made while the store was in use is no longer the newest then.
	err := s.renew()
	if fs.IsDiskFull(err) {
		s.o.Logger.Warn("no room to write the encryption registry anew: that of before stays", "dir", s.o.Dir, "err", err)
		err = nil
	}
	s.closed = true
	s.reg.close()
	return errors.Join(err, s.lock.Close())
}

// lookup returns the entry of a file; nil if it has none.
func (s *Store) lookup(path string) *entry {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.files[path]
}

// walk calls fn for the files below a directory.
func walk(f fs.FS, root, path string, fn func(path string, size int64) error) error {
	names, err := f.List(f.PathJoin(root, path))
	if err != nil {
		return err
	}
	for _, name := range names {
		p := name
		if path != "" {
			p = path + "/" + name
		}
		st, err := f.Stat(f.PathJoin(root, p))
		switch {
		case notExist(err):
		case err != nil:
			return err
		case st.IsDir():
			if err := walk(f, root, p, fn); err != nil {
				return err
			}
		case st.Mode().IsRegular():
			if err := fn(p, st.Size()); err != nil {
				return err
			}
		}
	}
	return nil
}
