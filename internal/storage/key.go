package storage

import (
	"encoding/binary"
	"fmt"

	"github.com/lichendb/lichen/internal/hlc"
)

// An engine key is a user key, a zero byte and, for a version, its timestamp
// and the length of that suffix: the form that Pebble's cockroachkvs comparer
// and key schema expect. Versions of one key sort newest first, after the
// unversioned key.
const (
	sentinel = 0x00
	// suffix lengths count the timestamp and the length byte.
	wallSuffixLen    = 8 + 1
	logicalSuffixLen = 8 + 4 + 1
	// MaxSuffixLen is the most that AppendEngineKey adds to a user key.
	MaxSuffixLen = 1 + logicalSuffixLen
)

// AppendEngineKey appends the engine key of a version, or of the unversioned
// key if ts is the zero timestamp.
func AppendEngineKey(dst, key []byte, ts hlc.Timestamp) []byte {
	dst = append(dst, key...)
	return appendSuffix(dst, ts)
}

func appendSuffix(dst []byte, ts hlc.Timestamp) []byte {
	dst = append(dst, sentinel)
	if ts.IsEmpty() {
		return dst
	}
	dst = binary.BigEndian.AppendUint64(dst, uint64(ts.WallTime))
	if ts.Logical == 0 {
		return append(dst, wallSuffixLen)
	}
	dst = binary.BigEndian.AppendUint32(dst, ts.Logical)
	return append(dst, logicalSuffixLen)
}

// engineKeyLen is the length of the engine key of a key of keyLen bytes.
func engineKeyLen(keyLen int, ts hlc.Timestamp) int {
	switch {
	case ts.IsEmpty():
		return keyLen + 1
	case ts.Logical == 0:
		return keyLen + 1 + wallSuffixLen
	default:
		return keyLen + 1 + logicalSuffixLen
	}
}

// DecodeEngineKey splits an engine key into the user key, which aliases it, and
// the timestamp, zero if the key is unversioned.
func DecodeEngineKey(ek []byte) (key []byte, ts hlc.Timestamp, err error) {
	if len(ek) == 0 {
		return nil, ts, errEngineKey(ek)
	}
	suffix := int(ek[len(ek)-1])
	end := len(ek) - suffix - 1 // where the sentinel is
	if end < 0 || ek[end] != sentinel {
		return nil, ts, errEngineKey(ek)
	}
	switch suffix {
	case 0:
		return ek[:end], ts, nil
	case wallSuffixLen:
		ts.WallTime = int64(binary.BigEndian.Uint64(ek[end+1:]))
	case logicalSuffixLen:
		ts.WallTime = int64(binary.BigEndian.Uint64(ek[end+1:]))
		ts.Logical = binary.BigEndian.Uint32(ek[end+9:])
	default:
		return nil, ts, errEngineKey(ek)
	}
	return ek[:end], ts, nil
}

func errEngineKey(ek []byte) error {
	return fmt.Errorf("%w: malformed engine key %x", ErrCorrupted, ek)
}
