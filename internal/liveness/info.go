package liveness

import (
	"cmp"
	"slices"

	"github.com/lichendb/lichen/internal/kvpb"
)

const (
	// maxNodes bounds the nodes in the registry, removed ones included.
	maxNodes = 4096
	// maxStores bounds the stores of a node.
	maxStores = 256
	// maxString bounds the bytes of an address, a locality or a version.
	maxString = 1024
)

// NodeInfo is the registry's entry of a node.
type NodeInfo struct {
	ID          kvpb.NodeID
	Incarnation int64 // start of the node's process by its own clock; rises with each start

	Addr, SQLAddr, HTTPAddr string
	Locality                string
	Version                 string
	Stores                  []StoreInfo

	Draining        bool
	Decommissioning bool
	Removed         bool // for good: nothing replaces it

	Seq uint64 // orders the versions of the info within an incarnation
}

// StoreInfo is the registry's entry of a store.
type StoreInfo struct {
	ID                       kvpb.StoreID
	CapacityBytes, UsedBytes int64 // of its disk, or of its share of it
	OwnBytes                 int64 // of the store's own files
	Ranges, Leaders          int
	QPS, WriteBytesPerSec    float64
	// Stalled: the disk does not answer. Full: it has no room. A stalled or full store should lead
	// nothing and receive no replicas. Slow: all its writes take long, so that other stores should
	// lead. Late: a write took long a moment ago.
	Stalled, Full, Slow, Late bool
}

// version orders the infos about one node by age.
type version struct {
	removed     bool
	incarnation int64
	seq         uint64
}

func (n *NodeInfo) version() version { return version{n.Removed, n.Incarnation, n.Seq} }

func (v version) less(w version) bool {
	if v.removed != w.removed {
		return w.removed
	}
	if c := cmp.Compare(v.incarnation, w.incarnation); c != 0 {
		return c < 0
	}
	return v.seq < w.seq
}

// fits reports whether the info is within the limits that every node checks.
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

// differs reports whether other nodes need n soon: it differs from old in more than the figures of
// stores.
func (n *NodeInfo) differs(old *NodeInfo) bool {
	return n.Incarnation != old.Incarnation || n.Addr != old.Addr || n.SQLAddr != old.SQLAddr || n.HTTPAddr != old.HTTPAddr ||
		n.Locality != old.Locality || n.Version != old.Version ||
		n.Draining != old.Draining || n.Decommissioning != old.Decommissioning || n.Removed != old.Removed ||
		!slices.EqualFunc(n.Stores, old.Stores, func(a, b StoreInfo) bool {
			return a.ID == b.ID && a.Stalled == b.Stalled && a.Full == b.Full && a.Slow == b.Slow
		})
}
