package server

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/lichendb/lichen/internal/config"
	"github.com/lichendb/lichen/internal/fs"
	"github.com/lichendb/lichen/internal/fs/crypt"
	"github.com/lichendb/lichen/internal/node"
	"github.com/lichendb/lichen/internal/storage"
	"github.com/lichendb/lichen/internal/store"
)

// LogsDir is the directory in the first store that has the node's logs, which operators read: they are not
// encrypted.
const LogsDir = "logs"

// NotEncrypted reports whether a path within a store is never encrypted by the file system:
//
//   - VersionFile is read before a key is known;
//   - ClockFile is written in place and holds nothing but a time;
//   - LogsDir is for operators;
//   - TempDir is encrypted by package tempstore.
func NotEncrypted(path string) bool {
	switch strings.TrimSuffix(path, ".tmp") {
	case storage.VersionFile, store.ClockFile, LogsDir, node.TempDir:
		return true
	}
	return strings.HasPrefix(path, LogsDir+"/") || strings.HasPrefix(path, node.TempDir+"/")
}

// mountEncryption returns the file system of a node's stores, with the encryption of those that have it.
func mountEncryption(cfg *config.Node, disk fs.FS, log *slog.Logger) (*crypt.FS, error) {
	var stores []*crypt.Store
	fail := func(err error) (*crypt.FS, error) {
		return nil, errors.Join(err, crypt.New(disk, stores...).Close())
	}
	for _, dir := range cfg.Dirs() {
		ident, err := storage.ReadIdent(disk, dir)
		if err != nil {
			return fail(err)
		}
		o := crypt.Options{Dir: dir, Established: ident.Encrypted, Plain: NotEncrypted, Logger: log}
		e := cfg.EncryptionOf(dir)
		if e == nil {
			if err := crypt.Leave(disk, o, func() error { return storage.SetPlain(disk, dir) }); err != nil {
				return fail(err)
			}
			continue
		}
		if o.Key, o.OldKey, err = loadKeys(disk, e); err != nil {
			return fail(err)
		}
		o.Rotation = e.Rotation
		if o.Key == nil && !o.Established && !crypt.Present(disk, dir) {
			continue // nothing is encrypted, and nothing is to be
		}
		s, err := crypt.Open(disk, o)
		if err != nil {
			return fail(err)
		}
		stores = append(stores, s)
	}
	return crypt.New(disk, stores...), nil
}

// loadKeys reads the key files of a store.
func loadKeys(disk fs.FS, e *config.Encryption) (key, old *crypt.StoreKey, err error) {
	load := func(path string) *crypt.StoreKey {
		if path == config.PlainKey || err != nil {
			return nil
		}
		var k *crypt.StoreKey
		k, err = crypt.LoadKey(disk, path)
		return k
	}
	key, old = load(e.Key), load(e.OldKey)
	if err != nil {
		return nil, nil, fmt.Errorf("--encryption=path=%s: %w", e.Path, err)
	}
	return key, old, nil
}

// RewriteStore writes the files of an encrypted store anew that are not under its newest data key, while no node uses it; told is called for
// each before.
func RewriteStore(disk fs.FS, e *config.Encryption, log *slog.Logger, told func(path string, bytes int64)) (err error) {
	ident, err := storage.ReadIdent(disk, e.Path)
	switch {
	case err != nil:
		return err
	case !ident.Encrypted:
		return fmt.Errorf("%s is not encrypted: start its node with --encryption first", e.Path)
	}
	o := crypt.Options{Dir: e.Path, Established: true, Rewriting: true, Rotation: e.Rotation, Plain: NotEncrypted, Logger: log}
	if o.Key, o.OldKey, err = loadKeys(disk, e); err != nil {
		return err
	}
	s, err := crypt.Open(disk, o)
	if err != nil {
		return err
	}
	f := crypt.New(disk, s)
	return errors.Join(f.RewriteFiles(s, told), f.Close())
}
