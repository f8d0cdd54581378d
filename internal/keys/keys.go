package keys

import "github.com/lichendb/lichen/internal/encoding"

// The first byte of a key names its region. The gaps leave room.
const (
	regionStoreLocal byte = 0x01
	regionRangeLocal byte = 0x02
	regionLock       byte = 0x03
	regionTxn        byte = 0x04
	regionMeta       byte = 0x08
	regionSystem     byte = 0x09
	regionTable      byte = 0x10
	regionEnd        byte = 0x11
)

// Kinds of store-local keys.
const storeIdent byte = 0x01

// Kinds of range-local keys, in the order a snapshot of the range sends them; 3 and 5 have no use.
const (
	rangeAppliedState byte = 0x01
	rangeDescriptor   byte = 0x02
	rangeGCThreshold  byte = 0x04
	rangeTombstone    byte = 0x06
	rangeReplicaID    byte = 0x07
	rangeLockTransfer byte = 0x08
	rangeSnapshotMark byte = 0x09
)

// MaxIDs of the catalog: ids are ordered uvarints, so any 64-bit id fits.
const (
	// PrimaryIndexID is the id of the first index of a table, its primary key.
	PrimaryIndexID uint64 = 1
	// DefaultFamily is the family that holds the columns not put elsewhere.
	DefaultFamily uint64 = 0
)

// ReplicatedSpan is the part of the key space that is cut into ranges:
// addressing, system and table keys.
func ReplicatedSpan() Span {
	return Span{Start: []byte{regionMeta}, End: []byte{regionEnd}}
}

// StoreIdent is the unreplicated key of a store's identity.
func StoreIdent() []byte { return []byte{regionStoreLocal, storeIdent} }

// RangePrefix begins all keys of one range that are not part of its data.
func RangePrefix(rangeID uint64) []byte {
	return encoding.AppendUvarintOrdered([]byte{regionRangeLocal}, rangeID)
}

// RangeLocalSpan covers the range-local keys of one range.
func RangeLocalSpan(rangeID uint64) Span {
	return prefixSpan(RangePrefix(rangeID))
}

// AllRangeLocalSpan covers the range-local keys of all ranges.
func AllRangeLocalSpan() Span {
	return Span{Start: []byte{regionRangeLocal}, End: []byte{regionRangeLocal + 1}}
}

// RangeAppliedState is the key of the (index, term) a range has applied; it is
// written in the batch of the effects.
func RangeAppliedState(rangeID uint64) []byte {
	return append(RangePrefix(rangeID), rangeAppliedState)
}

// RangeDescriptor is the key of the copy of its descriptor that a range holds.
func RangeDescriptor(rangeID uint64) []byte {
	return append(RangePrefix(rangeID), rangeDescriptor)
}

// RangeGCThreshold is the key of the range's collection threshold.
func RangeGCThreshold(rangeID uint64) []byte {
	return append(RangePrefix(rangeID), rangeGCThreshold)
}

// RangeTombstone is the key of the floor under the replica ids of a range whose
// replica was removed from this store.
func RangeTombstone(rangeID uint64) []byte {
	return append(RangePrefix(rangeID), rangeTombstone)
}

// RangeReplicaID is the key of this store's replica id within the range.
func RangeReplicaID(rangeID uint64) []byte {
	return append(RangePrefix(rangeID), rangeReplicaID)
}

// RangeLockTransfer is the key of the row locks that a leader exports to the next one.
func RangeLockTransfer(rangeID uint64) []byte {
	return append(RangePrefix(rangeID), rangeLockTransfer)
}

// RangeSnapshotMark is the key of what a store notes with a snapshot that it installs, until
// the range's log begins after it.
func RangeSnapshotMark(rangeID uint64) []byte {
	return append(RangePrefix(rangeID), rangeSnapshotMark)
}

// DecodeRangeLocal splits a range-local key into the range id and the rest,
// which begins with the kind. ok is false for any other key.
func DecodeRangeLocal(key []byte) (rangeID uint64, rest []byte, ok bool) {
	if len(key) == 0 || key[0] != regionRangeLocal {
		return 0, nil, false
	}
	id, rest, err := encoding.DecodeUvarintOrdered(key[1:])
	return id, rest, err == nil
}

// Lock is the key of the durable lock on key; locks sort as the keys they lock.
func Lock(key []byte) []byte {
	return AppendLock(nil, key)
}

// AppendLock appends Lock(key) to dst.
func AppendLock(dst, key []byte) []byte {
	return encoding.AppendBytes(append(dst, regionLock), key)
}

// LockSpan covers the durable locks on the keys of s.
func LockSpan(s Span) Span {
	if s.IsPoint() {
		k := Lock(s.Start)
		return Span{Start: k, End: Next(k)}
	}
	return Span{Start: Lock(s.Start), End: Lock(s.End)}
}

