package catalog

import (
	"encoding/binary"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// The names of the system keys of the catalog.
const (
	sysDescriptor = "cat/desc/"
	sysName       = "cat/name/"
	sysNextID     = "cat/next-id"
	sysNextOid    = "cat/next-oid"
	sysCleanup    = "cat/cleanup/"
	sysStatistics = "cat/stat/"
)

// NameKey is a name in its name space: databases have neither parent nor
// schema, schemas have a database, relations and indexes have both.
type NameKey struct {
	Database ID
	Schema   ID
	Name     string
}

// NameEntry is what a name stands for.
type NameEntry struct {
	// ID is the descriptor; for an index that of its table.
	ID    ID
	Index bool
}

func descriptorKey(id ID) []byte {
	return binary.BigEndian.AppendUint64(keys.SystemKey(sysDescriptor), uint64(id))
}

func nameKey(n NameKey) []byte {
	k := binary.BigEndian.AppendUint64(keys.SystemKey(sysName), uint64(n.Database))
	k = binary.BigEndian.AppendUint64(k, uint64(n.Schema))
	return append(k, n.Name...)
}

func decodeNameKey(k []byte) (NameKey, error) {
	prefix := len(keys.SystemKey(sysName))
	if len(k) < prefix+16 {
		return NameKey{}, pgerr.New(pgerr.DataCorrupted, "damaged name key in the catalog")
	}
	k = k[prefix:]
	return NameKey{
		Database: ID(binary.BigEndian.Uint64(k)),
		Schema:   ID(binary.BigEndian.Uint64(k[8:])),
		Name:     string(k[16:]),
	}, nil
}

// nameFormat is the first byte of the value of a name.
const nameFormat = 1

func encodeName(e NameEntry) []byte {
	b := binary.BigEndian.AppendUint64([]byte{nameFormat}, uint64(e.ID))
	if e.Index {
		return append(b, 'i')
	}
	return append(b, 'r')
}

func decodeName(b []byte) (NameEntry, error) {
	if len(b) > 0 && b[0] != nameFormat {
		return NameEntry{}, pgerr.New(pgerr.DataCorrupted,
			"a catalog name has format %d, this version reads format %d", b[0], nameFormat)
	}
	if len(b) < 10 {
		return NameEntry{}, pgerr.New(pgerr.DataCorrupted, "damaged name in the catalog")
	}
	return NameEntry{ID: ID(binary.BigEndian.Uint64(b[1:])), Index: b[9] == 'i'}, nil
}
