package membership

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/lichendb/lichen/internal/keys"
	"github.com/lichendb/lichen/internal/kv"
	"github.com/lichendb/lichen/internal/kvpb"
	"github.com/lichendb/lichen/internal/lock"
	"github.com/lichendb/lichen/internal/sql/pgerr"
)

// A gateway has two records, which are written and deleted together. The first says who it is; it changes
// only when the gateway registers or is struck off. The second says until when it may use what it has
// cached; each renewal writes it. The fields' names in JSON are those under which they were first stored.

// The names of the system keys of gateways; a node id follows the first two.
const (
	sysMember = "gateway/"
	sysLease  = "gateway-lease/"
	sysLeft   = "gateway-left"
)

// Member is the first record.
type Member struct {
	Node        kvpb.NodeID
	Incarnation int64 `json:"Life"` // of the node
	// Registration tells the registrations of a node apart; an incarnation may have several.
	Registration int64 `json:"Incarnation"`

	expires int64 // of the lease
}

// lease is the second record.
type lease struct {
	Registration int64 `json:"Incarnation"`
	// Expiration is a wall time in nanoseconds.
	Expiration int64
}

// role is the record of the node that has a role.
type role struct {
	Node         kvpb.NodeID
	Registration int64 `json:"Incarnation"`
	Expiration   int64
}

func memberKey(n kvpb.NodeID) []byte {
	return keys.SystemKey(sysMember + strconv.FormatUint(uint64(n), 10))
}

func leaseKey(n kvpb.NodeID) []byte {
	return keys.SystemKey(sysLease + strconv.FormatUint(uint64(n), 10))
}

func leftKey() []byte { return keys.SystemKey(sysLeft) }

// decode reads a record; one that is not there leaves into as it is.
func decode(b []byte, found bool, into any) error {
	if !found {
		return nil
	}
	if err := json.Unmarshal(b, into); err != nil {
		return pgerr.New(pgerr.DataCorrupted, "damaged gateway record: %v", err)
	}
	return nil
}

// lockRecord locks a record and reads it. found reports whether it is there.
func lockRecord(ctx context.Context, t *kv.Txn, key []byte, s lock.Strength, into any) (found bool, err error) {
	res, err := t.Lock(ctx, key, s, lock.WaitBlock)
	if err != nil {
		return false, err
	}
	return res.Found, decode(res.Value, res.Found, into)
}

func put(ctx context.Context, t *kv.Txn, key []byte, record any) error {
	b, err := json.Marshal(record)
	if err != nil {
		return pgerr.From(err)
	}
	if _, err := t.Lock(ctx, key, lock.Update, lock.WaitBlock); err != nil {
		return err
	}
	return t.Put(key, b)
}
