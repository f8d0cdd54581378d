package crypt

import (
	"bytes"
	"errors"
	"fmt"
	iofs "io/fs"
	"maps"
	"slices"

	"github.com/lichendb/lichen/internal/fs"
)

const (
	// RegistryFile names the file in a store's directory that tells under which data key and with which
	// initial counter each file is encrypted.
	RegistryFile = "ENCRYPTION_FILES"
	// maxRegistry bounds it.
	maxRegistry = 256 << 20
	// reserve is the least room for records that a registry is made with: reusing a file needs a record also when
	// the disk is full. Once it is used up, the registry is written anew.
	reserve = 256 << 10
)

func notExist(err error) bool { return errors.Is(err, iofs.ErrNotExist) }

// registry is the file of records. Store.writing guards it.
type registry struct {
	fs   fs.FS
	path string
	id   [16]byte
	// generation is one more each time that the registry is written anew, 0 if it has none yet.
	generation uint64
	file       fs.File // nil: it must be written anew before the next record
	size       int64   // of the records
	room       int64   // of the file: zeros follow the records
	buf        []byte
}

// load reads a registry: the last record of a path counts. Without a file it returns no parts.
func loadRegistry(f fs.FS, dir string) (r *registry, files map[string][]part, err error) {
	r = &registry{fs: f, path: f.PathJoin(dir, RegistryFile)}
	b, err := readFile(f, r.path, maxRegistry)
	if notExist(err) {
		return r, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("encryption of %s: %w", dir, err)
	}
	head, err := parseStart(b)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", r.path, err)
	}
	r.id, r.generation = head.id, head.generation
	files = map[string][]part{}
	at := head.size
	for body := intact(b, at); body != nil; body = intact(b, at) {
		rec, err := parseRecord(body)
		if err == nil && rec.kind == recordPart {
			if known := files[rec.path]; known == nil {
				err = errRecord
			} else {
				rec.parts = cut(known, rec.parts[0])
			}
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w: %w at offset %d", r.path, ErrDamaged, err, at)
		}
		files[rec.path] = rec.parts
		at += recordHeader + int64(len(body))
	}
	if len(bytes.TrimLeft(b[at:], "\x00")) == 0 {
		r.size, r.room = at, int64(len(b))
		return r, files, nil
	}
	// The last record is incomplete: the registry is not appended to. One record at most was not known to be
	// durable at any time, and nothing depends on that one.
	for next := at + 1; next < int64(len(b)); next++ {
		if intact(b, next) != nil {
			return nil, nil, fmt.Errorf("%s: %w: the record at offset %d, behind which that at %d is intact", r.path, ErrDamaged, at, next)
		}
	}
	return r, files, nil
}

// resume opens a registry that is complete, to append to it.
func (r *registry) resume() (err error) {
	if r.room == 0 {
		return nil
	}
	r.file, err = r.fs.OpenReadWrite(r.path, fs.WriteUnspecified)
	return err
}

// fits reports whether the registry can be appended to, with a record.
func (r *registry) fits(rec *record) bool {
	r.buf = appendRecord(r.buf[:0], r.size, rec)
	return r.file != nil && r.size+int64(len(r.buf)) <= r.room
}

// append makes a record durable, for which there is room. After an error the next record finds a new file.
func (r *registry) append(rec *record) error {
	r.buf = appendRecord(r.buf[:0], r.size, rec)
	n := len(r.buf)
	_, err := r.file.WriteAt(r.buf, r.size)
	if err == nil {
		err = r.file.SyncData()
	}
	if err != nil {
		r.close()
		return fmt.Errorf("%s: %w", r.path, err)
	}
	r.size += int64(n)
	return nil
}

func (r *registry) close() {
	if r.file != nil {
		_ = r.file.Close() // what counts is synced
		r.file = nil
	}
}

// replace writes the registry anew, with the records of these files only. Store.renew calls it.
func (r *registry) replace(files map[string]*entry) error {
	r.close()
	b := (&start{id: r.id, generation: r.generation + 1}).format()
	for _, path := range slices.Sorted(maps.Keys(files)) { // the same files give the same registry
		b = appendRecord(b, int64(len(b)), &record{kind: recordFile, path: path, parts: *files[path].parts.Load()})
	}
	size := int64(len(b))
	b = append(b, make([]byte, max(reserve, len(b)))...)
	if len(b) > maxRegistry {
		return fmt.Errorf("%s: %d files are too many", r.path, len(files))
	}
	if err := replaceFile(r.fs, r.path, b); err != nil {
		return fmt.Errorf("%s: %w", r.path, err)
	}
	r.size, r.room = size, int64(len(b))
	r.generation++
	return r.resume()
}
