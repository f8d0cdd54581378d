package eval

import (
	"github.com/lichendb/lichen/internal/hlc"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/storage/mvcc"
)

// manyKeys is the number of keys from which on one iterator reads them, rather than a search for each.
const manyKeys = 9

// Committed finds the newest committed versions of locked keys that may have intents.
type Committed struct {
	// Hidden is true of intents of transactions that have not committed.
	Hidden mvcc.Hidden
	// Moved has the commit timestamps of committed transactions, by the timestamps of their intents
	// that are not resolved yet. A version counts as one of its commit timestamp.
	Moved map[hlc.Timestamp]hlc.Timestamp
}

// Read reads a key.
func (c *Committed) Read(rd *mvcc.Reader, key []byte, resp *kvpb.LockResponse) error {
	err := Latest(rd, key, hlc.MaxTimestamp, resp)
	for err == nil && !resp.TS.IsEmpty() && c.Hidden(resp.TS) {
		err = Latest(rd, key, resp.TS.Prev(), resp)
	}
	if ts, ok := c.Moved[resp.TS]; ok {
		resp.TS = ts
	}
	return err
}

// Reader returns a function that reads the i-th key of a request. The caller calls it in ascending
// order of i.
func (c *Committed) Reader(rd *mvcc.Reader, req *kvpb.LockManyRequest, got []kvpb.LockResponse) (read func(i int) error, err error) {
	if len(req.Keys) < manyKeys {
		return func(i int) error { return c.Read(rd, req.Keys[i], &got[i]) }, nil
	}
	newest, err := rd.Newest(req.Keys[0], req.Keys[len(req.Keys)-1])
	if err != nil {
		return nil, err
	}
	var seen hlc.Timestamp
	if req.Seen {
		seen = req.Txn.ReadTS
	}
	return func(i int) error {
		err := latestOf(&newest, req.Keys[i], seen, &got[i])
		if _, moved := c.Moved[got[i].TS]; err == nil && (moved || c.Hidden(got[i].TS)) {
			return c.Read(rd, req.Keys[i], &got[i])
		}
		return err
	}, nil
}

// latestOf reads the newest version of a key, whatever its timestamp. It leaves out the value if the
// version's timestamp is not above seen: the transaction has read it.
func latestOf(n *mvcc.Newest, key []byte, seen hlc.Timestamp, resp *kvpb.LockResponse) error {
	var err error
	if resp.TS, resp.Found, err = n.Find(key); err != nil || !resp.Found {
		return err
	}
	deleted, err := n.Deleted()
	if resp.Found = !deleted; err == nil && resp.Found && seen.Less(resp.TS) {
		resp.Value, err = n.Append(resp.Value[:0])
	}
	return err
}
