package liveness

import (
	"cmp"
	"slices"

	"github.com/lichendb/lichen/internal/kvpb"
)

const (
	// maxNodes is how many nodes, removed ones included, are remembered.
	maxNodes = 4096
	// maxStores is how many stores one node may have.
	maxStores = 256
	// maxString is the length in bytes of the longest address, locality or
	// version.
	maxString = 1024
)

// NodeInfo is what the nodes of a cluster know about one of them.
type NodeInfo struct {
	ID   kvpb.NodeID
	Life int64 // when the node was started by its own clock; later lives have higher ones

	Addr, SQLAddr, HTTPAddr string
	Locality                string
	Version                 string
	Stores                  []StoreInfo

	Draining        bool
	Decommissioning bool
	Removed         bool // for good: nothing replaces it

	Seq uint64 // orders the versions of the info within a life
}

// StoreInfo is what the nodes of a cluster know about a store.
type StoreInfo struct {
	ID                       kvpb.StoreID
	CapacityBytes, UsedBytes int64 // of its disk, or of its share of it
	OwnBytes                 int64 // what the store itself takes
	Ranges, Leaders          int
	QPS, WriteBytesPerSec    float64
	// Stalled and Full say that its disk does not answer or has no room: it should
	// lead nothing and take nothing in. Slow says that its disk takes long for each
	// write: others lead better; Late, that one took long a moment ago.
	Stalled, Full, Slow, Late bool
}

// version says which of two infos about a node is the newer one.
type version struct {
	removed bool
	life    int64
	seq     uint64
}

func (n *NodeInfo) version() version { return version{n.Removed, n.Life, n.Seq} }

func (v version) less(w version) bool {
	if v.removed != w.removed {
		return w.removed
	}
	if c := cmp.Compare(v.life, w.life); c != 0 {
		return c < 0
	}
	return v.seq < w.seq
}

// fits reports whether the info keeps the limits that peers check.
func (n *NodeInfo) fits() bool {
	for _, s := range []string{n.Addr, n.SQLAddr, n.HTTPAddr, n.Locality, n.Version} {
		if len(s) > maxString {
			return false
		}
	}
	return n.ID != 0 && len(n.Stores) <= maxStores
}

func (n NodeInfo) clone() NodeInfo {
	n.Stores = slices.Clone(n.Stores)
	return n
}

// differs reports whether n differs from old in more than figures: in what
// other nodes need to know soon.
func (n *NodeInfo) differs(old *NodeInfo) bool {
	return n.Life != old.Life || n.Addr != old.Addr || n.SQLAddr != old.SQLAddr || n.HTTPAddr != old.HTTPAddr ||
		n.Locality != old.Locality || n.Version != old.Version ||
		n.Draining != old.Draining || n.Decommissioning != old.Decommissioning || n.Removed != old.Removed ||
		!slices.EqualFunc(n.Stores, old.Stores, func(a, b StoreInfo) bool {
			return a.ID == b.ID && a.Stalled == b.Stalled && a.Full == b.Full && a.Slow == b.Slow
		})
}
