package security

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/lichendb/lichen/internal/fs"
)

// The names of the files in a directory of certificates.
const (
	CACert   = "ca.crt"
	NodeCert = "node.crt"
	NodeKey  = "node.key"

	clientPrefix = "client."
	certSuffix   = ".crt"
	keySuffix    = ".key"
	binarySuffix = ".pk8"
)

// ClientCert returns the name of the file with a user's certificate.
func ClientCert(user string) string { return clientPrefix + user + certSuffix }

// ClientKey returns the name of the file with the key of a user's certificate.
func ClientKey(user string) string { return clientPrefix + user + keySuffix }

// DefaultDir returns the directory of certificates of those who name none.
func DefaultDir() string {
	home, err := os.UserHomeDir()
	if err != nil {
		home = "."
	}
	return filepath.Join(home, ".lichen-certs")
}

const (
	// maxFile bounds the size of a file with certificates or a key.
	maxFile = 1 << 20

	dirMode  = 0o700
	keyMode  = 0o600
	certMode = 0o644
)

// noDescriptor is what files give as their descriptor that lie in memory: they have
// neither owner nor mode.
const noDescriptor = ^uintptr(0)

// exists reports whether there is a file.
func exists(fsys fs.FS, path string) (bool, error) {
	_, err := fsys.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// readFile reads a file; that of a key must be private.
func readFile(fsys fs.FS, path string, private bool) ([]byte, error) {
	f, err := fsys.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if private {
		if err := checkPrivate(f, path); err != nil {
			return nil, err
		}
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	if len(b) > maxFile {
		return nil, fmt.Errorf("%s is larger than %d bytes: it holds no certificate or key", path, maxFile)
	}
	return b, nil
}

// checkPrivate refuses a key that others than its owner can read. A key that
// belongs to the superuser may be readable by its group: so it is handed to
// services.
func checkPrivate(f fs.File, path string) error {
	if f.Fd() == noDescriptor {
		return nil
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	allowed := os.FileMode(0o700)
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid == 0 && os.Geteuid() != 0 {
		allowed = 0o740
	}
	if mode := info.Mode().Perm(); mode&^allowed != 0 {
		return fmt.Errorf("others than its owner can use the key %s (its mode is %04o): run 'chmod 600 %s'", path, mode, shellQuote(path))
	}
	return nil
}

// newFile is a file to be written.
type newFile struct {
	path string
	data []byte
	mode os.FileMode
}

// install writes files. Each is written to a directory that only its owner can
// enter, made durable, and then moved to its place.
func install(fsys fs.FS, files ...newFile) (err error) {
	var staged []string
	defer func() {
		for _, s := range staged {
			err = errors.Join(err, fsys.RemoveAll(fsys.PathDir(s)))
		}
	}()
	for _, f := range files {
		dir := fsys.PathDir(f.path)
		if err := fsys.MkdirAll(dir, dirMode); err != nil {
			return err
		}
		var id [8]byte
		_, _ = rand.Read(id[:]) // it never fails
		stage := fsys.PathJoin(dir, ".new-"+hex.EncodeToString(id[:]))
		if err := fsys.MkdirAll(stage, dirMode); err != nil {
			return err
		}
		tmp := fsys.PathJoin(stage, fsys.PathBase(f.path))
		staged = append(staged, tmp)
		if err := writeFile(fsys, tmp, f); err != nil {
			return err
		}
	}
	for i, f := range files {
		if err := fsys.Rename(staged[i], f.path); err != nil {
			return err
		}
	}
	for _, f := range files {
		if err := fs.SyncDir(fsys, fsys.PathDir(f.path)); err != nil {
			return err
		}
	}
	return nil
}

func writeFile(fsys fs.FS, path string, f newFile) (err error) {
	out, err := fsys.Create(path, fs.WriteUnspecified)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if fd := out.Fd(); fd != noDescriptor {
		if err := syscall.Fchmod(int(fd), uint32(f.mode)); err != nil {
			return fmt.Errorf("setting the mode of %s: %w", path, err)
		}
	}
	if _, err := out.Write(f.data); err != nil {
		return err
	}
	return out.Sync()
}

// shellQuote returns a word as it is typed to a shell.
func shellQuote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:@%+=,", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
