package keys

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// advisoryPrefix begins the names of the system keys that stand for advisory locks.
// Nothing but records of holders (AdvisoryHolder) is stored below them.
const advisoryPrefix = "advisory/"

// advisoryLen is how long such a key is: database, kind and number follow the prefix.
const advisoryLen = 1 + len(advisoryPrefix) + 8 + 1 + 8

// AdvisoryLock is the key of an advisory lock of a database: of a 64-bit number or,
// with pair, of two 32-bit ones.
func AdvisoryLock(db uint64, pair bool, n int64) []byte {
	k := binary.BigEndian.AppendUint64(SystemKey(advisoryPrefix), db)
	kind := byte(0)
	if pair {
		kind = 1
	}
	return binary.BigEndian.AppendUint64(append(k, kind), uint64(n))
}

// DecodeAdvisoryLock reads what AdvisoryLock made; ok is false for any other key.
func DecodeAdvisoryLock(key []byte) (db uint64, pair bool, n int64, ok bool) {
	if len(key) != advisoryLen || string(key[:1+len(advisoryPrefix)]) != string(SystemKey(advisoryPrefix)) {
		return 0, false, 0, false
	}
	rest := key[1+len(advisoryPrefix):]
	if rest[8] > 1 {
		return 0, false, 0, false
	}
	return binary.BigEndian.Uint64(rest), rest[8] == 1, int64(binary.BigEndian.Uint64(rest[9:])), true
}

// AdvisoryHolder is the key of the record of a holder, named by 16 bytes, of the advisory
// lock of that key. The record outlives the leader that granted the lock.
func AdvisoryHolder(lock []byte, holder [16]byte) []byte {
	k := make([]byte, 0, len(lock)+len(holder))
	return append(append(k, lock...), holder[:]...)
}

// AdvisoryHolders covers the records of the holders of a lock.
func AdvisoryHolders(lock []byte) Span { return prefixSpan(bytes.Clone(lock)) }

// DecodeAdvisoryHolder returns the holder that a record of a lock names.
func DecodeAdvisoryHolder(lock, key []byte) (holder [16]byte, ok bool) {
	if len(key) != len(lock)+len(holder) || string(key[:len(lock)]) != string(lock) {
		return holder, false
	}
	copy(holder[:], key[len(lock):])
	return holder, true
}

func prettyAdvisory(db uint64, pair bool, n int64) string {
	if pair {
		return fmt.Sprintf("/System/Advisory/%d/%d,%d", db, int32(n>>32), int32(n))
	}
	return fmt.Sprintf("/System/Advisory/%d/%d", db, n)
}
