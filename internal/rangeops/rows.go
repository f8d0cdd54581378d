package rangeops

import (
	"context"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/storage"
)

// RowStart returns where the row begins whose first key this is, which ends with the number of
// family 0. Rows may have more keys, with the numbers of other families: ok is false for those,
// which look like any other place within a table.
func RowStart(key []byte) (start []byte, ok bool) {
	_, _, _, rest, table := keys.DecodeIndexPrefix(key)
	if !table || len(rest) == 0 {
		return key, true
	}
	family := keys.AppendFamily(nil, keys.DefaultFamily)
	if len(rest) > len(family) && string(rest[len(rest)-len(family):]) == string(family) {
		return key[:len(key)-len(family)], true
	}
	return key, false
}

// SplitKey implements balance.Changer.
func (a *Admin) SplitKey(_ context.Context, id kvpb.RangeID) ([]byte, bool, error) {
	r, ok := a.o.Store.Replica(id)
	if !ok {
		return nil, false, &kvpb.RangeMismatchError{Range: id}
	}
	mid, err := a.o.Stats.Of(r).Middle(a.o.Store.Of(r).Engine())
	if err != nil || mid == nil {
		return nil, false, err
	}
	key, err := a.firstRow(mid, r.Desc())
	return key, key != nil, err
}

// firstRow returns where the first row begins that begins after the start of a range and not
// before key, nil if there is none.
func (a *Admin) firstRow(key []byte, d *kvpb.RangeDescriptor) ([]byte, error) {
	r, ok := a.o.Store.Replica(d.RangeID)
	if !ok {
		return nil, &kvpb.RangeMismatchError{Range: d.RangeID}
	}
	it, err := a.o.Store.Of(r).Engine().NewIter(storage.IterOptions{Lower: key, Upper: d.EndKey})
	if err != nil {
		return nil, err
	}
	defer it.Close()
	for ok := it.First(); ok; ok = it.Next() {
		k, _, err := storage.DecodeEngineKey(it.Key())
		if err != nil {
			return nil, err
		}
		if k, ok := RowStart(k); ok && string(k) > string(d.StartKey) {
			return append([]byte(nil), k...), nil
		}
	}
	return nil, it.Error()
}
