package crypt

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/lichendb/lichen/internal/fs"
)

// sealOverhead is how much longer a data key is in the file: a nonce and a tag of AES-GCM.
const sealOverhead = 12 + 16

// Status tells under which keys the files of a store are.
type Status struct {
	Dir string `json:"dir"`
	// Encrypted reports whether the store has a registry.
	Encrypted bool `json:"encrypted"`
	// StoreKey is the id of the store key, in hexadecimal digits; empty if there has never been one.
	StoreKey string      `json:"storeKey,omitempty"`
	Keys     []KeyStatus `json:"keys"`
	// Unregistered are files that the registry ought to have.
	Unregistered []string `json:"unregistered,omitempty"`
}

// KeyStatus tells what is under one data key.
type KeyStatus struct {
	Number  uint32     `json:"number"` // Plain: not encrypted
	Active  bool       `json:"active"` // given to new files
	Bits    int        `json:"bits,omitempty"`
	Created *time.Time `json:"created,omitempty"`
	Files   int        `json:"files"` // those with any bytes under it
	Bytes   int64      `json:"bytes"`
}

// ReadStatus reads the status of the store in a directory, which may be in use. It needs no key. Files for which
// plain returns true are counted as not encrypted.
func ReadStatus(f fs.FS, dir string, plain func(path string) bool) (*Status, error) {
	keys, err := loadKeys(f, dir)
	if err != nil {
		return nil, err
	}
	_, files, err := loadRegistry(f, dir)
	if err != nil {
		return nil, err
	}
	if (keys == nil) != (files == nil) {
		return nil, fmt.Errorf("%w: only one of %s and %s is in %s; %s", ErrNoRegistry, KeysFile, RegistryFile, dir, restoreAdvice)
	}
	st, count := &Status{Dir: dir, Encrypted: keys != nil}, counts{}
	err = walk(f, dir, "", func(path string, size int64) error {
		parts := files[path]
		if parts == nil || plain(path) {
			if keys != nil && size > 0 && !own(path) && !plain(path) {
				st.Unregistered = append(st.Unregistered, path)
			}
			parts = []part{{}}
		}
		count.add(newEntry(path, parts, unknown), size)
		return nil
	})
	if err != nil {
		return nil, err
	}
	st.Keys = count.list(keys)
	if keys != nil && keys.store != [keyIDBytes]byte{} {
		st.StoreKey = hex.EncodeToString(keys.store[:])
	}
	return st, nil
}

// counts are files and bytes by data key.
type counts map[uint32]*KeyStatus

func (c counts) add(e *entry, size int64) {
	bytes := map[uint32]int64{}
	e.addBytes(size, bytes)
	for num, n := range bytes {
		if c[num] == nil {
			c[num] = &KeyStatus{Number: num}
		}
		c[num].Files++
		c[num].Bytes += n
	}
}

// list returns the counts of all keys, the active one first and then the youngest.
func (c counts) list(keys *dataKeys) []KeyStatus {
	active := uint32(Plain)
	if keys != nil {
		active = keys.active
		for num, k := range keys.keys {
			if c[num] == nil {
				c[num] = &KeyStatus{Number: num}
			}
			c[num].Created, c[num].Bits = &k.created, 8*(len(k.sealed)/2-sealOverhead)
		}
	}
	if c[active] == nil {
		c[active] = &KeyStatus{}
	}
	c[active].Active = true
	var out []KeyStatus
	for _, k := range c {
		out = append(out, *k)
	}
	slices.SortFunc(out, func(a, b KeyStatus) int {
		if a.Active != b.Active {
			return cmp.Compare(b2i(b.Active), b2i(a.Active))
		}
		return cmp.Compare(b.Number, a.Number)
	})
	return out
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Metrics are a store's.
type Metrics struct {
	// Encrypted and Plain are the bytes of registered files that are, and are not; Active those under the active key.
	Encrypted, Plain, Active int64
	Keys                     int
	// KeyAge is for how long the active key has been in use.
	KeyAge time.Duration
}

// Metrics returns the store's metrics, by what this process knows of the sizes of files.
func (s *Store) Metrics() Metrics {
	s.mu.RLock()
	defer s.mu.RUnlock()
	bytes := map[uint32]int64{}
	for _, e := range s.files {
		e.addBytes(e.size.Load(), bytes)
	}
	out := Metrics{Keys: len(s.keys.keys)}
	for num, n := range bytes {
		if num == Plain {
			out.Plain += n
		} else {
			out.Encrypted += n
		}
	}
	if a := s.keys.active; a != Plain {
		out.Active = bytes[a]
		out.KeyAge = s.o.Now().Sub(s.keys.keys[a].created)
	}
	return out
}

// Leave removes the registry of a store that is started without encryption, if no file is encrypted any more.
// Before that it calls plain, which notes that the store is not encrypted. Without a registry it does nothing.
// Established and Plain are taken from o.
func Leave(f fs.FS, o Options, plain func() error) (err error) {
	dir := o.Dir
	if _, err := f.Stat(f.PathJoin(dir, RegistryFile)); notExist(err) {
		if o.Established {
			return fmt.Errorf("%w: %s has been encrypted, but has no %s; %s", ErrNoRegistry, dir, RegistryFile, restoreAdvice)
		}
		return remove(f, dir, KeysFile) // Open was interrupted, or this function
	}
	st, err := ReadStatus(f, dir, o.Plain)
	if err != nil {
		return err
	}
	for _, k := range st.Keys {
		if k.Number != Plain && k.Bytes > 0 {
			return fmt.Errorf("%w: %s has %d bytes under data key %d. Start with --encryption=path=%s,key=FILE; or with key=plain,old-key=FILE "+
				"until lichen debug encryption-status tells that nothing is encrypted", ErrKeyNeeded, dir, k.Bytes, k.Number, dir)
		}
	}
	if n := len(st.Unregistered); n > 0 {
		return fmt.Errorf("%w: %s in %s, and %d others. What was put there by hand is to be removed; else the registry has been damaged or exchanged: %s",
			ErrUnregistered, st.Unregistered[0], dir, n-1, restoreAdvice)
	}
	lock, err := f.Lock(f.PathJoin(dir, lockFile))
	if err != nil {
		return fmt.Errorf("%w by another process: %s: %w", ErrInUse, dir, err)
	}
	defer func() { _ = lock.Close() }()
	if err := plain(); err != nil {
		return err
	}
	if err := remove(f, dir, RegistryFile); err != nil {
		return err
	}
	return remove(f, dir, KeysFile)
}

// remove removes a file of the encryption's own, for good.
func remove(f fs.FS, dir, name string) error {
	err := f.Remove(f.PathJoin(dir, name))
	if notExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return fs.SyncDir(f, dir)
}

// Present reports whether a store has a registry.
func Present(f fs.FS, dir string) bool {
	_, err := f.Stat(f.PathJoin(dir, RegistryFile))
	return err == nil
}
