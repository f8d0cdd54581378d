package mvcc

import (
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/storage"
)

// Get reads key as it was at ts. The payload is appended to buf; the result's
// Data is the appended part. Of a tombstone, the result has the time. Without memory for a
// large payload the error is a *quota.ExceededError.
func Get(eng *storage.Engine, key []byte, ts hlc.Timestamp, buf []byte) (Value, bool, error) {
	_, v, found, err := read(eng, key, ts, buf, eng.Values())
	return v, found, err
}

// GetOwn is Get for what the store itself must read to go on: large payloads need no
// reservation.
func GetOwn(eng *storage.Engine, key []byte, ts hlc.Timestamp) (Value, bool, error) {
	_, v, found, err := read(eng, key, ts, nil, nil)
	return v, found, err
}

// GetShort reads the version of key that GetOwn would, and returns the size with which it is stored,
// 0 if there is none. The payload is left out if that is more than limit.
func GetShort(eng *storage.Engine, key []byte, ts hlc.Timestamp, limit int) (v Value, size int, err error) {
	it, err := eng.AcquirePoint()
	if err != nil {
		return v, 0, err
	}
	defer it.Release()
	ts, found, err := seek(eng, it, key, ts)
	if !found {
		return v, 0, err
	}
	lv := it.LazyValue()
	v.TS, size = ts, lv.Len()
	if size > limit {
		return v, size, nil
	}
	stored, err := it.ValueAndErr()
	if err != nil {
		return v, size, err
	}
	payload, _, err := parseStored(stored)
	v.Data = append([]byte{}, payload...)
	return v, size, err
}

// read also returns buf with the payload appended.
func read(
	eng *storage.Engine, key []byte, ts hlc.Timestamp, buf []byte, mem *quota.Values,
) ([]byte, Value, bool, error) {
	if out, v, found, ok := remembered(eng, key, ts, buf); ok {
		return out, v, found, nil
	}
	it, err := eng.AcquirePoint()
	if err != nil {
		return buf, Value{}, false, err
	}
	out, v, found, err := get(eng, it, key, ts, buf, mem)
	it.Release()
	return out, v, found, err
}

// remembered reads key from the cache of newest versions; ok is false if that can't tell.
func remembered(eng *storage.Engine, key []byte, ts hlc.Timestamp, buf []byte) (out []byte, v Value, found, ok bool) {
	header, out, at, ok := eng.NewestVersion(key, ts, buf)
	if !ok {
		return buf, Value{}, false, false
	}
	v = Value{Data: out[len(buf):len(out):len(out)], TS: at}
	return out, v, header == headerValue, true
}

// seek positions the iterator at the newest version of key that is not newer than ts.
func seek(
	eng *storage.Engine, it *storage.PooledIter, key []byte, ts hlc.Timestamp,
) (vts hlc.Timestamp, found bool, err error) {
	if ts.IsEmpty() || !it.SeekVersion(key, ts) {
		return vts, false, eng.ReadError(it.Error())
	}
	_, vts, err = storage.DecodeEngineKey(it.Key())
	return vts, err == nil, err
}

func get(
	eng *storage.Engine, it *storage.PooledIter, key []byte, ts hlc.Timestamp, buf []byte, mem *quota.Values,
) ([]byte, Value, bool, error) {
	if ts.IsEmpty() {
		return buf, Value{}, false, nil
	}
	// The newest version is worth remembering, and mostly the one asked for.
	vts, found, err := seek(eng, it, key, hlc.MaxTimestamp)
	newest := vts.LessEq(ts)
	if found && !newest {
		vts, found, err = seek(eng, it, key, ts)
	}
	if !found {
		return buf, Value{}, false, err
	}
	lv := it.LazyValue()
	if buf, err = mem.Room(buf, lv.Len()); err != nil {
		return buf, Value{}, false, err
	}
	stored, err := it.Fetch(mem)
	if err != nil {
		return buf, Value{}, false, err
	}
	payload, tombstone, err := parseStored(stored)
	if err != nil {
		return buf, Value{TS: vts}, false, err
	}
	if newest {
		it.Remember(key, vts, stored)
	}
	if tombstone {
		return buf, Value{TS: vts}, false, nil
	}
	n := len(buf)
	buf = append(buf, payload...)
	return buf, Value{Data: buf[n:len(buf):len(buf)], TS: vts}, true, nil
}

// version finds the newest version of key not newer than ts without copying it.
func version(
	eng *storage.Engine, it *storage.PooledIter, key []byte, ts hlc.Timestamp,
) (vts hlc.Timestamp, tombstone, found bool, err error) {
	if vts, found, err = seek(eng, it, key, ts); !found {
		return vts, false, false, err
	}
	// A tombstone is one byte, and a value that is one byte long is cheap to
	// read; the length of any other is known without reading it.
	if lv := it.LazyValue(); lv.Len() != headerLen {
		return vts, false, true, nil
	}
	stored, err := it.ValueAndErr()
	if err != nil {
		return vts, false, false, err
	}
	_, tombstone, err = parseStored(stored)
	return vts, tombstone, err == nil, err
}
