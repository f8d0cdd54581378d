package storage

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"
	"strings"

	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2/vfs"

	lfs "github.com/lichendb/lichen/internal/fs"
)

const (
	// FormatVersion is the version of everything a store keeps on disk: the
	// engine, the log and the encodings in them. It counts up with each change that an older
	// program, or an older store, would be misread by.
	FormatVersion = 4
	// encryptedVersion is that of the same store with a registry of encrypted files (package fs/crypt), so that a
	// program that knows of no encryption does not open it.
	encryptedVersion = 5
	// VersionFile names the file in the store's directory that holds the version
	// and the identity, as lines of text, the last one a checksum.
	VersionFile = "LICHEN_VERSION"

	versionMagic   = "lichen-store"
	maxVersionFile = 4096
)

// ID is a random 128-bit identity.
type ID [16]byte

// NewID makes up an identity.
func NewID() ID {
	var id ID
	_, _ = rand.Read(id[:]) // never fails: crypto/rand ends the process instead
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	return id
}

// IsZero reports whether the identity is not set.
func (id ID) IsZero() bool { return id == ID{} }

// String prints the identity as a UUID.
func (id ID) String() string {
	h := hex.EncodeToString(id[:])
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

func parseID(s string) (id ID, err error) {
	b, err := hex.DecodeString(strings.ReplaceAll(s, "-", ""))
	if err != nil || len(b) != len(id) {
		return id, fmt.Errorf("malformed identity %q", s)
	}
	copy(id[:], b)
	return id, nil
}

// Ident is the identity of a store, kept in its version file.
type Ident struct {
	ClusterID, StoreID ID
	// Created is set once the engine has data files: from then on they must be
	// there.
	Created bool
	// Encrypted is set while the store has a registry of encrypted files, which then must be there.
	Encrypted bool
}

// ReadIdent reads the identity of the store in dir; none if there is no store.
func ReadIdent(fs vfs.FS, dir string) (id Ident, err error) {
	path := fs.PathJoin(dir, VersionFile)
	data, err := readFile(fs, path)
	if oserror.IsNotExist(err) {
		return id, nil
	}
	if err != nil {
		return id, fmt.Errorf("storage: read %s: %w", path, err)
	}
	if id, err = parseIdent(data); err != nil {
		return id, fmt.Errorf("%s: %w", path, err)
	}
	return id, nil
}

// SetPlain notes that the store in dir, if there is one, has no registry of encrypted files.
func SetPlain(fs vfs.FS, dir string) error {
	id, err := ReadIdent(fs, dir)
	if err != nil || !id.Encrypted {
		return err
	}
	id.Encrypted = false
	return id.save(fs, dir)
}

// loadOrCreateIdent reads the version file of the store in dir, or writes one
// if the store is new. It tells whether files are encrypted, as fs does.
func loadOrCreateIdent(fs vfs.FS, dir string, cluster ID) (Ident, error) {
	encrypts := lfs.Encrypts(fs, dir)
	path := fs.PathJoin(dir, VersionFile)
	data, err := readFile(fs, path)
	if oserror.IsNotExist(err) {
		if _, err := fs.Stat(fs.PathJoin(dir, stateDir)); err == nil {
			return Ident{}, fmt.Errorf("%w: %s has data but no %s", ErrCorrupted, dir, VersionFile)
		}
		id := Ident{ClusterID: cluster, StoreID: NewID(), Encrypted: encrypts}
		if cluster.IsZero() {
			id.ClusterID = NewID()
		}
		return id, id.save(fs, dir)
	}
	if err != nil {
		return Ident{}, fmt.Errorf("storage: read %s: %w", path, err)
	}
	id, err := parseIdent(data)
	if err != nil {
		return Ident{}, fmt.Errorf("%s: %w", path, err)
	}
	if !cluster.IsZero() && id.ClusterID != cluster {
		return Ident{}, fmt.Errorf("%w: %s belongs to cluster %s, not %s",
			ErrWrongCluster, dir, id.ClusterID, cluster)
	}
	switch {
	case id.Encrypted && !encrypts:
		return Ident{}, fmt.Errorf("%w: %s: start with --encryption=path=%s,key=FILE", ErrEncrypted, dir, dir)
	case encrypts && !id.Encrypted:
		id.Encrypted = true
		return id, id.save(fs, dir)
	}
	return id, nil
}

// save replaces the version file in one step that survives a crash.
func (id Ident) save(fs vfs.FS, dir string) error {
	path := fs.PathJoin(dir, VersionFile)
	temp := path + ".tmp"
	if err := writeFile(fs, temp, id.format()); err != nil {
		return fmt.Errorf("storage: write %s: %w", temp, err)
	}
	if err := fs.Rename(temp, path); err != nil {
		return fmt.Errorf("storage: rename %s: %w", temp, err)
	}
	return syncDir(fs, dir)
}

func (id Ident) format() []byte {
	var b bytes.Buffer
	version := FormatVersion
	if id.Encrypted {
		version = encryptedVersion
	}
	fmt.Fprintf(&b, "%s\nformat %d\ncluster %s\nstore %s\ncreated %t\n",
		versionMagic, version, id.ClusterID, id.StoreID, id.Created)
	fmt.Fprintf(&b, "crc32c %08x\n", checksum(b.Bytes()))
	return b.Bytes()
}

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// parseIdent reads a version file. The version is judged first, so that a store
// of another version is called that, whatever else its file holds.
func parseIdent(data []byte) (id Ident, err error) {
	lines := strings.Split(string(data), "\n")
	if len(lines) < 2 || lines[0] != versionMagic {
		return id, fmt.Errorf("%w: not a version file", ErrCorrupted)
	}
	version, ok := strings.CutPrefix(lines[1], "format ")
	n, err := strconv.ParseUint(version, 10, 32)
	if !ok || err != nil {
		return id, fmt.Errorf("%w: no format version", ErrCorrupted)
	}
	body, sum, ok := bytes.Cut(data, []byte("crc32c "))
	if !ok || fmt.Sprintf("%08x\n", checksum(body)) != string(sum) {
		return id, fmt.Errorf("%w: the checksum does not match", ErrCorrupted)
	}
	id.Encrypted = n == encryptedVersion
	if n != FormatVersion && !id.Encrypted {
		return id, fmt.Errorf("%w: the store has version %d, this program reads version %d: run the release that wrote it",
			ErrVersion, n, FormatVersion)
	}
	for _, line := range lines[2:] {
		name, value, _ := strings.Cut(line, " ")
		switch name {
		case "cluster":
			id.ClusterID, err = parseID(value)
		case "store":
			id.StoreID, err = parseID(value)
		case "created":
			id.Created, err = strconv.ParseBool(value)
		}
		if err != nil {
			return id, fmt.Errorf("%w: %w", ErrCorrupted, err)
		}
	}
	if id.ClusterID.IsZero() || id.StoreID.IsZero() {
		return id, fmt.Errorf("%w: no identity", ErrCorrupted)
	}
	return id, nil
}

func readFile(fs vfs.FS, path string) ([]byte, error) {
	f, err := fs.Open(path)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxVersionFile))
	return data, errors.Join(err, f.Close())
}

func writeFile(fs vfs.FS, path string, data []byte) error {
	f, err := fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
