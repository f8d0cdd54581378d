package mvcc

import (
	"bytes"

	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/quota"
	"github.com/lichendb/lichen/internal/storage"
)

// mostMoves is how often a Newest moves its iterator before it seeks.
const mostMoves = 6

// Newest reads the newest versions of many keys in ascending order with one iterator. It steps to a key that
// lies close to the one before, which is cheaper than a seek, and seeks one that does not.
type Newest struct {
	eng   *storage.Engine
	it    *storage.PooledIter
	moves int // to try before a seek: few where keys were far apart
}

// Newest returns a Newest for keys from first to last on the reader's state. As with Scanner, no other scan may
// run on the reader until it is done.
func (r *Reader) Newest(first, last []byte) (Newest, error) {
	it, err := r.scanIter()
	if err != nil {
		return Newest{}, err
	}
	it.SetSpan(first, keys.Next(last))
	it.First()
	return Newest{eng: r.eng, it: it, moves: mostMoves}, nil
}

// Find moves to the newest version of a key, which does not lie below that of the call before, and returns its
// time. found is false if the key has no version.
func (n *Newest) Find(key []byte) (ts hlc.Timestamp, found bool, err error) {
	n.approach(key)
	for n.it.Valid() {
		ek := n.it.Key()
		if !bytes.Equal(userKey(ek), key) {
			return ts, false, nil
		}
		if _, ts, err = storage.DecodeEngineKey(ek); err != nil || !ts.IsEmpty() {
			return ts, err == nil, err
		}
		n.it.Next() // an unversioned key
	}
	return ts, false, n.eng.ReadError(n.it.Error())
}

// approach moves the iterator to the first engine key that does not lie below a key.
func (n *Newest) approach(key []byte) {
	before := func() bool { return n.it.Valid() && bytes.Compare(userKey(n.it.Key()), key) < 0 }
	for i := 0; before(); i++ {
		switch {
		case i == n.moves:
			n.moves = max(1, n.moves/2)
			n.it.KeyBuf = storage.AppendEngineKey(n.it.KeyBuf[:0], key, hlc.Timestamp{})
			n.it.SeekGE(n.it.KeyBuf)
			return
		case i%2 == 0:
			n.it.Next()
		default:
			n.it.NextPrefix() // over older versions
		}
	}
	n.moves = mostMoves
}

// Deleted reports whether the version that Find found is a tombstone.
func (n *Newest) Deleted() (bool, error) {
	// A tombstone is one byte: the length of any other version is known without reading it.
	if lv := n.it.LazyValue(); lv.Len() != headerLen {
		return false, nil
	}
	_, tombstone, err := n.stored(nil)
	return tombstone, err
}

// Append appends the payload of the version that Find found to buf. Without memory for a large one the error is
// a *quota.ExceededError.
func (n *Newest) Append(buf []byte) ([]byte, error) {
	lv := n.it.LazyValue()
	buf, err := n.eng.Values().Room(buf, lv.Len())
	if err != nil {
		return buf, err
	}
	payload, _, err := n.stored(n.eng.Values())
	return append(buf, payload...), err
}

func (n *Newest) stored(mem *quota.Values) (payload []byte, tombstone bool, err error) {
	stored, err := n.it.Fetch(mem)
	if err != nil {
		return nil, false, err
	}
	return parseStored(stored)
}

// userKey is the key of an engine key.
func userKey(ek []byte) []byte { return ek[:prefixLen(ek)-1] }
