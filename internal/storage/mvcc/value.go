package mvcc

import (
	"fmt"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/storage"
)

// The first byte of a stored version is its kind; the rest is the payload.
// Other values are reserved for versions with more than a payload.
const (
	headerTombstone byte = 0x00
	headerValue     byte = 0x01
	headerLen            = 1
)

// Value is a version that a read found.
type Value struct {
	// Data is the payload.
	Data []byte
	// TS is the time of the version.
	TS hlc.Timestamp
}

// parseStored splits the stored bytes of a version.
func parseStored(b []byte) (payload []byte, tombstone bool, err error) {
	if len(b) > 0 {
		switch b[0] {
		case headerValue:
			return b[headerLen:], false, nil
		case headerTombstone:
			if len(b) == headerLen {
				return nil, true, nil
			}
		}
	}
	return nil, false, fmt.Errorf("%w: malformed version %x", storage.ErrCorrupted, b[:min(len(b), 16)])
}

// DecodeVersion splits the engine key of a version; key aliases engineKey.
func DecodeVersion(engineKey []byte) (key []byte, ts hlc.Timestamp, err error) {
	return storage.DecodeEngineKey(engineKey)
}

// PutVersion adds to b the version of key at ts with the given value.
func PutVersion(b *storage.Batch, key []byte, ts hlc.Timestamp, value []byte) error {
	return b.SetVersion(key, ts, headerValue, value)
}

// PutInTable adds to a table the version of key at ts with the given value.
func PutInTable(t *storage.TableWriter, key []byte, ts hlc.Timestamp, value []byte) error {
	return t.SetVersion(key, ts, headerValue, value)
}

// DeleteVersion adds to b a tombstone: from ts on, key does not exist.
func DeleteVersion(b *storage.Batch, key []byte, ts hlc.Timestamp) error {
	return b.SetVersion(key, ts, headerTombstone, nil)
}

// DropVersion removes a garbage version for good.
func DropVersion(b *storage.Batch, key []byte, v Garbage) error {
	return b.DeleteVersion(key, v.TS, v.Size)
}

// Payload splits the stored bytes of a version, which an iterator of the engine finds.
func Payload(stored []byte) (payload []byte, tombstone bool, err error) { return parseStored(stored) }