// DecodeLock returns the key that a durable lock locks.
func DecodeLock(lockKey []byte) (key []byte, ok bool) {
	if len(lockKey) == 0 || lockKey[0] != regionLock {
		return nil, false
	}
	key, rest, err := encoding.DecodeBytes(lockKey[1:])
	return key, err == nil && len(rest) == 0
}

// TxnRecord is the key of the record of transaction id, anchored at a key that
// the transaction wrote, so that both live in the same range.
func TxnRecord(anchor []byte, id [16]byte) []byte {
	return append(encoding.AppendBytes([]byte{regionTxn}, anchor), id[:]...)
}

// TxnRecordSpan covers the records of transactions anchored in s.
func TxnRecordSpan(s Span) Span {
	start := encoding.AppendBytes([]byte{regionTxn}, s.Start)
	if s.IsPoint() {
		return prefixSpan(start)
	}
	return Span{Start: start, End: encoding.AppendBytes([]byte{regionTxn}, s.End)}
}

// Meta is the addressing key of the range that ends at endKey.
func Meta(endKey []byte) []byte { return append([]byte{regionMeta}, endKey...) }

// SystemKey is the reserved, replicated key of the system item called name, for
// example a cluster setting or an id generator.
func SystemKey(name string) []byte { return append([]byte{regionSystem}, name...) }

// SystemSpan covers the system keys whose name begins with prefix.
func SystemSpan(prefix string) Span { return prefixSpan(SystemKey(prefix)) }

// DatabasePrefix begins every key of the database.
func DatabasePrefix(db uint64) []byte {
	return AppendDatabasePrefix(make([]byte, 0, 12), db)
}

// AppendDatabasePrefix appends what DatabasePrefix returns.
func AppendDatabasePrefix(dst []byte, db uint64) []byte {
	return encoding.AppendUvarintOrdered(append(dst, regionTable), db)
}

// TablePrefix begins every key of the table.
func TablePrefix(db, table uint64) []byte {
	return AppendTablePrefix(make([]byte, 0, 16), db, table)
}

// AppendTablePrefix appends what TablePrefix returns.
func AppendTablePrefix(dst []byte, db, table uint64) []byte {
	return encoding.AppendUvarintOrdered(AppendDatabasePrefix(dst, db), table)
}

// IndexPrefix begins every key of the index.
func IndexPrefix(db, table, index uint64) []byte {
	return AppendIndexPrefix(make([]byte, 0, 24), db, table, index)
}

// AppendIndexPrefix appends what IndexPrefix returns.
func AppendIndexPrefix(dst []byte, db, table, index uint64) []byte {
	return encoding.AppendUvarintOrdered(AppendTablePrefix(dst, db, table), index)
}

// DatabaseSpan covers every key of the database.
func DatabaseSpan(db uint64) Span { return prefixSpan(DatabasePrefix(db)) }

// TableSpan covers every key of the table.
func TableSpan(db, table uint64) Span { return prefixSpan(TablePrefix(db, table)) }

// IndexSpan covers every key of the index.
func IndexSpan(db, table, index uint64) Span { return prefixSpan(IndexPrefix(db, table, index)) }

// TableDataSpan covers the data of all databases.
func TableDataSpan() Span {
	return Span{Start: []byte{regionTable}, End: []byte{regionTable + 1}}
}

// AppendFamily appends the id of a column family, which ends the key of a row.
// Family 0 takes one byte.
func AppendFamily(dst []byte, family uint64) []byte {
	return encoding.AppendUvarintOrdered(dst, family)
}

// DecodeFamily reads the family id that must be all that is left of a key.
func DecodeFamily(b []byte) (family uint64, err error) {
	family, rest, err := encoding.DecodeUvarintOrdered(b)
	if err != nil {
		return 0, err
	}
	if len(rest) != 0 {
		return 0, encoding.ErrTrailing
	}
	return family, nil
}

// DecodeIndexPrefix splits a key of table data into its ids and the rest, the
// encoded columns. ok is false for any other key.
func DecodeIndexPrefix(key []byte) (db, table, index uint64, rest []byte, ok bool) {
	if len(key) == 0 || key[0] != regionTable {
		return 0, 0, 0, nil, false
	}
	rest = key[1:]
	var err error
	for _, id := range []*uint64{&db, &table, &index} {
		if *id, rest, err = encoding.DecodeUvarintOrdered(rest); err != nil {
			return 0, 0, 0, nil, false
		}
	}
	return db, table, index, rest, true
}

func prefixSpan(prefix []byte) Span { return Span{Start: prefix, End: PrefixEnd(prefix)} }
